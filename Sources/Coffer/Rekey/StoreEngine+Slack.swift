internal import CofferRecords
internal import CofferSQLite

extension StoreEngine {
  /// Pages per transaction.
  private static let slackPages: Int64 = 8192

  /// Zeros remains of former rows in the pages, such as titles in clear and data that old keys open.
  ///
  /// Reads the whole file, in transactions that keep other writers waiting for some 64 MiB at a time; writes only pages
  /// with remains. In WAL mode it waits until no reader needs the log.
  func clearSlack(waiting: () throws(StoreError) -> Void) throws(StoreError) {
    var next: Int64? = 1
    while let first = next {
      next = try followingKeyChanges { () throws(StoreError) in
        try connections.withEmptyLog(waiting: waiting) { connection throws(StoreError) in
          let transaction = try StoreTransaction(connection, .immediate, logger: log)
          defer { transaction.rollback() }
          guard connections.isLogEmpty else { return nil }
          return .some(try transaction.clearSlack(from: first, count: Self.slackPages))
        }
      }
    }
  }
}

extension StoreTransaction {
  /// - Returns: the page to continue with; nil after the last page.
  fileprivate func clearSlack(from first: Int64, count: Int64) throws(StoreError) -> Int64? {
    let (isCleared, pages) = try database.run { database throws(SQLiteError) in
      let pages = try database.integerPragma("page_count") ?? 0
      let cleared = try database.clearSlack(ofPages: first..<first + count)
      // This connection's cached copies of those pages must not be written back with the next commit.
      if cleared > 0 { try database.releaseCache() }
      return (cleared > 0, pages)
    }
    if isCleared {
      try writer.willWrite()
      try commit()
    }
    return first + count <= pages ? first + count : nil
  }
}
