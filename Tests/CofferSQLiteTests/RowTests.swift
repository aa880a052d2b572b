import Testing

@testable import CofferSQLite

/// Tests typed access to columns by name, and decoding rows.
@Suite struct RowTests {
  private enum Kind: String, Codable { case fruit, tool }

  private struct Item: Decodable, Equatable {
    var name: String
    var price: Double
    var count: Int
    var isSold: Bool
    var kind: Kind
    var note: String?
    var absent: Int?
  }

  private func result(_ sql: String) throws -> QueryResult { try emptyDatabase().query("SELECT \(sql)") }

  private func message(_ body: () throws -> Void) -> String? {
    let error = thrown(body)
    #expect(error?.code == .notDecodable)
    return error?.message
  }

  private static let item = "'pear' AS name, 2.5 AS price, 3 AS count, 1 AS isSold, 'fruit' AS kind, NULL AS note"

  // MARK: Invalid rows

  @Test func reportsMissingColumnAndWrongType() throws {
    let row = try result("'secret' AS a, 7 AS b, NULL AS c, 2.5 AS d, x'00' AS e, 300 AS f")[0]
    #expect(message { _ = try row["x", as: Int.self] } == "the result has no column x, where a Int is wanted")
    #expect(message { _ = try row["A", as: String.self] } == "the result has no column A, where a String is wanted")
    #expect(message { _ = try row["a", as: Int.self] } == "the column a has a text, where a Int is wanted")
    #expect(message { _ = try row["b", as: String.self] } == "the column b has an integer, where a String is wanted")
    #expect(message { _ = try row["c", as: Int.self] } == "the column c has NULL, where a Int is wanted")
    #expect(message { _ = try row["d", as: Int.self] } == "the column d has a real number, where a Int is wanted")
    #expect(message { _ = try row["e", as: String.self] } == "the column e has a blob, where a String is wanted")
    #expect(message { _ = try row["f", as: UInt8.self] } == "the column f has an integer, where a UInt8 is wanted")
    #expect(message { _ = try row["b", as: Bool.self] } == "the column b has an integer, where a Bool is wanted")
    #expect(thrown { _ = try row["c", as: Int.self] }?.hint == "ask for an optional type where a column may be NULL")
  }

  @Test func rejectsOverflowingIntegers() throws {
    let row = try result("\(Int64.max) AS big, -1 AS negative")[0]
    #expect(message { _ = try row["big", as: Double.self] } != nil)
    #expect(message { _ = try row["negative", as: UInt.self] } != nil)
    #expect(try row["big", as: UInt64.self] == UInt64(Int64.max))
  }

  @Test(arguments: [
    ("'x' AS name", "the result has no column price, where a Double is wanted"),
    (item.replacing("2.5", with: "'secret'"), "the column price has a text, where a Double is wanted"),
    (item.replacing("3 AS", with: "NULL AS"), "the column count has NULL, where a Int is wanted"),
    (item.replacing("1 AS", with: "2 AS"), "the column isSold has an integer, where a Bool is wanted"),
    (
      item.replacing("'fruit'", with: "'secret'"),
      "Item does not take the column kind: Item finds a value of another kind in it"
    ),
    (item.replacing("NULL AS", with: "5 AS"), "the column note has an integer, where a String is wanted"),
  ]) func decodingErrorIncludesColumn(_ sql: String, _ expected: String) throws {
    let result = try result(sql)
    #expect(message { _ = try result.decoded(as: Item.self) } == expected)
  }

  @Test func rejectsArraysAndNestedObjects() throws {
    struct Outer: Decodable { var inner: [String: Int] }
    let result = try result("'{\"a\":1}' AS inner")
    // This module doesn't parse JSON.
    #expect(
      message { _ = try result.decoded(as: Outer.self) }?.hasPrefix("the column inner has a text, where a Dict") == true
    )
    #expect(message { _ = try result.decoded(as: [Int].self) }?.hasPrefix("a row is no array") == true)
  }

  // MARK: Valid rows

  @Test func resultIsACollectionOfItsRows() throws {
    let database = try emptyDatabase()
    let result = try database.query("WITH n(i) AS (VALUES (1), (2), (3)) SELECT i AS number FROM n")
    #expect(result.count == 3 && result[1]["number"] == 2 && result.last?[0] == 3)
    #expect(try result.map { try $0["number", as: Int.self] } == [1, 2, 3])
    #expect(result.reversed().map { $0[0] } == [3, 2, 1])
    #expect(try database.query("SELECT 1 AS a WHERE 0").isEmpty)
    #expect(try database.query("SELECT 1 AS a WHERE 0").columnNames == ["a"])
  }

  @Test func readsColumnsByName() throws {
    let row = try result("'t' AS a, 7 AS b, NULL AS c, 2.5 AS d, x'00ff' AS e, 0 AS f, 8 AS a")[0]
    #expect(try row["a", as: String.self] == "t")
    #expect(try row["b", as: Int8.self] == 7 && row["b", as: Double.self] == 7 && row["b", as: Int?.self] == 7)
    #expect(try row["c", as: String?.self] == nil && row["c", as: SQLiteValue.self] == .null)
    #expect(try row["d", as: Double.self] == 2.5 && row["d", as: Float.self] == 2.5)
    #expect(try row["e", as: [UInt8].self] == [0, 255] && row["f", as: Bool.self] == false)
  }

  @Test func decodesRowsByColumnName() throws {
    let items = try result("\(Self.item), 9 AS unused").decoded(as: Item.self)
    #expect(items == [Item(name: "pear", price: 2.5, count: 3, isSold: true, kind: .fruit)])
    let whole = try result(Self.item.replacing("2.5", with: "2"))[0].decoded(as: Item.self)
    #expect(whole.price == 2)
  }

  @Test func decodesSingleValueFromFirstColumn() throws {
    #expect(try result("7 AS a, 'x' AS b").decoded(as: Int.self) == [7])
    #expect(try result("'tool'").decoded(as: Kind.self) == [.tool])
    #expect(try result("NULL").decoded(as: Int?.self) == [nil])
  }

  @Test func decodesSuperclassFromSameRow() throws {
    class Base: Decodable { var a: Int }
    final class Derived: Base {
      let b: Int
      private enum Key: CodingKey { case b }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        b = try container.decode(Int.self, forKey: .b)
        try super.init(from: container.superDecoder())
      }
    }
    let value = try result("1 AS a, 2 AS b")[0].decoded(as: Derived.self)
    #expect(value.a == 1 && value.b == 2)
  }
}
