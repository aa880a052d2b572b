internal import CCofferSQLite

extension Database {
  /// Opens a database whose pages are in `pages`; nothing of it reaches a file.
  ///
  /// For one connection at a time: SQLite takes no lock. The journal is in memory, and so is everything that SQLite puts
  /// aside. A caller that changes the pages in another way must close the database before.
  ///
  /// - Parameters:
  ///   - cacheBytes: the most memory for pages, beside those that a transaction has changed.
  ///   - schema: The limits of a schema that a stranger may have written, or `nil` for none. SQLite reads the schema
  ///     before it does anything else.
  /// - Throws: `corrupt` for a schema beyond the limits.
  package convenience init(
    pages: any PageStorage, cacheBytes: Int, configuration: Configuration = Configuration(),
    schema: SchemaLimits? = nil
  ) throws(SQLiteError) {
    let connection = try PagedVFS.opening(pages) { name, vfs throws(SQLiteError) in
      try Self.connect(name, SQLITE_OPEN_READWRITE, vfs: vfs, configuration: configuration)
    }
    self.init(path: "(pages)", connection: connection)
    if let schema, pages.pageCount > 0 { try readSchema(within: schema) }
    try keepTemporariesInMemory()
    if pages.pageCount == 0 {
      try connection.check(coffer_sqlite_reserve_bytes(try connection.open(), Int32(pages.reservedCount)))
      try statement("PRAGMA page_size = \(pages.pageSize)").run()
    }
    try setJournalMode("MEMORY")
    try statement("PRAGMA synchronous = OFF").run()
    try setCache(byteCount: cacheBytes)
  }
}
