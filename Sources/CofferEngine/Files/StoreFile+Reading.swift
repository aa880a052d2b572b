internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

extension StoreFile {
  /// The page cache sizes in bytes. Most readers only pass over pages, but a writer collects a bulk transaction's pages.
  package static let readerCache = 8 << 20
  package static let writerCache = 64 << 20

  /// Runs `body` in a read transaction on a separate connection, without unlocking the file.
  ///
  /// - Parameter wait: The maximum time to wait for another process's lock, or `nil` to wait indefinitely.
  package static func reading<R>(_ path: String, _ wait: Duration?, _ body: (StoreFile) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    let file = try StoreFile(at: path, wait: wait, cacheBytes: readerCache)
    let locks = ProcessLocks.of(path)
    if !file.isWriteAhead { locks.attach(to: file.database.connection, isRegistered: false) }
    let watch = Cancellation.Watch(file.database.connection)
    defer { watch.end() }
    try Cancellation.checkCurrent()
    guard !file.isWriteAhead else {
      return try locks.readingLog { () throws(StoreError) in
        try file.database.reading { () throws(StoreError) in try body(file) }
      }
    }
    return try file.database.reading { () throws(StoreError) in
      // The first statement takes SQLite's lock.
      try file.checkSize()
      return try locks.asReader { () throws(StoreError) in try body(file) }
    }
  }

  /// Verifies a header and slots of this file with the root key.
  ///
  /// - Throws: `damaged`, with the slots changed without a key of the store if the spare copy contains them.
  func keys(under root: RootKey, header: StoreHeader, slots: [KeySlotRecord]) throws(StoreError) -> SessionKeys {
    do throws(StoreError) {
      return try SessionKeys(root: root, header: header, slots: slots)
    } catch {
      guard error.code == .damaged, let written = spareSlots(of: header, under: root), written != slots else {
        throw error
      }
      throw StoreError(
        .damaged, "\(Self.differences(of: slots, from: written).joined(separator: "; ")), without a key of the store",
        hint: "bring the documents into a new store with \(.salvage), or restore the store from a backup")
    }
  }

  /// Returns the slots in the spare copy of a header, or `nil` unless the root key proves that they belong to it.
  private func spareSlots(of header: StoreHeader, under root: RootKey) -> [KeySlotRecord]? {
    guard let rows = try? database.rows(SQL.spare, ofAtMost: StoreFormat.spareLimit), rows.count == 1,
      case .blob(let bytes) = rows[0][0],
      let copy = bytes.withBytes({ HeaderCopy(spare: $0) }), copy.header == header,
      (try? SessionKeys(root: root, header: header, slots: copy.slots)) != nil
    else { return nil }
    return copy.slots
  }

  private static func differences(of slots: [KeySlotRecord], from written: [KeySlotRecord]) -> [String] {
    let found = Dictionary(slots.map { ($0.slot, $0) }, uniquingKeysWith: { first, _ in first })
    let expected = Dictionary(written.map { ($0.slot, $0) }, uniquingKeysWith: { first, _ in first })
    return Set(found.keys).union(expected.keys).sorted().compactMap { number in
      switch (found[number], expected[number]) {
      case (_?, nil): "slot \(number) was added"
      case (nil, _?): "slot \(number) was removed"
      case (let one, let other): one == other ? nil : "slot \(number) was changed"
      }
    }
  }
}
