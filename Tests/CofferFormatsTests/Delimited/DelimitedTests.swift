import CofferDocuments
import CofferTestSupport
import CofferText
import Testing

@testable import CofferFormats

@Suite struct DelimitedTests {
  private func error(_ text: String, dialect: DelimitedDialect = .csv) -> FormatError? {
    failure(DelimitedSource(MemoryByteSource(text), dialect: dialect))
  }

  // MARK: Malformed input

  @Test func reportsLocationOfUnclosedQuote() {
    let error = error("id,title,text\n1,a,\"b\n2,c,d\n")
    #expect(error?.code == .malformed)
    #expect(error?.location == InputLocation(record: 1, line: 2, column: 5, byteOffset: 18))
  }

  @Test func rejectsTextAfterClosingQuote() {
    let error = error("title,text\na,b\nä,\"b\"c\n")
    #expect(error?.code == .malformed)
    #expect(error?.location == InputLocation(record: 2, line: 3, column: 6, byteOffset: 21))
  }

  @Test(arguments: ["a,b\n1\n", "a,b\n1,2,3\n", "a,b\n1,2\n\"\"\n", "a\n1\n1,2"])
  func rejectsRowsOfDifferentLength(text: String) {
    #expect(error(text)?.code == .malformed)
  }

  @Test func firstRowDeterminesFieldCount() {
    let source = DelimitedSource(csv: "1,2\n1,2,3\n", header: .no)
    #expect(failure(source)?.location == InputLocation(record: 2, line: 2, column: 1, byteOffset: 4))
  }

  @Test func missingColumnListsExistingColumns() {
    let mapping = ColumnMapping(parsing: "text=content")!
    let error = failure(DelimitedSource(csv: "id,titel,inhalt\n1,a,b\n", mapping: mapping))
    #expect(error?.code == .missingColumn)
    #expect(error?.names == ["id", "titel", "inhalt"])
    let numbered = failure(DelimitedSource(csv: "1,a\n", mapping: ColumnMapping(parsing: "text=3")!))
    #expect(numbered?.code == .missingColumn)
    #expect(failure(DelimitedSource(csv: "1,a\n", mapping: ColumnMapping(parsing: "text=0")!))?.code == .missingColumn)
  }

  @Test func acceptsStrayQuotesUnlessStrict() throws {
    let text = "title,text\n5\" disk,say \"hi\"\n"
    #expect(try drafts(DelimitedSource(csv: text)).first?.title == "5\" disk")
    let strict = DelimitedDialect(delimiter: UInt8(ascii: ","), refusesStrayQuotes: true)
    #expect(error(text, dialect: strict)?.location == InputLocation(record: 1, line: 2, column: 2, byteOffset: 12))
  }

  @Test func keepingIDsRejectsInvalidIDs() throws {
    for id in ["x", "0", "-1", "1.5", "9223372036854775808", " 1"] {
      let text = "id,text\n\(id),a\n"
      #expect(try drafts(DelimitedSource(csv: text)).map(\.id) == [nil])
      let error = failure(DelimitedSource(csv: text, options: ReadingOptions(keepsIDs: true)))
      #expect(error?.code == .malformed)
    }
    let kept = DelimitedSource(csv: "id,text\n9223372036854775806,a\n,b\n", options: ReadingOptions(keepsIDs: true))
    #expect(try drafts(kept).map(\.id) == [Int64.max - 1, nil])
  }

  @Test func rejectsOversizedKey() {
    #expect(error("key,text\n\(String(repeating: "k", count: 1025)),a\n")?.code == .malformed)
    #expect(error("key,text\n\(String(repeating: "k", count: 1024)),a\n") == nil)
  }

  @Test func rejectsOversizedRecord() throws {
    let long = String(repeating: "x", count: 700_000)
    let options = ReadingOptions(maximumRecordByteCount: 500_000)
    let error = failure(DelimitedSource(csv: "text\na\n\(long)\nb\n", options: options))
    #expect(error?.code == .tooLarge)
    #expect(error?.location?.line == 3)
    let rejections = Rejections()
    let skipping = rejections.options { $0.maximumRecordByteCount = 500_000 }
    let texts = try drafts(DelimitedSource(csv: "text\na\n\(long)\nb\n", options: skipping)).map(\.text)
    #expect(texts == ["a", "b"])
    #expect(rejections.all.map(\.error.location?.record) == [2])
  }

  // MARK: Skipping

  @Test func skipsOnlyInvalidRows() throws {
    let rejections = Rejections()
    let text = "title,text\n1,ok\n2,\"open\n3,ok\n4,\"x\"y\n5,\"a\nb\"\n6\n7,8,9\n10,ok"
    var source = DelimitedSource(csv: text, options: rejections.options())
    #expect(try drafts(&source).map(\.title) == ["1", "3", "5", "10"])
    #expect(
      rejections.all.map { String(decoding: $0.bytes, as: UTF8.self) } == [
        "2,\"open\n", "4,\"x\"y\n", "6\n", "7,8,9\n",
      ])
    #expect(rejections.all.map { $0.error.location?.record } == [2, 4, 6, 7])
    #expect(rejections.all.map { $0.error.location?.line } == [3, 5, 8, 9])
    #expect(source.report.rejected == 4)
    #expect(source.report.documents == 4)
    #expect(source.report.headBytes == Array("title,text\n".utf8))
  }

  @Test func rejectionsContainUTF16Bytes() throws {
    let rejections = Rejections()
    let bytes = utf16("title,text\r\nä,ö\r\nß\r\n😀,ü\r\n", mark: true)
    var source = DelimitedSource(MemoryByteSource(bytes, chunk: 3), dialect: .csv, options: rejections.options())
    #expect(try drafts(&source).map(\.text) == ["ö", "ü"])
    #expect(rejections.all.first?.bytes == utf16("ß\r\n"))
    #expect(source.report.headBytes == utf16("title,text\r\n", mark: true))
    #expect(rejections.all.first?.error.location == InputLocation(record: 2, line: 3, column: 1, byteOffset: 36))
  }

  @Test func rejectsOnlyRowWithInvalidBytes() throws {
    let rejections = Rejections()
    var bytes = utf16("title,text\na,b\nc,d\ne,f\n", mark: true)
    bytes[2 + 2 * 17] = 0x00
    bytes[3 + 2 * 17] = 0xD8
    let source = DelimitedSource(MemoryByteSource(bytes), dialect: .csv, options: rejections.options())
    #expect(try drafts(source).map(\.title) == ["a", "e"])
    #expect(rejections.all.first?.error.code == .undecodable)
    #expect(rejections.all.first?.error.location == InputLocation(record: 2, line: 3, column: 3, byteOffset: 36))
    #expect(rejections.all.first?.bytes == Array(bytes[32..<40]))
  }

  @Test func rejectsInvalidHeader() {
    #expect(failure(DelimitedSource(csv: "\"id\"x,text\n1,a\n", options: Rejections().options()))?.code == .malformed)
  }

  @Test func rejectsCarriageReturnLineEndings() {
    let error = failure(DelimitedSource(csv: "id,text\r1,a\r2,b\r"))
    #expect(error?.code == .malformed)
    #expect(error?.location?.byteOffset == 7)
  }

  // MARK: Delimiters

  private func delimiter(_ text: String) throws -> Character? {
    var source = DelimitedSource(MemoryByteSource(text, chunk: 7), dialect: nil)
    _ = try? drafts(&source)
    return source.report.delimiter.map { Character(UnicodeScalar($0)) }
  }

  @Test(arguments: [
    ("a,b\n1,2\n", ","), ("a;b\n1;2\n", ";"), ("a\tb\n1\t2\n", "\t"), ("a|b\n1|2", "|"),
    // The table contains decimal commas, a quoted comma or blank lines.
    ("a;b\n1,5;2,5\n", ";"), ("\"a,x\";b\n1;2\n", ";"), ("\"a\";\"b\"\n\"1\n;\";2\n\n", ";"),
    // If field counts differ or two delimiters fit, the comma is used.
    ("a;b\n1;2;3\n", ","), ("a;b|c\n1;2|3\n", ","), ("a\nb\n", ","), ("a,b;c\n1;2\n", ","),
    ("sep=;\na,b;c\n1;2\n", ";"), ("\"sep=|\"\r\na\n1\n", "|"), ("sep=\n", ","),
  ])
  func detectsDelimiter(text: String, expected: Character) throws {
    #expect(try delimiter(text) == expected)
  }

  @Test func detectsDelimiterInFirstHundredRows() throws {
    let rows = "a;b\n" + String(repeating: "1;2\n", count: 99)
    #expect(try delimiter(rows + "x\n") == ";")
    #expect(try delimiter(rows.dropLast(4) + "x\n") == ",")
  }

  @Test(.slow) func detectsDelimiterAfterLongFirstRow() throws {
    let long = String(repeating: "x", count: 600_000)
    let source = DelimitedSource(MemoryByteSource("text;\"\(long)\"\na;b\n"), dialect: nil)
    #expect(try drafts(source).map(\.text) == ["a"])
  }

  @Test func rejectionsKeepDelimiterLine() throws {
    var source = DelimitedSource(
      MemoryByteSource("sep=;\ntitle;text\na\nb;c\n"), dialect: nil, options: Rejections().options())
    #expect(try drafts(&source).map(\.text) == ["c"])
    #expect(source.report.headBytes == Array("sep=;\ntitle;text\n".utf8))
  }

  // MARK: Files of other programs

  @Test(arguments: ["\n", "\r\n"], [nil, DelimitedDialect.csv])
  func skipsBlankLines(lineEnd: String, dialect: DelimitedDialect?) throws {
    let lines = ["", "", "title,text", "", "a,b", "", " ", "\t ", "c,\"d", "", "e\"", "", ""]
    for chunk in [1, 7, 1000] {
      let bytes = MemoryByteSource(lines.joined(separator: lineEnd), chunk: chunk)
      var source = DelimitedSource(bytes, dialect: dialect)
      let read = try drafts(&source)
      #expect(read.map(\.title) == ["a", "c"])
      #expect(read.map(\.text) == ["b", "d\(lineEnd)\(lineEnd)e"])
      #expect(read.map(\.record) == [1, 2])
    }
  }

  @Test func skipsBlankLinesOfOneColumn() throws {
    #expect(try drafts(DelimitedSource(csv: "\ntext\n\na\n\n\" \"\n \n\"\"\n\n")).map(\.text) == ["a", " ", " ", ""])
    #expect(try drafts(DelimitedSource(csv: "\n\n1,2\n\n3,4\n", header: .no)).count == 2)
    #expect(try drafts(DelimitedSource(csv: "\n\n\n")).isEmpty)
    #expect(try delimiter("\n\nsep=;\n\na;b\n\n1;2\n") == ";")
    #expect(try delimiter("\n\na;b\n\n1;2\n") == ";")
    #expect(try delimiter("\n\na,b\n\n1,2;3\n") == ",")
  }

  @Test func reportsLocationBehindBlankLines() {
    let error = error("\n\na,b\n\n1,2\n\n1\n")
    #expect(error?.location == InputLocation(record: 2, line: 7, column: 1, byteOffset: 12))
  }

  @Test(arguments: ["Title,Text,KEY", " TITLE , tExt,Key", "title,Text,key"])
  func matchesHeaderNamesInAnyCase(header: String) throws {
    let read = try drafts(DelimitedSource(csv: "\(header),Notes\na,b,k,n\n"))
    #expect(read.map(\.title) == ["a"] && read.map(\.text) == ["b"] && read.map(\.keyText) == ["k"])
    #expect(read.map(\.attributes) == [#"{"Notes":"n"}"#])
  }

  @Test(arguments: ["text=notes", "text=NOTES", "text=Notes"])
  func matchesMappedNamesInAnyCase(mapping: String) throws {
    let source = DelimitedSource(csv: "Name,Notes\na,b\n", mapping: ColumnMapping(parsing: mapping)!)
    #expect(try drafts(source).map(\.text) == ["b"])
  }

  /// A name that is equal is preferred, in any script and composition otherwise.
  @Test func prefersEqualHeaderName() throws {
    #expect(try drafts(DelimitedSource(csv: "Text,text\na,b\n")).map(\.text) == ["b"])
    #expect(try drafts(DelimitedSource(csv: "TEXT,Text\na,b\n")).map(\.text) == ["a"])
    for (name, wanted) in [("ТЕКСТ", "текст"), ("U\u{308}bersicht", "übersicht"), ("STRASSE", "straße")] {
      let source = DelimitedSource(csv: "\(name),b\nx,y\n", mapping: ColumnMapping(parsing: "text=\(wanted)")!)
      #expect(try drafts(source).map(\.text) == ["x"])
    }
  }

  @Test func namesSecondByteOrderMark() throws {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    for format in [InputFormat.csv, .tsv, .json, .ndjson, .plist] {
      let bytes = mark + mark + Array("title,text\na,b\n".utf8)
      let error = failure(try InputSource(MemoryByteSource(bytes), format: format))
      #expect(error?.reason == "a second byte order mark", "\(format)")
      #expect(error?.location?.byteOffset == 3, "\(format)")
      #expect(error?.advice == "remove the first 3 bytes of the file: tail -c +4", "\(format)")
    }
    let wide = utf16("\u{FEFF}title,text\na,b\n", mark: true)
    let error = failure(DelimitedSource(MemoryByteSource(wide), dialect: .csv))
    #expect(error?.advice == "remove the first 2 bytes of the file: tail -c +3")
    #expect(try drafts(DelimitedSource(MemoryByteSource(mark + Array("text\na\n".utf8)), dialect: .csv)).count == 1)
    // In a text, it's a character.
    let texts = [
      try drafts(TextSource(MemoryByteSource(mark + mark))), try drafts(LinesSource(MemoryByteSource(mark + mark))),
    ]
    #expect(texts.allSatisfy { $0.map(\.text) == ["\u{FEFF}"] })
  }

  // MARK: Valid input

  @Test(arguments: ["\n", "\r\n"], [true, false])
  func rowsBecomeDocuments(lineEnd: String, endsWithLine: Bool) throws {
    let rows = ["key,id,txt,title", "k1,7,\"a, \"\"b\"\"\r\nc\",\"T\"", "\"k2\",,plain,"]
    let text = rows.joined(separator: lineEnd) + (endsWithLine ? lineEnd : "")
    let read = try drafts(DelimitedSource(csv: text, options: ReadingOptions(keepsIDs: true)))
    #expect(read.map(\.id) == [7, nil])
    #expect(read.map(\.keyText) == ["k1", "k2"])
    #expect(read.map(\.text) == ["a, \"b\"\r\nc", "plain"])
    #expect(read.map(\.title) == ["T", nil])
    #expect(read.map(\.record) == [1, 2])
    #expect(read.allSatisfy { $0.attributes == nil && !$0.isComplete })
  }

  @Test func distinguishesEmptyAndMissingTitle() throws {
    let read = try drafts(DelimitedSource(csv: "title,text\n\"\",a\n,b\n"))
    #expect(read.map(\.title) == ["", nil])
  }

  @Test func otherColumnsBecomeAttributesInCanonicalOrder() throws {
    var source = DelimitedSource(csv: "zeit,text,\"a \"\"b\",title\n\"1\n2\",t,\"x\"\"y\\\",T\n,u,,U\n")
    let read = try drafts(&source)
    #expect(read.map(\.attributes) == [#"{"a \"b":"x\"y\\","zeit":"1\n2"}"#, nil])
    #expect(source.report.attributeColumns == ["zeit", "a \"b"])
    let canonical = try Attributes(json: read[0].attributes!)
    #expect(canonical.description == read[0].attributes)
  }

  @Test func convertsUnkeptIDToAttribute() throws {
    func attributes(_ text: String, keepsIDs: Bool = false) throws -> [String?] {
      try drafts(DelimitedSource(csv: text, options: ReadingOptions(keepsIDs: keepsIDs))).map(\.attributes)
    }
    #expect(try attributes("id,text\nA-7,x\n") == [#"{"id":"A-7"}"#])
    #expect(try attributes("id,text\n7,x\n", keepsIDs: true) == [nil])
    #expect(try attributes("id,title,text,key\n7,,x,\n") == [nil])
    #expect(try attributes("id,title,text,key,id,id\n7,,x,,a,b\n") == [#"{"id":"a","id_2":"b"}"#])
    var source = DelimitedSource(csv: "Name,id,text,year\nn,1,t,2\n", mapping: ColumnMapping(parsing: "title=Name")!)
    _ = try drafts(&source)
    #expect(source.report.columns.map(\.use) == [.title, .attribute, .text, .attribute])
    var row = DelimitedSource(csv: "name,id\nn,1\n")
    _ = try drafts(&row)
    #expect(row.report.columns.map(\.use) == [.title, .value])
    var own = DelimitedSource(csv: "id,title,text,key\n")
    _ = try drafts(&own)
    #expect(own.report.columns.map(\.use) == [.dropped, .title, .text, .key])
    own = DelimitedSource(csv: "id,title,text,key,created,parent,parent,json\n")
    _ = try drafts(&own)
    #expect(
      own.report.columns.map(\.use) == [.dropped, .title, .text, .key, .created, .parent, .attribute, .attribute])
  }

  @Test func usesRowAsTextWithoutTextColumn() throws {
    var source = DelimitedSource(csv: "name,id,email\nAda,1,\"a\"\"@b\"\n")
    let read = try drafts(&source)
    #expect(read[0].text == #"{"name":"Ada","id":"1","email":"a\"@b"}"#)
    #expect(read[0].title == "Ada")
    #expect(read[0].id == 1)
    #expect(read[0].attributes == nil)
    #expect(read[0].isJSON)
    #expect(source.report.attributeColumns == [])
    #expect(source.report.values == 1)
  }

  @Test func mapsColumnsByName() throws {
    let mapping = ColumnMapping(parsing: "text=title,key=nr")!
    let read = try drafts(DelimitedSource(csv: "nr,title,id,text\nA1,hello,3,rest\n", mapping: mapping))
    #expect(read[0].text == "hello")
    #expect(read[0].title == nil)
    #expect(read[0].keyText == "A1")
    #expect(read[0].id == 3)
    #expect(read[0].attributes == #"{"id":"3","text":"rest"}"#)
  }

  @Test func mapsColumnsByNumberWithoutHeader() throws {
    let mapping = ColumnMapping(parsing: "id=1,text=3")!
    let kept = ReadingOptions(keepsIDs: true)
    let read = try drafts(DelimitedSource(csv: "5,x,y\n6,u,v\n", mapping: mapping, options: kept))
    #expect(read.map(\.id) == [5, 6])
    #expect(read.map(\.text) == ["y", "v"])
    #expect(read.map(\.attributes) == [#"{"2":"x"}"#, #"{"2":"u"}"#])
    let named = try drafts(DelimitedSource(csv: "5,x,y\n6,u,v\n", mapping: mapping, header: .yes))
    #expect(named.map(\.text) == ["v"])
  }

  @Test(arguments: ["", "text", "text=", "text=a,", "text=a,text=b", "body=a", "=a"])
  func rejectsInvalidMapping(text: String) {
    #expect(ColumnMapping(parsing: text) == nil)
  }

  @Test func numbersDuplicateColumnNames() throws {
    var source = DelimitedSource(csv: "text,,,note,note\na,1,2,3,4\n")
    let read = try drafts(&source)
    #expect(source.report.attributeColumns == ["", "_2", "note", "note_2"])
    #expect(read[0].attributes == #"{"":"1","_2":"2","note":"3","note_2":"4"}"#)
  }

  @Test func skipsExistingColumnNames() throws {
    var source = DelimitedSource(csv: "text,note,note_2,note,note,note_2\na,1,2,3,4,5\n")
    _ = try drafts(&source)
    #expect(source.report.attributeColumns == ["note", "note_2", "note_3", "note_4", "note_2_2"])
  }

  /// The search for an unused number doesn't restart for each column.
  @Test func numbersManyDuplicateColumns() throws {
    let count = 20_000
    let row = String(repeating: ",", count: count)
    var source = DelimitedSource(csv: "text\(row)\na\(row)\n")
    _ = try drafts(&source)
    #expect(source.report.attributeColumns.count == count && source.report.attributeColumns.last == "_\(count)")
  }

  @Test func readsQuotedTabSeparatedText() throws {
    let text = "id\ttitle\ttext\n1\tsay \"hi\"\t\"two\nlines\tand \"\"quotes\"\"\"\n2\ta,b\tc\n"
    let read = try drafts(DelimitedSource(MemoryByteSource(text), dialect: .tsv))
    #expect(read.map(\.title) == ["say \"hi\"", "a,b"])
    #expect(read.map(\.text) == ["two\nlines\tand \"quotes\"", "c"])
  }

  @Test func loneCarriageReturnIsData() throws {
    #expect(try drafts(DelimitedSource(csv: "text\na\rb\n\"c\r\"\n")).map(\.text) == ["a\rb", "c\r"])
  }

  @Test(arguments: [Document.EmptyText.store, .skip, .fail])
  func appliesEmptyTextMode(mode: Document.EmptyText) throws {
    var source = DelimitedSource(csv: "title,text\na,\nb,x\n", options: ReadingOptions(emptyText: mode))
    switch mode {
    case .store:
      #expect(try drafts(&source).map(\.text) == ["", "x"])
    case .skip:
      #expect(try drafts(&source).map(\.text) == ["x"])
      #expect(source.report.skippedEmpty == 1)
    case .fail:
      #expect(failure(source)?.code == .emptyText)
      #expect(failure(source)?.location?.record == 1)
    }
  }

  @Test(arguments: ["", "id,text\n", "\u{FEFF}"])
  func readsInputWithoutRows(text: String) throws {
    #expect(try drafts(DelimitedSource(csv: text)).isEmpty)
  }

  @Test func preservesNULCharacters() throws {
    let options = ReadingOptions(encoding: .fixed(.utf8))
    #expect(try drafts(DelimitedSource(csv: "text\na\0b\n", options: options)).map(\.text) == ["a\0b"])
  }

  @Test(.slow) func limitsBatchSize() throws {
    let small = String(repeating: "1,x\n", count: 200_000)
    let text = "id,text\n" + small + "2,\(String(repeating: "y", count: 3_000_000))\n" + small
    var source = DelimitedSource(csv: text)
    var batch = DraftBatch()
    var large = 0
    while try source.read(into: &batch) {
      if batch.bytes.count > DecodedReader.usualCapacity { large += 1 }
      #expect(batch.drafts.count <= 1024)
    }
    #expect(large == 1)
    #expect(source.report.documents == 400_001)
  }

  @Test func readsSeveralBatches() throws {
    let row = String(repeating: "wörter ", count: 20)
    let text = "id,text\n" + (1...4000).map { "\($0),\"\(row)\($0)\"\n" }.joined()
    let read = try drafts(DelimitedSource(MemoryByteSource(Array(text.utf8), chunk: 70_001), dialect: .csv))
    #expect(read.count == 4000)
    #expect(read.indices.allSatisfy { read[$0].id == Int64($0 + 1) && read[$0].text == "\(row)\($0 + 1)" })
  }
}
