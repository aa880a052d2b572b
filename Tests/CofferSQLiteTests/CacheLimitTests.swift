import Testing

@testable import CofferSQLite

/// Limits of a connection's cache of pages.
@Suite struct CacheLimitTests {
  private let scratch: Scratch
  private let database: Database

  init() throws {
    scratch = try Scratch()
    database = try Database(scratch.file("cache.db"), mode: .create)
    try database.setCache(byteCount: 16 << 20)
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, bytes)")
  }

  /// Inserts 8 MiB.
  private func insert() throws {
    for _ in 0..<8 { try database.execute("INSERT INTO t(bytes) VALUES(zeroblob(?))", 1 << 20) }
  }

  private func limited(_ work: () throws -> Void) throws {
    let limit = try CacheLimit(database, byteCount: 1 << 20)
    defer { withExtendedLifetime(limit) {} }
    try work()
  }

  @Test func limitsCacheOfWriter() throws {
    try database.transaction {
      try limited {
        try insert()
        #expect(try database.usedCacheBytes() < 3 << 19)
      }
      try insert()
      #expect(try database.usedCacheBytes() > 8 << 20)
    }
    #expect(try database.query("SELECT sum(length(bytes)) FROM t").rows[0][0] == .integer(16 << 20))
  }

  @Test func limitsCacheOfReader() throws {
    try insert()
    let reader = try Database(scratch.file("cache.db"), mode: .readOnly)
    try reader.setCache(byteCount: 16 << 20)
    do {
      let limit = try CacheLimit(reader, byteCount: 1 << 20)
      _ = try reader.query("SELECT bytes FROM t")
      #expect(try reader.usedCacheBytes() < 3 << 19)
      withExtendedLifetime(limit) {}
    }
    _ = try reader.query("SELECT bytes FROM t")
    #expect(try reader.usedCacheBytes() > 4 << 20)
  }

  @Test func keepsMemoryThatCacheHas() throws {
    try database.transaction { try insert() }
    let used = try database.usedCacheBytes()
    #expect(used > 4 << 20)
    var limited = 0
    try self.limited { limited = try database.usedCacheBytes() }
    #expect(limited == used)
  }

  /// Between two limits, a transaction fills the cache again.
  @Test func limitsCacheOfLongTransaction() throws {
    try database.setCache(byteCount: 64 << 20)
    var most = 0
    try database.transaction {
      for _ in 0..<400 {
        try limited { try database.execute("INSERT INTO t(bytes) VALUES(zeroblob(100000))") }
        try database.execute("INSERT INTO t(bytes) VALUES(zeroblob(100000))")
        most = max(most, try database.usedCacheBytes())
      }
    }
    #expect(most < 20 << 20)
  }

  @Test func doesNotWaitForReaders() throws {
    let reader = try Database(scratch.file("cache.db"), mode: .readOnly)
    try reader.begin(.deferred)
    _ = try reader.query("SELECT count(*) FROM t")
    var waits = 0
    database.busyTimeout = .zero
    database.holdsLockHere = {
      waits += 1
      return false
    }
    try database.begin(.immediate)
    try limited { try insert() }
    #expect(waits == 0)
    #expect(database.holdsLockHere?() == false)
    try database.rollback()
    #expect(try reader.query("SELECT count(*) FROM t").rows[0][0] == .integer(0))
  }

  @Test func nestedLimitsEndInAnyOrder() throws {
    let before = try database.query("PRAGMA cache_size").rows[0][0]
    database.busyTimeout = .seconds(7)
    var outer: CacheLimit? = try CacheLimit(database, byteCount: 1 << 20)
    var inner: CacheLimit? = try CacheLimit(database, byteCount: 2 << 20)
    #expect(database.busyTimeout == .zero)
    withExtendedLifetime(outer) {}
    outer = nil
    #expect(database.busyTimeout == .zero)
    withExtendedLifetime(inner) {}
    inner = nil
    #expect(database.busyTimeout == .seconds(7))
    #expect(try database.query("PRAGMA cache_size").rows[0][0] == before)
  }
}
