import CofferDocuments
import CofferText
import Foundation
import Testing

@testable import CofferFormats

/// Documents with difficult but valid contents.
enum Samples {
  static func header(
    _ id: Int64, title: String? = nil, key: DocumentKey? = nil, attributes: Attributes = Attributes(),
    parent: DocumentID? = nil, created: Int64 = 0, modified: Int64 = 1, isJSON: Bool = false, collection: UInt32 = 1
  ) -> DocumentHeader {
    DocumentHeader(
      id: DocumentID(id), collection: CollectionID(collection),
      position: DocumentPosition([0x80 | UInt8(truncatingIfNeeded: id)])!, parent: parent, title: title,
      key: key, attributes: attributes, created: Timestamp(millisecondsSince1970: created),
      modified: Timestamp(millisecondsSince1970: modified), byteCount: 0, isJSON: isJSON)
  }

  static let difficult: [(DocumentHeader, String)] = [
    (header(1, title: "plain", key: "k-1"), "text"),
    (header(7, title: ""), ""),
    (header(2, title: "a,b\t\"c\"\r\nd"), "\r"),
    (header(3), "\"quoted\""),
    (header(4, title: "\u{FEFF}mark"), "\u{FEFF}mark"),
    (header(5, title: "e\u{301} \u{E9} 😀"), "\u{2028}\u{7F}\\u0041 \\ / 😀\u{10FFFF}"),
    (header(.max - 1, title: " spaces "), " \t lead and trail \n\n"),
    (header(8, title: String(repeating: "long ", count: 100)), String(repeating: "ä\"\n", count: 200_000)),
    (header(9, key: "schlüssel, \"x\"\ty"), "\n"),
    (header(10, title: "../../etc/passwd"), "x,y"),
    (header(11, title: "..\u{0}."), ","),
    (header(12, title: "CON"), "a\tb"),
    (header(13, title: "CON"), "\u{1}\u{8}\u{C}\u{1F}"),
    (header(14, title: "index.ndjson"), "{}"),
  ]

  static let withNUL: [(DocumentHeader, String)] = difficult + [(header(15, title: "n\0"), "a\0b")]

  static let rich: [(DocumentHeader, String)] =
    withNUL + [
      (
        header(
          20, title: "rich", key: DocumentKey(bytes: [0xFF, 0x00]), attributes: ["b": 1, "a": ["x": "é\"", "y": nil]],
          parent: 1, created: -1, modified: 253_402_300_799_999, isJSON: true), "{\"n\":1}"
      ),
      (header(21, created: 1_795_271_700_123, modified: 1_795_305_599_999), "dates"),
    ]
}

extension DocumentSink {
  mutating func writeAll(_ documents: [(DocumentHeader, String)], collection: String = "notes") throws {
    try begin()
    for (header, text) in documents {
      try Array(text.utf8).withUnsafeBytes {
        try write(OpenedDocument(header: header, utf8: $0), inCollection: collection)
      }
    }
    try finish()
  }
}

@Suite struct RoundTripTests {
  @Test(arguments: [InputFormat.ndjson, .json])
  func jsonPreservesDocuments(format: InputFormat) throws {
    let read: [Drafted]
    if format == .json {
      var sink = JSONSink(MemoryByteSink())
      try sink.writeAll(Samples.rich, collection: "nötes \"1\"")
      read = try drafts(JSONSource(MemoryByteSource(sink.sink.bytes)))
    } else {
      var sink = NDJSONSink(MemoryByteSink())
      try sink.writeAll(Samples.rich, collection: "nötes \"1\"")
      read = try drafts(NDJSONSource(MemoryByteSource(sink.sink.bytes)))
    }
    #expect(read.count == Samples.rich.count)
    for (draft, (header, text)) in zip(read, Samples.rich) {
      #expect(draft.id == header.id.rawValue)
      #expect(draft.collection == "nötes \"1\"")
      #expect(draft.title.map { Array($0.utf8) } == header.title.map { Array($0.utf8) })
      #expect(Array(draft.text.utf8) == Array(text.utf8))
      #expect(draft.key == header.key?.bytes)
      #expect(draft.created == header.created.millisecondsSince1970)
      #expect(draft.modified == header.modified.millisecondsSince1970)
      #expect(draft.attributes ?? "{}" == header.attributes.description)
      #expect(draft.parent == header.parent?.rawValue)
      #expect(draft.isJSON == header.isJSON)
      #expect(draft.isComplete)
    }
  }

  @Test(arguments: [DelimitedDialect.csv, .tsv], [TextEncoding.utf8, .utf16LittleEndian, .utf16BigEndian])
  func tablesPreserveDocuments(dialect: DelimitedDialect, encoding: TextEncoding) throws {
    let documents =
      Samples.rich.filter { $0.0.key == nil || $0.0.key?.text != nil } + [
        (
          Samples.header(
            30, title: "child", attributes: ["title": "own", "created": "", "parent": "p", "": "unnamed", "n": 1],
            parent: 21, created: Timestamp.earliest.millisecondsSince1970,
            modified: Timestamp.latest.millisecondsSince1970, isJSON: true), "{}"
        )
      ]
    var columns = TableColumns()
    for (header, _) in documents { columns.insert(columnsOf: header) }
    var sink = DelimitedSink(
      MemoryByteSink(), dialect: dialect, columns: columns,
      options: WritingOptions(encoding: encoding, byteOrderMark: true))
    try sink.writeAll(documents)
    let options = ReadingOptions(keepsIDs: true)
    let read = try drafts(DelimitedSource(MemoryByteSource(sink.sink.bytes), dialect: dialect, options: options))
    try expectEqual(read, documents)
    for (draft, (header, _)) in zip(read, documents) {
      #expect(draft.created == header.created.millisecondsSince1970)
      #expect(draft.modified == header.modified.millisecondsSince1970)
      #expect(draft.parent == header.parent?.rawValue && draft.isJSON == header.isJSON)
    }
    #expect(read.last?.attributes == #"{"":"unnamed","created":"","n":"1","parent":"p","title":"own"}"#)
  }

  /// Each narrowed table has only these columns, and a row for each document.
  @Test(arguments: [["text"], ["title"], ["key"], ["n"], ["text", "id"], ["json", "parent", "modified"], ["n", "n"]])
  func narrowedTablesHaveRowForEachDocument(names: [String]) throws {
    let documents = Samples.withNUL + [(Samples.header(30, attributes: ["n": ""], parent: 7), "")]
    var columns = TableColumns()
    for (header, _) in documents { columns.insert(columnsOf: header) }
    try columns.narrow(to: names)
    var sink = DelimitedSink(MemoryByteSink(), dialect: .csv, columns: columns)
    try sink.writeAll(documents)
    var source = DelimitedSource(
      MemoryByteSource(sink.sink.bytes), dialect: .csv, header: .no, options: ReadingOptions(encoding: .fixed(.utf8)))
    #expect(try drafts(&source).count == documents.count + 1)
    #expect(source.report.columns.count == names.count)
  }

  @Test func narrowingRejectsUnknownColumns() throws {
    var columns = TableColumns()
    columns.insert(columnsOf: Samples.header(1, attributes: ["n": 1]))
    for names in [["Title"], ["id", ""], ["m"]] {
      let error = #expect(throws: FormatError.self) { try columns.narrow(to: names) }
      #expect(error?.code == .missingColumn && error?.names.last == "n")
    }
  }

  @Test(arguments: [
    WritingOptions(), WritingOptions(byteOrderMark: true),
    WritingOptions(encoding: .utf16BigEndian, byteOrderMark: true),
  ])
  func directoriesPreserveDocuments(options: WritingOptions) throws {
    let directory = try TemporaryDirectory()
    var sink = TextDirectorySink(path: "\(directory.path)/out", options: options)
    try sink.writeAll(Samples.rich)
    var source = try DirectorySource(path: "\(directory.path)/out")
    let read = try drafts(&source)
    try expectEqual(read, Samples.rich)
    #expect(source.report.documents == Samples.rich.count)
    for (draft, (header, _)) in zip(read, Samples.rich) {
      #expect(draft.collection == "notes")
      #expect(draft.created == header.created.millisecondsSince1970)
      #expect(draft.modified == header.modified.millisecondsSince1970)
      #expect(draft.attributes ?? "{}" == header.attributes.description)
      #expect(draft.parent == header.parent?.rawValue && draft.isJSON == header.isJSON)
    }
  }

  /// The byte order mark of UTF-16LE and U+0000 are the mark of UTF-32.
  @Test func markedTextsPreserveFirstNUL() throws {
    let directory = try TemporaryDirectory()
    let options = WritingOptions(encoding: .utf16LittleEndian, byteOrderMark: true)
    var sink = TextDirectorySink(path: "\(directory.path)/out", options: options)
    let documents = [(Samples.header(1, title: "begins with NUL"), "\0a")]
    try sink.writeAll(documents)
    try expectEqual(drafts(DirectorySource(path: "\(directory.path)/out")), documents)
  }

  @Test func propertyListsPreserveDocuments() throws {
    var sink = PropertyListSink(MemoryByteSink())
    try sink.writeAll(Samples.withNUL)
    let source = PropertyListSource(
      MemoryByteSource(sink.sink.bytes, chunk: 1000), options: ReadingOptions(keepsIDs: true))
    let read = try drafts(source)
    #expect(read.allSatisfy { $0.key == nil })
    try expectEqual(read, Samples.withNUL, withKeys: false)
  }

  @Test func propertyListsPreserveObjectsThatResembleData() throws {
    let attributes: Attributes = ["bits": ["$base64": "AQJ="], "cut": ["$base64": "AQI"], "data": ["$base64": "AQI="]]
    let row = #"{"wgFileDbSecretId":"2","d":{"$base64":"AQJ="}}"#
    let documents: [(DocumentHeader, String)] = [
      (Samples.header(1, title: "attributes", attributes: attributes), "x"),
      (Samples.header(2, title: String(row.prefix(50)), isJSON: true), row),
    ]
    var sink = PropertyListSink(MemoryByteSink(), writesAttributes: true)
    try sink.writeAll(documents)
    let options = ReadingOptions(keepsIDs: true)
    let read = try drafts(PropertyListSource(MemoryByteSource(sink.sink.bytes), options: options))
    #expect(read.map(\.attributes) == [attributes.description, nil])
    #expect(read.map(\.text) == ["x", row])
  }

  /// Unchanged rows of a foreign table keep their original form.
  @Test func preservesRowsOfForeignTable() throws {
    let rows = [
      #"{"wgFileDbSecretId":"2","name":"N","n":-7,"big":18446744073709551615,"r":1.0,"s":"ä","d":{"$base64":"AAE="}}"#,
      #"{"wgFileDbSecretId":"3","at":"2004-10-26T10:33:33.000Z","on":true,"list":[1,[],{}],"nan":{"$real":"nan"}}"#,
      #"{"wgFileDbSecretId":"4","name":"changed"}"#, #"{"wgFileDbSecretId":"9"}"#,
      #"{"wgFileDbSecretId":"6","x":null}"#,
      #"{"wgFileDbSecretId":"7","text":"t"}"#, #"{ "wgFileDbSecretId":"8"}"#,
    ]
    let titles = ["N", String(rows[1].prefix(50)), "other", "5", "6", "7", "8"]
    let documents = rows.indices.map { (Samples.header(Int64($0) + 2, title: titles[$0], isJSON: true), rows[$0]) }
    var sink = PropertyListSink(MemoryByteSink(), highestID: 40)
    try sink.writeAll(documents)
    let list = try #require(
      try PropertyListSerialization.propertyList(from: Data(sink.sink.bytes), format: nil) as? [String: Any])
    #expect(list["autoincrement"] as? String == "40")
    let data = try #require(list["data"] as? [[String: Any]])
    #expect(data[0]["d"] as? Data == Data([0, 1]))
    #expect(data[0]["n"] as? Int == -7)
    #expect(data[1]["at"] is Date)
    #expect(data.map { $0["text"] != nil } == [false, false, true, true, true, true, true])
    #expect(data.allSatisfy { $0["wgFileDbSecretId"] is String })
    var source = PropertyListSource(MemoryByteSource(sink.sink.bytes), options: ReadingOptions(keepsIDs: true))
    let read = try drafts(&source)
    #expect(read.map(\.text) == rows)
    #expect(read.map(\.id) == Array(2...8))
    #expect(read.allSatisfy { $0.isJSON })
    #expect(source.report.highestID == 40)
  }

  private func expectEqual(_ read: [Drafted], _ documents: [(DocumentHeader, String)], withKeys: Bool = true) throws {
    #expect(read.count == documents.count)
    for (draft, (header, text)) in zip(read, documents) {
      #expect(draft.id == header.id.rawValue)
      #expect(draft.title.map { Array($0.utf8) } == header.title.map { Array($0.utf8) })
      #expect(Array(draft.text.utf8) == Array(text.utf8), "document \(header.id)")
      if withKeys { #expect(draft.key == header.key?.bytes) }
    }
  }
}
