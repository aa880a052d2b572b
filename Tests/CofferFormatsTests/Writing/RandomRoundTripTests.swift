import CofferDocuments
import CofferTestSupport
import Testing

@testable import CofferFormats

/// Random documents, written in each format and read again: whatever the format holds is equal.
@Suite struct RandomRoundTripTests {
  private typealias Documents = [(DocumentHeader, String)]

  /// The kinds of attributes that a format holds exactly.
  private enum Kinds { case all, withoutNull, strings }

  private static let pieces = [
    "", "a", "\"", "\\", ",", ";", "\t", "\n", "\r\n", "\r", " ", "é", "e\u{301}", "漢字", "😀", "\u{0}", "\u{1F}",
    "\u{7F}",
    "\u{FEFF}", "\u{2028}", "{\"a\":1}", "[1]", "null", "1", "2001-01-01T00:00:00.000Z", "<&>]]>", "العربية", "true",
  ]
  private static let numbers: [Double] = [
    0, 1, -1, 1.5, -0.25, 1e-7, 1e21, 1e300, 9_007_199_254_740_992, -9_007_199_254_740_992, 0x1p62,
    .leastNonzeroMagnitude, 1e20,
  ]

  private struct Generator {
    var numbers: Pseudorandom
    let kinds: Kinds

    mutating func pick<T>(_ values: [T]) -> T { values[numbers.number(below: values.count)] }

    mutating func text(upTo count: Int = 6) -> String {
      (0..<numbers.number(below: count + 1)).map { _ in pick(RandomRoundTripTests.pieces) }.joined()
    }

    mutating func maybe<T>(_ make: (inout Generator) -> T) -> T? {
      numbers.number(below: 2) == 0 ? nil : make(&self)
    }

    mutating func value(depth: Int = 0) -> AttributeValue {
      guard kinds != .strings else { return .string(text()) }
      switch numbers.number(below: depth < 3 ? 6 : 4) {
      case 0: return .string(text())
      case 1: return .number(pick(RandomRoundTripTests.numbers))
      case 2: return .bool(numbers.number(below: 2) == 0)
      case 3: return kinds == .all ? .null : .string("")
      case 4: return .array((0..<numbers.number(below: 3)).map { _ in value(depth: depth + 1) })
      default: return .object(members(depth: depth + 1))
      }
    }

    mutating func members(depth: Int) -> [String: AttributeValue] {
      var members: [String: AttributeValue] = [:]
      for _ in 0..<numbers.number(below: 4) { members[text(upTo: 2)] = value(depth: depth) }
      return members
    }

    mutating func document(_ id: Int64) throws -> (DocumentHeader, String) {
      let isValue = numbers.number(below: 3) == 0
      let text = isValue ? try Attributes(["name": .string(text()), "title": value()]).description : text(upTo: 20)
      let key = maybe {
        $0.numbers.number(below: 4) == 0 ? DocumentKey(bytes: [0xFF, 0]) : DocumentKey("k\(id)" + $0.text())
      }
      let header = Samples.header(
        id, title: maybe { $0.text() }, key: kinds == .strings ? key.flatMap { $0.text == nil ? nil : $0 } : key,
        attributes: try Attributes(members(depth: 0)), parent: maybe { DocumentID(1 + $0.numbers.number(below: 9)) },
        created: Int64.random(in: -62_135_596_800_000...253_402_300_799_999, using: &numbers),
        modified: Int64.random(in: 0...2_000_000_000_000, using: &numbers), isJSON: isValue)
      return (header, text)
    }
  }

  private static func documents(_ seed: Int, _ kinds: Kinds) throws -> Documents {
    var generator = Generator(numbers: Pseudorandom(seed: UInt64(seed)), kinds: kinds)
    return try (1...40).map { try generator.document(Int64($0) * 3) }
  }

  private func expectEqual(_ read: [Drafted], _ documents: Documents) {
    #expect(read.count == documents.count)
    for (draft, (header, text)) in zip(read, documents) {
      #expect(draft.id == header.id.rawValue)
      #expect(draft.title.map { Array($0.utf8) } == header.title.map { Array($0.utf8) }, "document \(header.id)")
      #expect(Array(draft.text.utf8) == Array(text.utf8), "document \(header.id)")
      #expect(draft.attributes ?? "{}" == header.attributes.description, "document \(header.id)")
    }
  }

  @Test(arguments: 0..<20) func jsonAndLinesHoldEverything(seed: Int) throws {
    let documents = try Self.documents(seed, .all)
    var lines = NDJSONSink(MemoryByteSink())
    try lines.writeAll(documents)
    var array = JSONSink(MemoryByteSink())
    try array.writeAll(documents)
    for keepsIDs in [true, false] {
      let options = ReadingOptions(keepsIDs: keepsIDs)
      for read in [
        try drafts(NDJSONSource(MemoryByteSource(lines.sink.bytes, chunk: 100), options: options)),
        try drafts(JSONSource(MemoryByteSource(array.sink.bytes, chunk: 100), options: options)),
      ] {
        expectEqual(read, documents)
        for (draft, (header, _)) in zip(read, documents) {
          #expect(draft.collection == "notes")
          #expect(draft.key == header.key?.bytes)
          #expect(draft.parent == header.parent?.rawValue)
          #expect(draft.created == header.created.millisecondsSince1970)
          #expect(draft.modified == header.modified.millisecondsSince1970)
          #expect(draft.isJSON == header.isJSON && draft.isComplete)
        }
      }
    }
  }

  @Test(arguments: 0..<10, [DelimitedDialect.csv, .tsv]) func tablesHoldAllParts(
    seed: Int, dialect: DelimitedDialect
  ) throws {
    let documents = try Self.documents(seed, .strings)
    var columns = TableColumns()
    for (header, _) in documents { columns.insert(columnsOf: header) }
    var sink = DelimitedSink(MemoryByteSink(), dialect: dialect, columns: columns)
    try sink.writeAll(documents)
    let options = ReadingOptions(encoding: .fixed(.utf8), keepsIDs: true)
    let read = try drafts(DelimitedSource(MemoryByteSource(sink.sink.bytes), dialect: dialect, options: options))
    expectEqual(read, documents)
    for (draft, (header, _)) in zip(read, documents) {
      #expect(draft.key == header.key?.bytes)
      #expect(draft.parent == header.parent?.rawValue)
      #expect(draft.created == header.created.millisecondsSince1970)
      #expect(draft.modified == header.modified.millisecondsSince1970)
      #expect(draft.isJSON == header.isJSON)
    }
  }

  @Test(arguments: 0..<10) func propertyListsHoldAttributesAndValues(seed: Int) throws {
    let documents = try Self.documents(seed, .withoutNull)
    var sink = PropertyListSink(MemoryByteSink(), writesAttributes: true)
    try sink.writeAll(documents)
    let read = try drafts(
      PropertyListSource(MemoryByteSource(sink.sink.bytes), options: ReadingOptions(keepsIDs: true)))
    expectEqual(read, documents)
    for (draft, (header, _)) in zip(read, documents) { #expect(draft.isJSON == header.isJSON) }
  }

  @Test(arguments: 0..<10) func databasesHoldAllParts(seed: Int) throws {
    let documents = try Self.documents(seed, .all)
    let directory = try TemporaryDirectory()
    try directory.write([], to: "out.db")
    var sink = try SQLiteSink(path: "\(directory.path)/out.db")
    try sink.writeAll(documents)
    let read = try drafts(SQLiteSource(path: "\(directory.path)/out.db", options: ReadingOptions(keepsIDs: true)))
    expectEqual(read, documents)
    for (draft, (header, _)) in zip(read, documents) {
      #expect(draft.key == header.key?.bytes)
      #expect(draft.created == header.created.millisecondsSince1970)
      #expect(draft.modified == header.modified.millisecondsSince1970)
      #expect(draft.parent == header.parent?.rawValue)
      #expect(draft.isJSON == header.isJSON && draft.isComplete)
    }
  }
}
