internal import CCofferSQLite

extension Database {
  /// Opens a database whose pages are in `pages`. Nothing is written to files.
  ///
  /// Use a single connection at a time, because SQLite doesn't lock the pages. The journal and SQLite's temporary data
  /// are in memory. Close the database before you change the pages in another way.
  ///
  /// - Parameters:
  ///   - cacheBytes: The maximum memory for pages, in addition to the pages that a transaction has changed.
  ///   - schema: The limits for an untrusted schema, or `nil` to read any schema. SQLite reads the schema before
  ///     anything else.
  /// - Throws: `corrupt` if the schema exceeds the limits.
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
