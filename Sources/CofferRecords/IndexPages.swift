internal import CofferSQLite
internal import CofferSealing

/// An index's pages as the file of its inner database. Each page is sealed in a store row.
///
/// Use it in one transaction at a time. Written pages go to the store's rows, or to memory if the store is only read.
package final class IndexPages: PageStorage {
  package enum Access: Equatable {
    /// Keeps changed pages in memory.
    case inMemory(PageBudget)
    /// Seals and writes changed pages.
    case inStore
  }

  /// The reason for a failed read or write, which SQLite reports as a generic I/O error.
  package enum Failure: Error {
    /// A page was changed or is missing, so the index is unusable.
    case damaged(StoreError)
    /// The changed pages exceed the memory limit.
    case overLimit
    case store(StoreError)
  }

  /// The number of bytes that SQLite leaves unused at a page's end, to fit a sealed page in one store page.
  package static let reservedBytes = 96

  package private(set) var root: IndexRoot
  package private(set) var failure: Failure?
  /// The changed pages in memory, which the store doesn't contain.
  package private(set) var overlay: PageOverlay
  private var database: StoreDatabase
  private var keys: RowKeys
  private var access: Access
  /// The number of stored bytes in a page.
  private let bodyCount: Int
  private let sealed: UnsafeMutableRawBufferPointer
  /// The number of entries in a map page.
  private let entryCount: Int
  /// The map pages already read or written, by number.
  private var mapPages: [Int: [UInt8]] = [:]

  /// - Parameter overlay: Pages in memory that replace pages of `root`.
  package init(
    _ root: IndexRoot, _ database: StoreDatabase, _ keys: RowKeys, _ access: Access, overlay: PageOverlay? = nil
  ) {
    self.root = root
    self.overlay = overlay ?? PageOverlay(pageCount: Int(root.pageCount))
    self.database = database
    self.keys = keys
    self.access = access
    bodyCount = Int(root.pageSize) - Self.reservedBytes
    entryCount = IndexMap.entryCount(pageSize: root.pageSize)
    sealed = .allocate(byteCount: bodyCount + XAESKey.overhead, alignment: 16)
  }

  deinit {
    sealed.deallocate()
  }

  // MARK: PageStorage

  package var pageSize: Int { Int(root.pageSize) }
  package var reservedCount: Int { Self.reservedBytes }
  package var isInStore: Bool { access == .inStore }
  /// The number of pages, including pages in memory.
  package var pageCount: Int { overlay.pageCount }

  package func read(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws {
    if overlay.read(page, into: bytes) { return }
    guard page < overlay.lowestCount else {
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      return
    }
    try noting { () throws(Failure) in
      try readRow(page, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<bodyCount]))
    }
    UnsafeMutableRawBufferPointer(rebasing: bytes[bodyCount...]).initializeMemory(as: UInt8.self, repeating: 0)
  }

  package func write(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws {
    switch access {
    case .inMemory(let budget):
      try noting { () throws(Failure) in
        guard overlay.write(page, bytes, within: budget) else { throw .overLimit }
      }
    case .inStore:
      try noting { () throws(Failure) in try writeToStore(page, bytes) }
      overlay.pageCount = Int(root.pageCount)
    }
  }

  package func truncate(to count: Int) throws {
    switch access {
    case .inMemory: overlay.truncate(to: count)
    case .inStore:
      try noting { () throws(Failure) in try truncateStore(to: count) }
      overlay.pageCount = count
    }
  }

  // MARK: Rows

  private func writeToStore(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    guard page < IndexPlace.maximumPageCount else { throw .damaged(IndexRoot.damaged("it has too many pages")) }
    try writeGap(before: page)
    root.map.set(page, to: try writeRow(UInt32(page), UnsafeRawBufferPointer(rebasing: bytes[..<bodyCount])).high)
    root.pageCount = max(root.pageCount, UInt32(page + 1))
  }

  private func truncateStore(to count: Int) throws(Failure) {
    root.map.truncate(to: count, entries: entryCount)
    let mapCount = UInt32(root.map.tags.count)
    mapPages = mapPages.filter { $0.key < mapCount }
    do throws(StoreError) {
      let tables = IndexTables(database)
      try tables.deletePages(of: root.part, in: UInt32(count)...IndexPlace.firstMapPage - 1)
      try tables.deletePages(of: root.part, in: IndexPlace.firstMapPage + mapCount...UInt32.max)
    } catch {
      throw .store(error)
    }
    root.pageCount = UInt32(count)
  }

  /// Seals the pages that another transaction made in memory from the same root. Call ``finish(_:)`` afterwards.
  package func seal(_ other: PageOverlay) throws(StoreError) {
    precondition(access == .inStore && overlay.isEmpty, "internal error: pages are sealed in the store")
    try translatingFailures { () throws(Failure) in
      if other.lowestCount < Int(root.pageCount) { try truncateStore(to: other.lowestCount) }
      var failure: Failure?
      other.forEachPage { page, bytes in
        guard failure == nil else { return }
        do throws(Failure) { try writeToStore(page, bytes) } catch { failure = error }
      }
      if let failure { throw failure }
      try writeGap(before: other.pageCount)
      root.pageCount = UInt32(other.pageCount)
    }
    overlay.pageCount = Int(root.pageCount)
  }

  /// Performs `work`, and stores its failure, because SQLite doesn't report the reason.
  private func noting(_ work: () throws(Failure) -> Void) throws(Failure) {
    do throws(Failure) {
      try work()
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  private func place(_ page: UInt32) -> IndexPlace {
    IndexPlace(identity: root.identity, part: root.part, epoch: keys.active.epoch, page: page)
  }

  /// Writes zeros to the pages between the last page and a new page.
  ///
  /// SQLite may write these pages later, but it doesn't write the lock-byte page, or new pages that are free at the end
  /// of a transaction.
  private func writeGap(before page: Int) throws(Failure) {
    guard page > Int(root.pageCount) else { return }
    let zeros = [UInt8](repeating: 0, count: bodyCount)
    for gap in Int(root.pageCount)..<page {
      let result = zeros.withUnsafeBytes { zeros in Result { () throws(Failure) in try writeRow(UInt32(gap), zeros) } }
      root.map.set(gap, to: try result.get().high)
    }
  }

  /// Reads an inner database page, and requires it to match the tag in the map.
  private func readRow(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws(Failure) {
    guard page < Int(root.pageCount), let expected = try expectedTag(of: page) else {
      throw .damaged(IndexRoot.damaged("page \(page) is missing"))
    }
    guard try openRow(UInt32(page), into: bytes).high == expected else {
      throw .damaged(IndexRoot.damaged("page \(page) is not the one that was written"))
    }
  }

  /// Returns the first 8 bytes that a page's tag must have, or `nil` if neither the changes nor the map pages contain
  /// the page.
  private func expectedTag(of page: Int) throws(Failure) -> UInt64? {
    if let tag = root.map.changes[UInt32(page)] { return tag }
    let (number, entry) = page.quotientAndRemainder(dividingBy: entryCount)
    guard number < root.map.tags.count else { return nil }
    let content = try mapPage(number)
    let tag = content.withUnsafeBytes {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: entry * IndexMap.entryByteCount, as: UInt64.self))
    }
    return tag == 0 ? nil : tag
  }

  /// Returns a map page's contents, and requires the page to match the tag in the root.
  private func mapPage(_ number: Int) throws(Failure) -> [UInt8] {
    if let known = mapPages[number] { return known }
    var content = [UInt8](repeating: 0, count: bodyCount)
    let result = content.withUnsafeMutableBytes { content in
      Result { () throws(Failure) in try openRow(IndexPlace.firstMapPage + UInt32(number), into: content) }
    }
    guard try result.get() == root.map.tags[number] else {
      throw .damaged(IndexRoot.damaged("map page \(number) is not the one that was written"))
    }
    mapPages[number] = content
    return content
  }

  /// Decrypts a row's page, and returns its tag.
  private func openRow(_ page: UInt32, into bytes: UnsafeMutableRawBufferPointer) throws(Failure) -> IndexMap.Tag {
    let statement: StoreStatement
    do throws(StoreError) {
      statement = try database.statement(SQL.indexPage, IndexTables.place(root.part, page))
      guard try statement.step() else {
        statement.reset()
        throw IndexRoot.damaged("page \(page) is missing")
      }
    } catch {
      throw error.isIndexDamage ? .damaged(error) : .store(error)
    }
    defer { statement.reset() }
    let columns = statement.columns()
    guard columns[0].storageClass == .integer, columns[0].integer == Int64(keys.active.epoch),
      columns[1].storageClass == .blob, columns[1].bytes.count == bodyCount + XAESKey.overhead
    else { throw .damaged(IndexRoot.damaged("page \(page) is invalid")) }
    let blob = columns[1].bytes
    do throws(SealingError) {
      try keys.active.index().open(blob, authenticating: keys.binding.indexPage(place(page)), plaintext: bytes)
    } catch {
      guard error.code == .notAuthentic else { throw .store(StoreError(error)) }
      throw .damaged(IndexRoot.damaged("page \(page) is not the one that was written"))
    }
    return IndexMap.Tag(endOf: blob)
  }

  /// Seals and writes a row, and returns its tag.
  private func writeRow(_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws(Failure) -> IndexMap.Tag {
    do throws(SealingError) {
      try keys.active.index().seal(
        bytes, authenticating: keys.binding.indexPage(place(page)), nonces: keys.nonces, into: sealed)
    } catch {
      throw .store(StoreError(error))
    }
    do throws(StoreError) {
      let statement = try database.statement(
        SQL.putIndexPage, IndexTables.place(root.part, page), Int64(keys.active.epoch))
      defer { statement.reset() }
      try statement.bindBlob(UnsafeRawBufferPointer(sealed), at: 3)
      _ = try statement.step()
    } catch {
      throw .store(error)
    }
    return IndexMap.Tag(endOf: UnsafeRawBufferPointer(sealed))
  }

  // MARK: Transactions

  /// Continues on the same rows in another transaction.
  package func use(_ database: StoreDatabase, _ keys: RowKeys, _ access: Access) {
    precondition(
      access != .inStore || overlay.isEmpty, "internal error: pages in memory can't be written to a store later")
    self.database = database
    self.keys = keys
    self.access = access
    failure = nil
  }

  /// Stores the documents' state in the root, and writes map pages if the root would have too many changes. Call this
  /// method after the inner database commits, then write ``root``.
  package func finish(_ contents: IndexRoot.Contents) throws(StoreError) {
    root.contents = contents
    for (number, changes) in root.map.takeExcess(entries: entryCount) {
      try translatingFailures { () throws(Failure) in
        var content =
          number < root.map.tags.count ? try mapPage(number) : [UInt8](repeating: 0, count: bodyCount)
        let result = content.withUnsafeMutableBytes { content in
          for change in changes {
            content.storeBytes(
              of: change.tag.bigEndian,
              toByteOffset: Int(change.page) % entryCount * IndexMap.entryByteCount, as: UInt64.self)
          }
          return Result { () throws(Failure) in
            try writeRow(IndexPlace.firstMapPage + UInt32(number), UnsafeRawBufferPointer(content))
          }
        }
        root.map.setTag(ofMapPage: number, to: try result.get())
        mapPages[number] = content
      }
    }
  }

  /// Reseals all pages in the store with a new identity, because the declaration changes.
  package func renewIdentity() throws(StoreError) {
    precondition(access == .inStore, "internal error: pages in memory have no identity of their own")
    var renewed = root
    try renewed.renewIdentity()
    let former = root
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bodyCount, alignment: 16)
    defer { memory.deallocate() }
    try translatingFailures { () throws(Failure) in
      for page in 0..<Int(former.pageCount) {
        root = former
        try readRow(page, into: memory)
        root = renewed
        renewed.map.set(page, to: try writeRow(UInt32(page), UnsafeRawBufferPointer(memory)).high)
      }
    }
    try IndexTables(database).deletePages(of: root.part, in: IndexPlace.firstMapPage...UInt32.max)
    renewed.map.removeMapPages()
    mapPages = [:]
    root = renewed
  }

  private func translatingFailures(_ work: () throws(Failure) -> Void) throws(StoreError) {
    do throws(Failure) {
      try work()
    } catch {
      switch error {
      case .damaged(let error), .store(let error): throw error
      case .overLimit: preconditionFailure("internal error: pages in the store take no memory")
      }
    }
  }
}

extension IndexPages {
  /// Decrypts all index pages, and returns the first problem.
  ///
  /// - Returns: The problem, or `nil` if the pages match the root, or if the root has another version.
  package static func problem(
    of root: IndexRoot, _ database: StoreDatabase, _ keys: RowKeys
  ) throws(StoreError) -> StoreError? {
    guard !root.isOtherVersion else { return nil }
    return try IndexPages(root, database, keys, .inMemory(PageBudget(0))).problem()
  }

  private func problem() throws(StoreError) -> StoreError? {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bodyCount, alignment: 16)
    defer { memory.deallocate() }
    do throws(StoreError) {
      try translatingFailures { () throws(Failure) in
        for number in root.map.tags.indices { _ = try mapPage(number) }
        for page in 0..<Int(root.pageCount) { try readRow(page, into: memory) }
      }
    } catch {
      guard error.isIndexDamage else { throw error }
      return error
    }
    let count = try IndexTables(database).pageCount(of: root.part)
    guard count == Int64(root.pageCount) + Int64(root.map.tags.count) else {
      return IndexRoot.damaged("it has pages that its root doesn't name")
    }
    return nil
  }
}
