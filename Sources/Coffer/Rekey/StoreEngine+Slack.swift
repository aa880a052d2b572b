internal import CofferRecords
internal import CofferSQLite

extension StoreEngine {
  /// Pages that are looked at in one transaction.
  private static let slackPages: Int64 = 8192

  /// Zeros what pages still hold of rows that have left them, such as titles in clear and what opens with old keys.
  ///
  /// Reads the whole file, in transactions that keep other writers waiting for some 64 MiB at a time; writes only where
  /// something was left. In WAL mode it waits until no reader needs the log.
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
  /// - Returns: where to go on; nil behind the last page.
  fileprivate func clearSlack(from first: Int64, count: Int64) throws(StoreError) -> Int64? {
    let (isCleared, pages) = try database.run { database throws(SQLiteError) in
      let pages = try database.integerPragma("page_count") ?? 0
      let cleared = try database.clearSlack(ofPages: first..<first + count)
      // What this connection remembers of those pages must not be written back with the commit that follows.
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
