internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// Seals the chunks of attachments under new keys, with some MiB per transaction, after all documents.
final class AttachmentRekey {
  private static let greatestTransaction = 16 << 20
  /// The memory for SQLite's cache, which contains all pages of a transaction. A smaller cache would write pages before
  /// the transaction ends, and sync the journal each time.
  private static let cacheBytes = 20 << 20

  private let store: StoreEngine
  /// The number of bytes that ends a transaction.
  private let transactionBytes: Int
  /// The last attachment that this rekey has finished.
  private var last: Int64 = 0

  /// - Parameter limit: The number of rows that ends a transaction.
  init(_ store: StoreEngine, limit: Int) {
    self.store = store
    transactionBytes = min(Self.greatestTransaction, limit * ChunkLayout.standardSize)
  }

  /// Seals the next chunks and the rows of their attachments in one transaction.
  ///
  /// A chunk that can't be opened ends the work on its attachment, which is listed in the report.
  ///
  /// - Returns: `false` if all attachments are sealed.
  func next(_ report: inout RekeyReport) throws(StoreError) -> Bool {
    try store.writing { transaction throws(StoreError) in
      let target = transaction.state.target
      guard target > 0, transaction.state.attachmentCount > 0 else { return false }
      var pass = report
      var left = transactionBytes
      var (done, hasEnd) = (last, false)
      // The limit ends before the commit, which may wait for readers.
      do {
        let limit = try transaction.database.limitCacheForChunks(to: Self.cacheBytes)
        defer { withExtendedLifetime(limit) {} }
        while left > 0, !hasEnd {
          guard let row = try nextRow(after: done, target, transaction) else {
            hasEnd = true
            continue
          }
          if try seal(row, target, transaction, &left, &pass) { done = row.number }
        }
      }
      guard transaction.hasWritten || done > last else { return false }
      if transaction.hasWritten {
        try transaction.commit()
        // Release the cache, because changed pages would otherwise accumulate over the transactions.
        try translatingErrors(transaction.database.connection.releaseCache)
      }
      (report, last) = (pass, done)
      return !hasEnd
    }
  }

  /// Returns the next row with chunks to seal.
  private func nextRow(after number: Int64, _ target: UInt32, _ transaction: StoreTransaction) throws(StoreError)
    -> AttachmentRow?
  {
    var walk = AttachmentWalk(
      transaction.database, within: transaction.limits, next: transaction.nextAttachment, after: number)
    return try walk.first { row throws(StoreError) in
      try AttachmentRecord(row, transaction.keys).needsSealing(under: target)
    }
  }

  /// Returns the number of documents under the keys of an unfinished rekey with an attachment under other keys.
  ///
  /// Opens the rows of attachments. A row that can't be opened counts, because it keeps the old keys, too.
  static func remainingDocuments(in transaction: StoreTransaction) throws(StoreError) -> Int {
    guard let next = transaction.nextAttachment else { return 0 }
    let target = transaction.state.target
    let rows = try transaction.database.statement(SQL.attachmentsNotBelowEpoch, Int64(target))
    defer { rows.reset() }
    var count = 0
    var order = AttachmentOrder()
    var last: Int64?
    while try rows.step() {
      try transaction.requireOpen()
      try order.step(to: rows)
      let document = rows.int64(at: 1)
      guard document != last else { continue }
      do throws(StoreError) {
        let row = try AttachmentRow(try rows.values(), within: transaction.limits, below: next)
        guard try AttachmentRecord(row, transaction.keys).needsSealing(under: target) else { continue }
      } catch {
        guard error.code == .damaged else { throw error }
      }
      count += 1
      last = document
    }
    return count
  }

  /// Seals chunks of one attachment.
  ///
  /// - Parameter left: The number of bytes for the rest of the transaction.
  /// - Returns: `true` if the attachment is finished.
  private func seal(
    _ row: AttachmentRow, _ target: UInt32, _ transaction: StoreTransaction, _ left: inout Int,
    _ report: inout RekeyReport
  ) throws(StoreError) -> Bool {
    let writer = try transaction.writer
    try writer.willWrite()
    let former = try AttachmentRecord(row, transaction.keys)
    var record = former
    if record.keyEpoch < target {
      try record.addKey(
        try translatingErrors { () throws(SealingError) in try Secret.random(byteCount: XAESKey.byteCount) }, of: target
      )
    }
    let old = try AttachmentChunks(former, transaction.keys)
    let cipher = try ChunkCipher(record.number, record.keys[0].key, transaction.keys)
    let layout = record.chunks
    var index = former.keyEpoch < target ? 0 : Int(former.keys[1].first)
    let start = index
    var memory = [UInt8](repeating: 0, count: min(layout.chunkSize, layout.paddedCount))
    var isSkipped = false
    while index < layout.count, left > 0 || index == start {
      do throws(StoreError) {
        // Former key holders can have exchanged chunks, and the new key would vouch for them.
        if index == layout.count - 1 { try requireContent(of: record, sealedBefore: index, transaction) }
        let sealed = try memory.withMutableBytes { memory throws(StoreError) in
          let chunk = UnsafeMutableRawBufferPointer(rebasing: memory[..<layout.length(of: index)])
          try old.read(index, from: transaction.database, into: chunk)
          var sealed = [UInt8](repeating: 0, count: chunk.count + XAESKey.overhead)
          try sealed.withMutableBytes { sealed throws(StoreError) in
            try cipher.seal(UnsafeRawBufferPointer(chunk), index, isLast: layout.isLast(index), into: sealed)
          }
          return sealed
        }
        try writer.replaceChunk(sealed, index, of: record.number)
        left -= sealed.count
        index += 1
      } catch {
        guard error.code == .damaged else { throw error }
        report.skip(row, error.message)
        isSkipped = true
        break
      }
    }
    _ = memory.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 0) }
    if index > start {
      record.sealed(before: index)
      try writer.replaceAttachment(try row.element(transaction.keys), with: record, of: nil)
    }
    return isSkipped || index == layout.count
  }

  /// Requires a content whose chunks before `index` are under the new key to have its digest.
  private func requireContent(
    of record: AttachmentRecord, sealedBefore index: Int, _ transaction: StoreTransaction
  ) throws(StoreError) {
    var record = record
    record.sealed(before: index)
    try AttachmentChunks(record, transaction.keys).forEachChunk(from: transaction.database) { _ throws(StoreError) in
      try transaction.requireOpen()
    }
  }
}
