import Testing

@testable import CofferSQLite

@Suite struct ValueTests {
  let database: Database

  init() throws {
    database = try emptyDatabase()
    try database.execute("CREATE TABLE t(a)")
  }

  /// Stores a value, and returns its type, byte count and value from SQLite.
  private func stored(_ value: (any SQLiteValueConvertible)?) throws -> [SQLiteValue] {
    try database.execute("DELETE FROM t")
    try database.execute("INSERT INTO t VALUES(?)", value)
    return try #require(try database.query("SELECT typeof(a), length(CAST(a AS BLOB)), a FROM t").rows.first).values
  }

  @Test func storesNull() throws { #expect(try stored(nil) == ["null", .null, .null]) }

  @Test func storesEmptyText() throws { #expect(try stored("") == ["text", 0, ""]) }

  @Test func storesEmptyBlob() throws { #expect(try stored([UInt8]()) == ["blob", 0, .blob([])]) }

  @Test func textKeepsCharactersAfterNUL() throws { #expect(try stored("a\u{0}b") == ["text", 3, "a\u{0}b"]) }

  @Test func blobKeepsZeros() throws {
    #expect(try stored([0, 1, 0] as [UInt8]) == ["blob", 3, .blob([0, 1, 0])])
  }

  @Test func textKeepsEveryScript() throws {
    let text = "Grüße, мир, 世界, 👩‍👩‍👧, \u{FEFF}"
    #expect(try stored(text) == ["text", .integer(Int64(text.utf8.count)), .text(text)])
  }

  @Test(arguments: [Int64.min, -1, 0, .max])
  func integerKeepsBits(value: Int64) throws { #expect(try stored(value)[2] == .integer(value)) }

  @Test(arguments: [-0.0, 0.1, .infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude])
  func realKeepsBits(value: Double) throws {
    #expect(try stored(value)[2].real?.bitPattern == value.bitPattern)
  }

  @Test func convertsNaNToNull() throws { #expect(try stored(Double.nan)[2] == .null) }

  @Test func mapsConvertibleTypesToStorageClasses() throws {
    let values: [any SQLiteValueConvertible] = [
      true, 1 as Int8, 1 as UInt8, 1 as Int16, 1 as UInt16, 1 as Int32, 1 as UInt32, 1 as Int64, 1,
    ]
    for value in values { #expect(try stored(value)[2] == 1) }
    #expect(try stored(0.5 as Float)[2] == 0.5)
    #expect(try stored("abc".dropFirst())[2] == "bc")
    #expect(try stored(([1, 2, 3] as [UInt8])[1...])[2] == .blob([2, 3]))
    #expect(try stored(nil as Int?)[2] == .null)
    #expect(try stored(SQLiteValue.blob([9]))[2] == .blob([9]))
  }

  @Test func rejectsInvalidUTF8() throws {
    #expect(throws: error(.invalidText)) { try database.query("SELECT CAST(x'61ff62' AS TEXT)") }
    let statement = try database.statement("SELECT CAST(x'61ff62' AS TEXT)")
    try statement.step()
    #expect(throws: error(.invalidText)) { try statement.text(at: 0) }
    #expect(statement.bytes(at: 0) == [0x61, 0xFF, 0x62])
  }

  @Test func storesEmptyBuffersWithoutAddress() throws {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    let statement = try database.statement("SELECT typeof(?), typeof(?), typeof(?), typeof(?)")
    try statement.bindText(nothing, at: 1)
    try statement.bindBlob(nothing, at: 2)
    try statement.bindText(copying: nothing, at: 3)
    try statement.bindBlob(copying: nothing, at: 4)
    try statement.step()
    #expect(try statement.values() == ["text", "blob", "text", "blob"])
  }

  @Test func readsBorrowedBytesInPlace() throws {
    var bytes = Array("abc".utf8)
    try bytes.withUnsafeMutableBytes { bytes in
      let statement = try database.statement("SELECT ?1, CAST(?2 AS TEXT)")
      try statement.bindText(UnsafeRawBufferPointer(bytes), at: 1)
      try statement.bindBlob(UnsafeRawBufferPointer(bytes), at: 2)
      bytes[0] = UInt8(ascii: "x")
      try statement.step()
      #expect(try statement.values() == ["xbc", "xbc"])
    }
  }

  @Test func copiesBytesBeforeBinding() throws {
    var bytes = Array("abc".utf8)
    try bytes.withUnsafeMutableBytes { bytes in
      let statement = try database.statement("SELECT ?1, CAST(?2 AS TEXT)")
      try statement.bindText(copying: UnsafeRawBufferPointer(bytes), at: 1)
      try statement.bindBlob(copying: UnsafeRawBufferPointer(bytes), at: 2)
      bytes[0] = UInt8(ascii: "x")
      try statement.step()
      #expect(try statement.values() == ["abc", "abc"])
    }
  }

  @Test func lendsColumnsByByteCount() throws {
    let statement = try database.statement("SELECT x'', x'0001', '', CAST(x'610062' AS TEXT), NULL, 12")
    try statement.step()
    let lent = (0..<6).map { column in statement.withBytes(at: column) { Array($0) } }
    #expect(lent == [[], [0, 1], [], [0x61, 0, 0x62], [], Array("12".utf8)])
    #expect((0..<6).map { statement.byteCount(at: $0) } == [0, 2, 0, 3, 0, 2])
    #expect((0..<6).map { statement.isNull(at: $0) } == [false, false, false, false, true, false])
  }

  @Test func statementReportsEachStorageClass() throws {
    let statement = try database.statement("SELECT NULL, 1, 1.0, '1', x'31'")
    try statement.step()
    #expect((0..<5).map { statement.storageClass(at: $0) } == [.null, .integer, .real, .text, .blob])
    #expect(statement.double(at: 2) == 1 && statement.int64(at: 1) == 1)
  }

  @Test func returnsNullOutsideRows() throws {
    let statement = try database.statement("SELECT 1")
    #expect(statement.isNull(at: 0))
    try statement.step()
    #expect(!statement.isNull(at: 0) && statement.isNull(at: 1) && statement.isNull(at: -1))
  }
}
