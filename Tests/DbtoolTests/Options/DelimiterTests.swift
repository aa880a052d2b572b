import Foundation
import Testing

/// Tests tables with delimiters other than commas.
@Suite struct DelimiterTests {
  private struct Report: Decodable {
    struct Input: Decodable, Equatable {
      let format: String
      let delimiter: String?
      let documents: Int
    }
    let inputs: [Input]
  }

  private let semicolons = "title;text\nA;\"x;\ny\"\nB;1,5\n"

  @Test func detectsAndReportsSemicolons() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", semicolons)
    let told = try sandbox.succeed("import", "s.coffer", "in.csv")
    #expect(told.lines.first == "in.csv: 2 documents (csv separated by ;, utf-8)")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "x;\ny1,5")
    let report = try sandbox.succeed("import", "s.coffer", "in.csv", "--json").json(Report.self)
    #expect(report.inputs == [.init(format: "csv", delimiter: ";", documents: 2)])
  }

  @Test func warnsOfUnsplitRows() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("ragged.csv", "a;b\n1;2;3\n")
    let told = try sandbox.succeed("import", "s.coffer", "ragged.csv")
    #expect(told.diagnostics.hasSuffix("; one field in each row (--map delimiter=CHAR says what separates fields)\n"))
    try sandbox.write("one.csv", "text\n1;2;3\n")
    #expect(try sandbox.succeed("import", "s.coffer", "one.csv").diagnostics.isEmpty)
  }

  @Test func honorsSeparatorLine() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "sep=|\r\ntitle|text\r\nA;B|x,y\r\n")
    let told = try sandbox.succeed("import", "s.coffer", "in.csv")
    #expect(told.lines.first == "in.csv: 1 document (csv separated by |, utf-8)")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "x,y")
  }

  @Test func acceptsDelimiterOption() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.txt", "title:text\nA:x\n")
    let told = try sandbox.succeed("import", "s.coffer", "in.txt", "--map", "delimiter=:")
    #expect(told.lines.first == "in.txt: 1 document (csv separated by :, utf-8)")
    try sandbox.write("tabs.csv", "title\ttext\nB\ty\n")
    try sandbox.succeed("import", "s.coffer", "tabs.csv", "--map", "delimiter=tab")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "xy")
    try sandbox.write("plain.csv", "a,b;c\nd,e;f\n")
    try sandbox.succeed("import", "s.coffer", "plain.csv", "--map", "header=no,delimiter=;,title=1,text=2")
    #expect(try sandbox.succeed("show", "s.coffer", "a,b", "d,e").text == "cf")
    try sandbox.succeed("import", "s.coffer", "plain.csv", "--map", "delimiter=,,header=no,text=1")
    #expect(try sandbox.succeed("export", "s.coffer", "5-6").text.contains(#""attributes":{"2":"b;c"}"#))
    try sandbox.write("profile.map", "# the tables of the shop\nheader=no\ndelimiter=;\ntitle=2,text=1\n")
    try sandbox.succeed("import", "s.coffer", "plain.csv", "--map", "@profile.map")
    #expect(try sandbox.succeed("ls", "s.coffer", "-r", "-n", "1").text.hasPrefix("8\tf\t"))
    let before = try sandbox.read("s.coffer")
    for map in ["@none.map", "header=maybe", "delimiter=", "title=1,title=2", "x=1", ""] {
      #expect(try sandbox.run("import", "s.coffer", "plain.csv", "--map", map).status == 64, "\(map)")
    }
    for wrong in ["::", "\"", "é", ""] {
      #expect(try sandbox.run("import", "s.coffer", "in.txt", "--map", "delimiter=\(wrong)").status == 64)
    }
    #expect(try sandbox.run("import", "s.coffer", "in.txt", "--map", "delimiter=:", "--from", "text").status == 64)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func readsSpreadsheetTextWithLineBreaks() throws {
    let sandbox = try Sandbox.withStore()
    let text = "title\ttext\r\nA\t\"x\r\ny\"\r\n"
    try sandbox.write("Book1.txt", bytes: [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
    let table = try sandbox.succeed("import", "s.coffer", "Book1.txt")
    #expect(table.lines.first == "Book1.txt: 1 document (tsv, utf-16le)")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "x\r\ny")
    try sandbox.succeed("import", "s.coffer", "Book1.txt", "--from", "text")
    #expect(try sandbox.succeed("show", "s.coffer", "2").text == text)
  }

  /// Reads a single tabbed line and indented lines as texts, because a table would lose the first line.
  @Test(arguments: ["Tel.:\t030 123456\n", "\tfoo\n\tbar\n", "a\tb"])
  func readsTabbedTextAsText(_ text: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("x.txt", text)
    try sandbox.succeed("import", "s.coffer", "x.txt")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == text)
  }

  /// Numbers and dates contain these characters, too.
  @Test(arguments: [":", "-", ".", "T", "Z", "0", "1", "2"])
  func readsBackEachDelimiter(delimiter: String) throws {
    let sandbox = try Sandbox.withStore()
    for text in ["one", "2.5:T-Z"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    try sandbox.succeed("export", "s.coffer", "--to", "csv", "--delimiter", delimiter, "-o", "out.csv")
    try sandbox.succeed(
      "import", "new.coffer", "out.csv", "--create", "--keep-ids", "--map", "delimiter=\(delimiter)")
    #expect(try sandbox.succeed("export", "new.coffer").text == sandbox.succeed("export", "s.coffer").text)
  }
}
