import CofferDocuments
import Testing

@testable import CofferFormats

/// Records without a text, which are values in every format.
@Suite struct ValueTests {
  private static let list = """
    <plist version="1.0"><array><dict><key>name</key><string>N</string><key>note</key><string>a "q"</string></dict>\
    </array></plist>
    """

  private func sources(_ mapping: String?) throws -> [(InputFormat, InputSource)] {
    let directory = try TemporaryDirectory()
    let database = try directory.database(
      "CREATE TABLE item(name, note); INSERT INTO item VALUES('N', 'a \"q\"')")
    let inputs: [(InputFormat, [UInt8])] = [
      (.csv, Array("name,note\nN,\"a \"\"q\"\"\"\n".utf8)), (.tsv, Array("name\tnote\nN\t\"a \"\"q\"\"\"\n".utf8)),
      (.ndjson, Array(#"{"name":"N","note":"a \"q\""}"#.utf8)),
      (.json, Array(#"[{"name":"N","note":"a \"q\""}]"#.utf8)),
      (.plist, Array(Self.list.utf8)), (.sqlite, try directory.bytes(of: "source.db")),
    ]
    _ = database
    return try inputs.map { format, bytes in
      let source = try InputSource(
        MemoryByteSource(bytes), format: format, table: format == .sqlite ? "item" : nil,
        mapping: mapping.map { ColumnMapping(parsing: $0)! } ?? ColumnMapping())
      return (format, source)
    }
  }

  @Test(arguments: [nil, "title=name", "key=note"])
  func recordsWithoutTextAreValues(mapping: String?) throws {
    for (format, source) in try sources(mapping) {
      var source = source
      let read = try drafts(&source)
      #expect(read.map(\.text) == [#"{"name":"N","note":"a \"q\""}"#], "\(format)")
      #expect(read.map(\.isJSON) == [true], "\(format)")
      #expect(read.map(\.title) == ["N"], "\(format)")
      #expect(read.map(\.keyText) == [mapping == "key=note" ? "a \"q\"" : nil], "\(format)")
      #expect(read.map(\.attributes) == [nil], "\(format)")
      #expect(source.report.values == 1, "\(format)")
      #expect(source.report.columns.map(\.name).sorted() == ["name", "note"], "\(format)")
    }
  }

  @Test func recordsWithMappedTextAreDocuments() throws {
    for (format, source) in try sources("text=note") {
      var source = source
      let read = try drafts(&source)
      #expect(read.map(\.text) == ["a \"q\""], "\(format)")
      #expect(read.map(\.isJSON) == [false], "\(format)")
      #expect(read.map(\.attributes) == [#"{"name":"N"}"#], "\(format)")
      #expect(source.report.values == 0, "\(format)")
    }
  }

  @Test func namesColumnWithUnusableValue() {
    let options = ReadingOptions(keepsIDs: true)
    let error = failure(
      DelimitedSource(csv: "nr,text\nx,a\n", mapping: ColumnMapping(parsing: "id=nr")!, options: options))
    #expect(error?.reason.hasPrefix("column nr: ") == true)
    let date = failure(DelimitedSource(csv: "made,text\nx,a\n", mapping: ColumnMapping(parsing: "created=made")!))
    #expect(date?.reason.hasPrefix("column made: ") == true)
  }
}
