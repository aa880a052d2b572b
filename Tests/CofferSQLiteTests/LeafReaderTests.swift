import Foundation
import Testing

@testable import CofferSQLite

/// Compares rows read page by page with SQLite's rows of the same table.
@Suite struct LeafReaderTests {
  private func rows(_ path: String) throws -> [Int64: [SQLiteValue]] {
    let database = try Database(path)
    let reader = try #require(try LeafReader(database))
    var places: [(Int64, LeafReader.Place)] = []
    reader.visitRows { number, columns, place in
      if columns == 4 { places.append((number, place)) }
    }
    let record = LeafRecord()
    var rows: [Int64: [SQLiteValue]] = [:]
    for (number, place) in places {
      #expect(reader.read(place, into: record, limit: 1 << 20))
      #expect(rows[number] == nil)
      rows[number] = record.columns.map { column in
        switch column.storageClass {
        case .integer: .integer(column.integer)
        case .text: .text(String(decoding: column.bytes, as: UTF8.self))
        case .blob: .blob(Array(column.bytes))
        case .real, .null: .null
        }
      }
    }
    return rows
  }

  @Test(arguments: [512, 1024, 8192, 65536])
  func findsRowsOfEverySize(_ pageSize: Int) throws {
    let scratch = try Scratch()
    let path = scratch.file("leaves")
    let database = try Database(path, mode: .createNew)
    _ = try database.query("PRAGMA page_size = \(pageSize)")
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c BLOB)")
    var expected: [Int64: [SQLiteValue]] = [:]
    try database.transaction {
      for index in 0..<400 {
        let id = Int64(index) * 1_000_003 - 50_000_000
        let number = Int64(truncatingIfNeeded: 0x7A5A_5A5A_5A5A_5A5A &>> (index % 64)) * (index % 2 == 0 ? 1 : -1)
        let text = String(repeating: "é", count: index * index % 700)
        let blob = [UInt8](repeating: UInt8(index % 256), count: index * 97 % (3 * pageSize))
        try database.execute("INSERT INTO t VALUES(?, ?, ?, ?)", id, number, text, blob)
        expected[id] = [.null, .integer(number), .text(text), .blob(blob)]
      }
    }
    try database.close()
    #expect(try rows(path) == expected)
  }

  /// Thousands of pointers lead to one cell, whose header fills the page.
  @Test func readsHeaderBehindManyPointersOnce() throws {
    let scratch = try Scratch()
    let path = scratch.file("pointers")
    let database = try Database(path, mode: .createNew)
    _ = try database.query("PRAGMA page_size = 65536")
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
    try database.close()
    var bytes = try Data(contentsOf: URL(filePath: path))
    let (page, pointers, cell, headerCount) = (65536, 10_000, 30_000, 0x7F80)
    let cellPlace = [UInt8(cell >> 8), UInt8(cell & 0xFF)]
    let head: [UInt8] = [13, 0, 0, UInt8(pointers >> 8), UInt8(pointers & 0xFF)] + cellPlace + [0]
    bytes.replaceSubrange(page..<page + 8, with: head)
    for index in 0..<pointers {
      let pointer = page + 8 + 2 * index
      bytes.replaceSubrange(pointer..<pointer + 2, with: cellPlace)
    }
    // The length of the row, its number, and the length of its header, which is all of the row: NULL values.
    let length: [UInt8] = [0x81, 0xFF, 0x00]
    bytes.replaceSubrange(page + cell..<page + cell + 7, with: length + [1] + length)
    try bytes.write(to: URL(filePath: path))
    let reader = try #require(try LeafReader(try Database(path)))
    var columns: [Int] = []
    reader.visitRows { _, count, _ in columns.append(count) }
    // The first page has the row of the table.
    #expect(columns == [5, headerCount - 3, headerCount - 3])
  }

  @Test func survivesRandomBytes() throws {
    let scratch = try Scratch()
    let path = scratch.file("noise")
    let database = try Database(path, mode: .createNew)
    _ = try database.query("PRAGMA page_size = 512")
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c BLOB)")
    try database.transaction {
      for id in 0..<200 { try database.execute("INSERT INTO t VALUES(?, 1, 'text', zeroblob(?))", id, id * 13 % 1500) }
    }
    try database.close()
    let sound = try Data(contentsOf: URL(filePath: path))
    var numbers = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var bytes = sound
      for _ in 0..<40 {
        bytes[Int.random(in: 512..<bytes.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
      }
      try bytes.write(to: URL(filePath: path))
      let database = try Database(path)
      let reader = try #require(try LeafReader(database))
      var places: [LeafReader.Place] = []
      reader.visitRows { _, _, place in places.append(place) }
      let record = LeafRecord()
      for place in places { _ = reader.read(place, into: record, limit: 4096) }
      try database.close()
    }
  }
}
