import Coffer
import CofferSQLite
import CofferTestSupport
import Testing

@testable import CofferStoreTestSupport

/// Fields, and words of a member, in texts that are written to break what reads them.
struct HostileFieldTests {
  private static let depth = 10_000

  /// Texts whose member `m` is a text or a number.
  private static let valid: [(text: String, value: SQLiteValue)] = [
    (#"{"m":1,"m":"two","m":null}"#, .integer(1)), (#"{"\u006d":5}"#, .integer(5)),
    (#"{"m":"a\u0000b"}"#, .text("a\0b")),
    (#"{"m":1e999}"#, .real(.infinity)), (#"{"m":-1e999}"#, .real(-.infinity)), (#"{"m":1e-999}"#, .real(0)),
    (#"{"m":9999999999999999999999999999999}"#, .real(1e31)), (#"{"m":1"# + zeros + "}", .real(.infinity)),
    (#"{"m":"9999-99-99T99:99:99Z"}"#, .text("9999-99-99T99:99:99Z")), (#"{"m":""# + words + #""}"#, .text(words)),
    ("{" + (0..<depth).map { #""\#($0)":0,"# }.joined() + #""m":7}"#, .integer(7)),
  ]
  private static let zeros = String(repeating: "0", count: depth)
  private static let words = String(repeating: "wörd ", count: depth)

  /// Texts that aren't strict JSON, are nested too deeply, or have no such member.
  private static let invalid: [String] = [
    #"{"m":"\ud800"}"#, #"{"m":"\udc00\ud800"}"#, #"{"m":00}"#, #"{"m":-}"#, #"{"m":0x10}"#, #"{"m":NaN}"#, "{m:1}",
    "{'m':1}", #"{"m":1,}"#, #"{"m":1}/*"#, #"{"m":1}{"m":2}"#, #"{"m""#, #"{"m":"#, #"{"m":tru"#, #"{"m":"\"#,
    #"{"m":"\u00"#, "\u{FEFF}{\"m\":1}", "{\"m\":\"\u{1}\"}", "", "null", "[]", #""m""#, #"{"m":{"m":1}}"#,
    String(repeating: #"{"m":"#, count: depth), String(repeating: "[", count: depth),
    #"{"m":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}",
    String(repeating: #"{"m":"#, count: depth) + "1" + String(repeating: "}", count: depth),
  ]

  private static let indexes: [DocumentIndex] = [
    .words(in: "$.m"), .substrings, .titles, .field("t", "$.m", as: .text), .field("f", "$.m", as: .folded),
    .field("n", "$.m", as: .number), .field("d", "$.m", as: .date), .field("b", "$.m", as: .boolean),
    .fields(["t", "n"]),
  ]

  /// The index is built from the documents, or they are added to it.
  @Test(arguments: [false, true]) func fieldsAreValuesOrNull(areDeclaredFirst: Bool) throws {
    try withTestStore { test in
      func declare() throws { _ = try test.store.write { try $0.setIndexes(Self.indexes, of: test.notes) } }
      if areDeclaredFirst { try declare() }
      try test.store.write { tx in
        for text in Self.valid.map(\.text) + Self.invalid {
          try tx.insert(Document(text: text, isJSON: true), into: test.notes)
        }
      }
      if !areDeclaredFirst { try declare() }
      let expected = Self.valid.map(\.value) + Self.invalid.map { _ in .null }
      func rows(_ sql: String) throws -> [SQLiteValue] {
        try test.store.read { try $0.query("SELECT \(sql)") }.rows.map { $0[0] }
      }
      #expect(try rows("coalesce(t, n) FROM notes ORDER BY id") == expected)
      #expect(try rows("count(f) + count(n) FROM notes") == [.integer(Int64(Self.valid.count))])
      #expect(try rows("id FROM notes WHERE b OR d > '2002'").isEmpty)
      #expect(try test.store.read { try $0.search(ranked: "word", in: test.notes) }.total == 1)
      #expect(try test.store.checkIndexes().problems.isEmpty)
      #expect(try test.store.verify(.full).isSound)
    }
  }
}
