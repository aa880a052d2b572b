import CofferDocuments
import Foundation
import Testing

@testable import CofferFormats

/// Dates, collections and values in a mapping, for each format with columns or members.
@Suite struct MappedPartsTests {
  private static let mapping = ColumnMapping(parsing: "created=made,modified=changed,collection=folder")!

  private func table(_ sql: String, _ mapping: ColumnMapping = mapping, values: Bool = false) throws -> [Drafted] {
    let directory = try TemporaryDirectory()
    var options = ReadingOptions()
    options.readsValues = values
    return try drafts(
      SQLiteSource(path: try directory.database(sql), table: "item", mapping: mapping, options: options))
  }

  @Test(arguments: [
    "created=a,created=b", "dates=unix,dates=unix", "dates=days", "dates=", "folder=a", "created=", "",
  ])
  func rejectsInvalidMapping(text: String) {
    #expect(ColumnMapping(parsing: text) == nil)
  }

  @Test func parsesMapping() {
    let mapping = ColumnMapping(parsing: "dates=unix-ms,created=2,collection=folder")
    #expect(mapping?.dates == .unixMilliseconds)
    #expect(mapping?.columns == [.created: .init("2"), .collection: .init("folder")])
  }

  @Test(arguments: [
    ("2026-11-21T14:35:00.123Z", 1_795_271_700_123), ("2026-11-21 14:35:00", 1_795_271_700_000),
    ("2026-11-21 14:35", 1_795_271_700_000), ("2026-11-21", 1_795_219_200_000), ("1795271700.5", 1_795_271_700_500),
    ("20261121", 1_795_219_200_000),
    ("2026-11-21T14:35:00+02:00", 1_795_264_500_000),
  ])
  func readsDatesInEveryFormat(text: String, milliseconds: Int64) throws {
    let csv = try drafts(
      DelimitedSource(
        MemoryByteSource("made,changed,text,folder\n\(text),\"\(text)\",t,notes\n"), dialect: .csv,
        mapping: Self.mapping))
    let json = try drafts(
      JSONSource(
        MemoryByteSource(#"[{"made":"\#(text)","changed":"\#(text)","text":"t","folder":"notes"}]"#),
        mapping: Self.mapping))
    let database = try table(
      "CREATE TABLE item(made,changed,text,folder);INSERT INTO item VALUES('\(text)','\(text)','t','notes')")
    for read in [csv, json, database] {
      #expect(read.map(\.created) == [milliseconds])
      #expect(read.map(\.modified) == [milliseconds])
      #expect(read.map(\.collection) == ["notes"])
      #expect(read.map(\.attributes) == [nil])
    }
  }

  @Test(arguments: [
    (ColumnMapping.NumericDates.unix, 1.5, 1_500), (.unixMilliseconds, 1_500, 1_500),
    (.unixMicroseconds, 1_500_400, 1_500), (.chrome, 0, -11_644_473_600_000),
    (.apple, 0, 978_307_200_000), (.apple, -978_307_200, 0), (.unix, 20_240_107, 20_240_107_000),
  ])
  func appliesMappedDateUnit(unit: ColumnMapping.NumericDates, number: Double, milliseconds: Int64) throws {
    var mapping = ColumnMapping(parsing: "created=made")!
    mapping.dates = unit
    #expect(
      try table("CREATE TABLE item(made,text);INSERT INTO item VALUES(\(number),'t')", mapping).map(\.created) == [
        milliseconds
      ])
    #expect(
      try drafts(JSONSource(MemoryByteSource(#"[{"made":\#(number),"text":"t"}]"#), mapping: mapping)).map(\.created)
        == [milliseconds])
    #expect(
      try drafts(DelimitedSource(MemoryByteSource("made,text\n\(number),t\n"), dialect: .csv, mapping: mapping)).map(
        \.created)
        == [milliseconds])
  }

  @Test(arguments: ["yesterday", "1e300", "2026-13-01", "nan", "1704651840123", "-1", "+010000-01-01T00:00:00Z"])
  func reportsLocationOfInvalidDate(text: String) throws {
    let csv = failure(
      DelimitedSource(
        MemoryByteSource("text,made\nt,\(text)\n"), dialect: .csv, mapping: ColumnMapping(parsing: "created=made")!))
    #expect(csv?.code == .malformed)
    #expect(csv?.location == InputLocation(record: 1, line: 2, column: 3, byteOffset: 12))
    #expect(throws: FormatError.self) {
      _ = try table("CREATE TABLE item(made,text,changed,folder);INSERT INTO item VALUES('\(text)','t',0,'')")
    }
  }

  @Test func omitsMissingParts() throws {
    let read = try table(
      "CREATE TABLE item(made,changed,text,folder);INSERT INTO item VALUES(NULL,NULL,'t',NULL),(NULL,NULL,'t','')")
    #expect(read.allSatisfy { $0.created == nil && $0.modified == nil && $0.collection == nil })
    let json = try drafts(
      JSONSource(MemoryByteSource(#"[{"made":null,"text":"t","folder":null},{"text":"t"}]"#), mapping: Self.mapping))
    #expect(json.allSatisfy { $0.created == nil && $0.modified == nil && $0.collection == nil })
  }

  // MARK: Values

  struct Model: Codable, Equatable {
    var id: Int64
    var name: String
    var isOpen: Bool
    var made: Date
    var changed: Date?
    var tag: UUID
    var other: UUID
    var data: Data
    var amount: Double
  }

  @Test func decodesRowsIntoModels() throws {
    let uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!
    let read = try table(
      """
      CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, isOpen BOOLEAN, made DATETIME, changed TIMESTAMP,
        tag UUID, other TEXT, data BLOB, amount DOUBLE);
      INSERT INTO item VALUES(1,'a',1,'2026-11-21 14:35:00.123',NULL,x'E621E1F8C36C495A93FC0C247A3E6E5F',
        'E621E1F8-C36C-495A-93FC-0C247A3E6E5F',x'00FF',1.5);
      INSERT INTO item VALUES(9007199254740993,'',0,1795271700.123,'1970-01-01',x'E621E1F8C36C495A93FC0C247A3E6E5F',
        'E621E1F8-C36C-495A-93FC-0C247A3E6E5F',x'',-1)
      """, ColumnMapping(), values: true)
    let date = Date(timeIntervalSince1970: 1_795_271_700.123)
    let wanted = [
      Model(
        id: 1, name: "a", isOpen: true, made: date, changed: nil, tag: uuid, other: uuid, data: Data([0, 255]),
        amount: 1.5),
      Model(
        id: 9_007_199_254_740_993, name: "", isOpen: false, made: date, changed: Date(timeIntervalSince1970: 0),
        tag: uuid, other: uuid, data: Data(), amount: -1),
    ]
    let models = try read.map { try JSONDecoder().decode(Model.self, from: Data($0.text.utf8)) }
    #expect(models.map(\.id) == wanted.map(\.id))
    for (model, wanted) in zip(models, wanted) {
      #expect(abs(model.made.timeIntervalSince(wanted.made)) < 0.0005)
      var model = model
      model.made = wanted.made
      #expect(model == wanted)
    }
    #expect(read.map(\.isJSON) == [true, true])
  }

  @Test func preservesValuesOfOtherTypes() throws {
    let read = try table(
      "CREATE TABLE item(a BOOL, b DATE, c UUID);INSERT INTO item VALUES(2,'soon',x'00')", ColumnMapping(), values: true
    )
    #expect(read.map(\.text) == [#"{"a":2,"b":"soon","c":"AA=="}"#])
  }
}
