import CofferDocuments
import CofferSQLite
import CofferText
import Foundation
import Testing

@testable import CofferFormats

@Suite struct SinkTests {
  @Test func writesNDJSONMembersInOrder() throws {
    var sink = NDJSONSink(MemoryByteSink())
    let header = Samples.header(
      3, title: "T\"", key: "k", attributes: ["b": 1, "a": 2], parent: 1, created: 1_795_271_700_123,
      modified: -86_400_001, isJSON: true)
    try sink.writeAll([(header, "a\nb\u{1}é"), (Samples.header(4), "")], collection: "c")
    #expect(
      String(decoding: sink.sink.bytes, as: UTF8.self) == """
        {"collection":"c","id":3,"position":1,"title":"T\\"","text":"a\\nb\\u0001é","key":"k",\
        "created":"2026-11-21T14:35:00.123Z","modified":"1969-12-30T23:59:59.999Z","attributes":{"a":2,"b":1},\
        "parent":1,"json":true}
        {"collection":"c","id":4,"position":2,"text":"","created":"1970-01-01T00:00:00.000Z",\
        "modified":"1970-01-01T00:00:00.001Z"}

        """)
  }

  @Test func quotesCSVOnlyIfNecessary() throws {
    var columns = TableColumns()
    try columns.narrow(to: ["id", "title", "text", "key"])
    var sink = DelimitedSink(MemoryByteSink(), dialect: .csv, columns: columns)
    try sink.writeAll([
      (Samples.header(1, title: "a b", key: "k"), "x\ty"), (Samples.header(2, title: ""), "say \"hi\""),
      (Samples.header(3), "a,b"), (Samples.header(4), "a\r"), (Samples.header(5), "a\nb"),
    ])
    #expect(
      String(decoding: sink.sink.bytes, as: UTF8.self)
        == "id,title,text,key\n1,a b,x\ty,k\n2,\"\",\"say \"\"hi\"\"\",\n3,,\"a,b\",\n4,,\"a\r\",\n5,,\"a\nb\",\n")
  }

  @Test func tablesHoldDatesAndParents() throws {
    let documents = [
      (Samples.header(1, created: 1_795_271_700_123), "a"), (Samples.header(2, parent: 1, isJSON: true), "{}"),
    ]
    var columns = TableColumns()
    for (header, _) in documents { columns.insert(columnsOf: header) }
    var sink = DelimitedSink(
      MemoryByteSink(), dialect: DelimitedDialect(delimiter: UInt8(ascii: ";")), columns: columns)
    try sink.writeAll(documents)
    #expect(
      String(decoding: sink.sink.bytes, as: UTF8.self) == """
        id;title;text;key;created;modified;parent;json
        1;;a;;2026-11-21T14:35:00.123Z;1970-01-01T00:00:00.001Z;;
        2;;{};;1970-01-01T00:00:00.000Z;1970-01-01T00:00:00.001Z;1;true

        """)
  }

  /// Dates that no document has, which their writers clamp.
  @Test(arguments: [Int64.min, Int64.min + 1, Int64.max])
  func sinksAcceptExtremeDates(milliseconds: Int64) throws {
    let document = [(Samples.header(1, created: milliseconds, modified: milliseconds), "a")]
    let end = Timestamp(clampingMilliseconds: milliseconds).millisecondsSince1970
    var lines = NDJSONSink(MemoryByteSink())
    try lines.writeAll(document)
    var table = DelimitedSink(MemoryByteSink(), dialect: .csv)
    try table.writeAll(document)
    for read in [
      try drafts(NDJSONSource(MemoryByteSource(lines.sink.bytes))),
      try drafts(DelimitedSource(MemoryByteSource(table.sink.bytes), dialect: .csv)),
    ] {
      #expect(read.map(\.created) == [end] && read.map(\.modified) == [end])
    }
    let directory = try TemporaryDirectory()
    var files = TextDirectorySink(path: "\(directory.path)/out")
    try files.writeAll(document)
    var list = PropertyListSink(MemoryByteSink())
    try list.writeAll(document)
  }

  @Test func tableRejectsBinaryKeys() throws {
    var sink = DelimitedSink(MemoryByteSink(), dialect: .tsv)
    #expect(throws: FormatError(.unencodable, "")) {
      try sink.writeAll([(Samples.header(1, key: DocumentKey(bytes: [0xFF])), "a")])
    }
  }

  @Test func reportsFullDevice() throws {
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    var sink = NDJSONSink(FileByteSink(descriptor: full))
    let error = #expect(throws: FormatError.self) { try sink.writeAll([(Samples.header(1), "a")]) }
    #expect(error?.code == .unwritable)
    #expect(error?.systemError == ENOSPC)
  }

  @Test func preservesExistingFile() throws {
    let directory = try TemporaryDirectory()
    try directory.write("old".utf8, to: "a")
    #expect(throws: FormatError(.outputExists, "")) { try FileByteSink(creating: "\(directory.path)/a") }
    #expect(try directory.bytes(of: "a") == Array("old".utf8))
  }

  @Test func continuesAfterShortWrites() throws {
    let text = String(repeating: "0123456789", count: 100_000)
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let writer = ends[1]
    let thread = Thread {
      var output = EncodedOutput(FileByteSink(descriptor: writer))
      output.buffer += text.utf8
      try? output.finish()
      close(writer)
    }
    thread.start()
    #expect(try drafts(TextSource(FileByteSource(descriptor: ends[0]))).map(\.text) == [text])
    close(ends[0])
  }

  // MARK: Directories

  @Test func makesSafeFileNames() throws {
    let names = [
      nil, "", "...", ".hidden", "../x", "a/b\\c:d", "tab\tnew\nline\u{7F}\u{85}", "nul", "Com1.old", "x.txt ",
      "a\u{202E}b", "CON .x", "con.", "LPT¹", "conin$", "\u{FEFF}",
      String(repeating: "é", count: 300),
    ].map { FileNames.stem(title: $0, id: 9) }
    #expect(
      names == [
        "document-9", "document-9", "document-9", "hidden", "_x", "a_b_c_d", "tab_new_line__", "nul_", "Com1_.old",
        "x.txt",
        "a_b", "CON _.x", "con_", "LPT¹_", "conin$_", "_", String(repeating: "é", count: 90),
      ])
  }

  @Test func distinguishesEquivalentFileNames() {
    var names = FileNames()
    let titles = [
      "Plan", "plan", "PLAN", "plan-2", "e\u{301}", "\u{E9}", "Straße", "STRASSE", "index", "document-10", nil,
    ]
    let made = titles.enumerated().map { names.name(title: $1, id: Int64($0 + 1), ending: ".txt") }
    #expect(
      made == [
        "Plan.txt", "plan-2.txt", "PLAN-3.txt", "plan-2-4.txt", "e\u{301}.txt", "\u{E9}-6.txt", "Straße.txt",
        "STRASSE-8.txt", "index.txt", "document-10.txt", "document-11.txt",
      ])
    #expect(Set(made.map { $0.uppercased() }).count == made.count)
    #expect(made.allSatisfy { $0.utf8.count <= 255 })
  }

  @Test func numbersNamesThatStayTaken() {
    var names = FileNames()
    let made = [("document-5", 1), ("document-5-5", 2), (nil, 5)].map { names.name(title: $0, id: $1, ending: ".txt") }
    #expect(Set(made).count == 3, "\(made)")
    let attachments = (1...3).map { names.name(ofAttachment: "a.txt", number: $0) }
    #expect(attachments == ["a.txt", "a-2.txt", "a-3.txt"])
  }

  @Test func hostileTitlesRemainInDirectory() throws {
    let directory = try TemporaryDirectory()
    try directory.write("precious".utf8, to: "outside")
    let titles = [
      "../outside", "/etc/passwd", "..", ".", "a/../../outside", "~/x", "-rf", "\0", "\n", "CON", "index.ndjson",
      String(repeating: "😀", count: 500), String(repeating: "e\u{301}\u{302}", count: 500),
    ]
    var sink = TextDirectorySink(path: "\(directory.path)/out")
    try sink.writeAll(titles.enumerated().map { (Samples.header(Int64($0 + 1), title: $1), "\($0)") })
    #expect(try directory.names() == ["out", "outside"])
    #expect(try directory.bytes(of: "outside") == Array("precious".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/out").count == titles.count + 1)
    let read = try drafts(DirectorySource(path: "\(directory.path)/out"))
    #expect(read.map(\.title) == titles)
  }

  @Test func usesOnlySafeKeysAsPaths() {
    var names = FileNames(reserving: "index.ndjson")
    let keys = [
      "a/b.md", "a/b.md", "A/c", "a/c", "a/b.md/d", "a", "x", "../x", "/x", "x/", "x//y", "x/./y", "x/.y", "x/CON",
      "x/y ",
      "x/a:b", "x/index.ndjson", "x/\(String(repeating: "y", count: 181))", "x/\u{202E}y", "e\u{301}/1", "\u{E9}/2",
    ]
    let paths = keys.map { names.path(key: $0, title: "title") }
    #expect(paths.compactMap { $0 } == ["a/b.md", "a/c", "e\u{301}/1"])
    #expect(names.path(key: "readme.md", title: "readme.md") == "readme.md")
    #expect(names.path(key: "INDEX.ndjson", title: "INDEX.ndjson") == nil)
    #expect(names.name(title: "A", id: 9) == "A.txt" && names.name(title: "a.md", id: 9) == "a.md")
  }

  @Test func preservesTitleExtensions() {
    var names = FileNames()
    let titles = [
      "readme.md", "readme.md", "NOTES.TXT", "v1.2", "St.Petersburg", "a.", ".md", "x.tar.gz", "x.txt.txt", "e.g. this",
      "a.b c",
    ]
    #expect(
      titles.enumerated().map { names.name(title: $1, id: Int64($0)) } == [
        "readme.md", "readme-1.md", "NOTES.TXT", "v1.2.txt", "St.Petersburg.txt", "a.txt", "md.txt", "x.tar.gz",
        "x.txt.txt", "e.g. this.txt", "a.b c.txt",
      ])
  }

  @Test func writesEqualTitlesToSeparateFiles() throws {
    let directory = try TemporaryDirectory()
    var sink = TextDirectorySink(path: directory.path)
    try sink.writeAll([(Samples.header(1, title: "A"), "1"), (Samples.header(2, title: "A"), "2")])
    #expect(try directory.names() == ["A-2.txt", "A.txt", "index.ndjson"])
    #expect(try directory.bytes(of: "A.txt") == Array("1".utf8))
    #expect(
      String(decoding: try directory.bytes(of: "index.ndjson"), as: UTF8.self)
        == """
        {"file":"A.txt","collection":"notes","id":1,"title":"A","created":"1970-01-01T00:00:00.000Z",\
        "modified":"1970-01-01T00:00:00.001Z"}
        {"file":"A-2.txt","collection":"notes","id":2,"title":"A","created":"1970-01-01T00:00:00.000Z",\
        "modified":"1970-01-01T00:00:00.001Z"}

        """)
  }

  @Test func rejectsNonemptyDirectory() throws {
    let directory = try TemporaryDirectory()
    try directory.write("old".utf8, to: "A.txt")
    var sink = TextDirectorySink(path: directory.path)
    #expect(throws: FormatError(.outputExists, "")) { try sink.begin() }
    #expect(try directory.names() == ["A.txt"])
    var file = TextDirectorySink(path: "\(directory.path)/A.txt")
    #expect(throws: FormatError(.outputExists, "")) { try file.begin() }
  }

  @Test func separatesCollectionsByDirectory() throws {
    let directory = try TemporaryDirectory()
    var sink = TextDirectorySink(path: directory.path, separatesCollections: true)
    try sink.begin()
    try Array("x".utf8).withUnsafeBytes { text in
      for (number, name) in ["a/b", "a_b", "c"].enumerated() {
        let header = Samples.header(Int64(number + 1), title: "T", collection: UInt32(number + 1))
        try sink.write(OpenedDocument(header: header, utf8: text), inCollection: name)
      }
    }
    try sink.finish()
    #expect(try directory.names() == ["a_b", "a_b-2", "c"])
    #expect(try drafts(DirectorySource(path: "\(directory.path)/c")).map(\.id) == [3])
  }

  @Test func readsDirectoryInNameOrder() throws {
    let directory = try TemporaryDirectory()
    try directory.write("b".utf8, to: "b")
    try directory.write("a".utf8, to: "a.txt")
    try directory.write([], to: "c")
    try directory.write([0xFF], to: ".hidden")
    try FileManager.default.createDirectory(atPath: "\(directory.path)/d", withIntermediateDirectories: false)
    try directory.write("deep".utf8, to: "d/e.txt")
    #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
    var source = try DirectorySource(path: directory.path)
    let read = try drafts(&source)
    #expect(read.map(\.title) == ["a.txt", "b", "c", "e.txt"])
    #expect(read.map(\.text) == ["a", "b", "", "deep"])
    #expect(read.map(\.record) == [1, 2, 3, 4])
    #expect(read.allSatisfy { !$0.isComplete })
    #expect((source.report.passedOver.hidden, source.report.passedOver.special) == (1, 1))
  }

  /// Closing such a file would end the locks of the connection.
  @Test func passesOverFilesOfOpenDatabase() throws {
    let directory = try TemporaryDirectory()
    try directory.write("a".utf8, to: "a")
    let database = try Database("\(directory.path)/b", mode: .create)
    try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
    var source = try DirectorySource(path: directory.path)
    #expect(try drafts(&source).map(\.title) == ["a"])
    #expect(source.report.passedOver.databases == 3)
    #expect(throws: FormatError(.locked, "")) { try InputSource(opening: "\(directory.path)/b") }
    try database.close()
    #expect(try InputSource(opening: "\(directory.path)/b").format == .sqlite)
  }

  @Test func reportsPathOfUndecodableFile() throws {
    let directory = try TemporaryDirectory()
    try directory.write("a".utf8, to: "a")
    try directory.write([0x61, 0xFF], to: "b")
    let options = ReadingOptions(path: "in")
    let error = failure(try DirectorySource(path: directory.path, options: options))
    #expect(error?.path == "in/b")
    #expect(error?.location?.byteOffset == 1)
  }

  @Test(arguments: [
    "{\"file\":\"../secret\"}", "{\"file\":\"/etc/passwd\"}", "{\"file\":\"..\"}", "{\"file\":\"a\\u0000b\"}",
    "{\"id\":1}",
    "{\"file\":\"a/../../secret\"}", "{\"file\":\"a//b\"}", "{\"file\":\"./a\"}",
    "{\"file\":\"a\",\"id\":0}", "{\"file\":\"a\",\"text\":\"x\"}", "{\"file\":\"a\",\"created\":\"now\"}",
    "{\"file\":\"a\",\"more\":1}", "{\"file\":\"a\"} x", "not json",
  ])
  func readsForeignIndexAsText(line: String) throws {
    let directory = try TemporaryDirectory()
    try directory.write("x".utf8, to: "a")
    try directory.write((line + "\n").utf8, to: "index.ndjson")
    let read = try drafts(DirectorySource(path: directory.path))
    #expect(read.map(\.title) == ["a", "index.ndjson"])
  }

  /// The files would lose what the index says of them.
  @Test(arguments: ["{\"file\":\"b\",\"id\":2},", "{\"file\":\"b\",\"created\":\"now\"}", "not json"])
  func refusesIndexWithOneOtherLine(line: String) throws {
    let directory = try TemporaryDirectory()
    for name in ["a", "b"] { try directory.write(name.utf8, to: name) }
    try directory.write("{\"file\":\"a\",\"id\":1}\n\(line)\n".utf8, to: "index.ndjson")
    let error = #expect(throws: FormatError.self) {
      try DirectorySource(path: directory.path, options: ReadingOptions(path: "in"))
    }
    #expect(error?.code == .malformed && error?.path == "in/index.ndjson", "\(error as Any)")
    #expect(error?.location?.line == 2)
  }

  @Test func reportsMissingIndexedFile() throws {
    let directory = try TemporaryDirectory()
    try directory.write("{\"file\":\"gone\",\"id\":1}\n".utf8, to: "index.ndjson")
    #expect(failure(try DirectorySource(path: directory.path))?.code == .unreadable)
  }

  @Test func rejectsLinksInIndex() throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: "\(directory.path)/in", withIntermediateDirectories: false)
    try directory.write("secret".utf8, to: "secret")
    try FileManager.default.createSymbolicLink(
      atPath: "\(directory.path)/in/link", withDestinationPath: "..")
    try FileManager.default.createSymbolicLink(
      atPath: "\(directory.path)/in/file", withDestinationPath: "../secret")
    for file in ["link/secret", "file"] {
      try directory.write("{\"file\":\"\(file)\",\"id\":1}\n".utf8, to: "in/index.ndjson")
      var options = ReadingOptions()
      options.followsLinks = true
      #expect(failure(try DirectorySource(path: "\(directory.path)/in", options: options))?.code == .unreadable)
    }
  }

  @Test func readsUnindexedFilesLast() throws {
    let directory = try TemporaryDirectory()
    try directory.write("1".utf8, to: "z")
    try directory.write("2".utf8, to: "a")
    try directory.write("{\"file\":\"z\",\"id\":5,\"key\":{\"$base64\":\"/w==\"}}\n".utf8, to: "index.ndjson")
    let read = try drafts(DirectorySource(path: directory.path))
    #expect(read.map(\.id) == [5, nil])
    #expect(read.map(\.title) == [nil, "a"])
    #expect(read.map(\.key) == [[0xFF], nil])
    #expect(read.map(\.isComplete) == [true, false])
  }

  @Test func keysUnindexedFilesByPath() throws {
    let directory = try TemporaryDirectory()
    try directory.write("1".utf8, to: "a")
    try directory.write("2".utf8, to: "z")
    try directory.write("{\"file\":\"z\",\"id\":5}\n".utf8, to: "index.ndjson")
    var options = ReadingOptions(keepsIDs: true)
    options.givesPathKeys = true
    // A text that keeps its id has no need of a key.
    let read = try drafts(DirectorySource(path: directory.path, options: options))
    #expect(read.map(\.id) == [5, nil])
    #expect(read.map(\.key) == [nil, Array("a".utf8)])
    options.keepsIDs = false
    #expect(try drafts(DirectorySource(path: directory.path, options: options)).map(\.key).contains(Array("z".utf8)))
  }

  @Test func skipsUndecodableFiles() throws {
    let directory = try TemporaryDirectory()
    for number in 1...3 { try directory.write([0x61, number == 2 ? 0xFF : 0x62], to: "\(number)") }
    let rejections = Rejections()
    let options = rejections.options { $0.encoding = .fixed(.utf8) }
    var source = try DirectorySource(path: directory.path, options: options)
    #expect(try drafts(&source).map(\.title) == ["1", "3"])
    #expect(source.report.rejected == 1)
    #expect(rejections.all.first?.error.location?.byteOffset == 1)
  }
}
