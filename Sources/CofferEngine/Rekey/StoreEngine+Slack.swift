internal import CofferRecords
internal import CofferSQLite

extension StoreEngine {
  /// The number of pages per transaction.
  private static let slackPages: Int64 = 8192

  /// Overwrites the remains of former rows with zeros, such as plaintext titles and data under old keys.
  ///
  /// Reads the whole file, but writes only pages with remains. Each transaction blocks other writers for about 64 MiB.
  /// In WAL mode, it waits until readers no longer need the log.
  ///
  /// - Throws: `tooLarge` for a file of 256 GiB or more, from which nothing is erased.
  func clearSlack(waiting: () throws(StoreError) -> Void) throws(StoreError) {
    var next: Int64? = 1
    while let first = next {
      next = try followingKeyChanges { () throws(StoreError) in
        try connections.withEmptyLog(waiting: waiting) { connection throws(StoreError) in
          let transaction = try StoreTransaction(connection, .immediate, logger: log)
          defer { transaction.rollback() }
          guard connections.isLogEmpty else { return nil }
          return .some(try Self.clearSlack(transaction, from: first))
        }
      }
    }
  }

  /// - Returns: The page to continue with, or `nil` after the last page.
  private static func clearSlack(_ transaction: StoreTransaction, from first: Int64) throws(StoreError) -> Int64? {
    let database = transaction.database.connection
    let pages = try translatingErrors { () throws(SQLiteError) in try database.integerPragma("page_count") ?? 0 }
    guard Database.canClearSlack(pageCount: pages) else {
      throw StoreError(
        .tooLarge, "earlier values can't be erased from a file with \(pages) pages",
        hint: "export the documents into a new store, and delete this file")
    }
    let isCleared = try translatingErrors { () throws(SQLiteError) in
      let cleared = try database.clearSlack(ofPages: first..<first + slackPages)
      // The next commit must not write this connection's cached versions of those pages.
      if cleared > 0 { try database.releaseCache() }
      return cleared > 0
    }
    if isCleared {
      try transaction.writer.willWrite()
      try transaction.commit()
    }
    return first + slackPages <= pages ? first + slackPages : nil
  }
}
