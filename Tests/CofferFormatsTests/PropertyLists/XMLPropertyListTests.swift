import CofferDocuments
import CofferTestSupport
import CofferText
import Testing

@testable import CofferFormats

@Suite struct XMLPropertyListTests {
  private func source(_ text: String, options: ReadingOptions = ReadingOptions()) -> PropertyListSource {
    PropertyListSource(MemoryByteSource(text), options: options)
  }

  /// Returns the JSON of a value.
  private func json(_ value: String) throws -> [String] {
    try drafts(source("<plist version=\"1.0\">\(value)</plist>")).map(\.text)
  }

  private func fails(_ value: String) -> FormatError? {
    failure(source("<plist>\(value)</plist>"))
  }

  // MARK: Malformed input

  @Test(arguments: [
    "", " ", "plist", "<", "<plist", "<plist>", "<plist/>", "<plist></plist>", "<plist><true/>", "<plist><true/></plis",
    "<plist><true/></plist", "<plist><true/><true/></plist>", "<plist><true/></plist>x",
    "<plist><true/></plist><plist/>",
    "<dict></dict>", "x<plist><true/></plist>", "</plist>", "<plist><true/></dict>", "<plist>x<true/></plist>",
    "<plist a><true/></plist>", "<plist a=b><true/></plist>", "<plist a=\"<\"><true/></plist>",
    "<plist a=\"&b;\"><true/></plist>", "<plist a=\"1\"b=\"2\"><true/></plist>", "<?xml version=\"1.0\"?",
    "<!-- a -- b --><plist><true/></plist>", "<!-- a <plist><true/></plist>", "<? x ?><plist><true/></plist>",
    "<plist><true/></plist><?xml version=\"1.0\"?>", "<?x <plist><true/></plist>", "(a, b)", "{ a = b; }",
  ])
  func rejectsInvalidPropertyLists(text: String) {
    #expect(failure(source(text))?.code == .malformed)
  }

  @Test(arguments: [
    "<!DOCTYPE plist [<!ENTITY a \"b\">]>", "<!DOCTYPE plist []>", "<!DOCTYPE plist SYSTEM \"file:///etc/passwd\">",
    "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://x\" [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>",
    "<!DOCTYPE plist PUBLIC \"-//Other//DTD PLIST 1.0//EN\" \"http://x\">", "<!DOCTYPE html>", "<!DOCTYPE plist",
    "<!ENTITY a \"b\">", "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\">",
  ])
  func rejectsOtherDocumentTypes(type: String) {
    #expect(failure(source("\(type)<plist><true/></plist>"))?.code == .malformed)
  }

  @Test(arguments: [
    "<string>&a;</string>", "<string>&a</string>", "<string>&</string>", "<string>&amp</string>",
    "<string>&#;</string>",
    "<string>&#x;</string>", "<string>&#0;</string>", "<string>&#xD800;</string>", "<string>&#x110000;</string>",
    "<string>&#99999999999999999999;</string>", "<string>&#1;</string>", "<string>\u{1}</string>",
    "<string>]]></string>",
    "<string>\u{FFFF}</string>", "<string><![CDATA[a</string>", "<string><b>a</b></string>", "<string>a</strin>",
    "<string>a", "<string>a</string", "<String>a</String>", "<b/>", "<key>a</key>", "<integer></integer>", "<integer/>",
    "<integer>1.0</integer>", "<integer>a</integer>", "<integer>0x</integer>", "<integer>0xg</integer>",
    "<integer>--1</integer>", "<integer>18446744073709551616</integer>", "<integer>-9223372036854775809</integer>",
    "<integer>1 2</integer>", "<real></real>", "<real>x</real>", "<real>1e999</real>", "<real>0x1p3</real>",
    "<real>1,5</real>", "<date></date>", "<date>2004-10-26</date>", "<date>2004-02-30T00:00:00Z</date>",
    "<date>2004-10-26T10:33:33</date>", "<date>2004-10-26T10:33:33.5Z</date>",
    "<data>A</data>", "<data>AA=A</data>", "<data>!!!!</data>", "<true>x</true>", "<dict><true/></dict>",
    "<dict><key>a</key></dict>", "<dict><key>a</key><key>b</key></dict>", "<dict><key>a</key><true/>",
    "<dict><key>a</key><true/><key>a</key><true/></dict>", "<dict><key>a</key><true/></array>", "<array><true/></dict>",
    "<array>x</array>", "<array><key>a</key></array>", "<dict>a</dict>",
  ])
  func rejectsInvalidValues(value: String) {
    #expect(fails(value)?.code == .malformed)
  }

  @Test func reportsExactErrorLocation() {
    let text = "<?xml version=\"1.0\"?>\n<plist>\n<array>\n <string>ä</string><integer>x</integer>\n</array></plist>"
    let error = failure(source(text))
    #expect(error?.location == InputLocation(record: 1, line: 4, column: 20, byteOffset: 58))
    let bytes = utf16(text, mark: true)
    let wide = failure(PropertyListSource(MemoryByteSource(bytes, chunk: 7)))
    #expect(wide?.location == InputLocation(record: 1, line: 4, column: 20, byteOffset: 116))
  }

  @Test(.slow) func rejectsDeeplyNestedElements() {
    let ends = String(repeating: "</array>", count: 100_000)
    #expect(fails(String(repeating: "<array>", count: 100_000) + ends)?.reason.contains("512") == true)
    let dictionaries = String(repeating: "<dict><key>a</key>", count: 100_000)
    #expect(fails(dictionaries + String(repeating: "</dict>", count: 100_000))?.reason.contains("512") == true)
    #expect(fails(dictionaries)?.code == .malformed)
  }

  @Test func rejectsEveryTruncation() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "x">
      <plist version="1.0"><dict><key>a</key><array><string>b&amp;<![CDATA[<c>]]></string><!-- d --></array>
      <key>e</key><data>AAEC</data></dict></plist>
      """
    #expect(try drafts(source(text)).map(\.text) == ["{\"a\":[\"b&<c>\"],\"e\":{\"$base64\":\"AAEC\"}}"])
    for count in 0..<text.utf8.count {
      let cut = PropertyListSource(MemoryByteSource(text.utf8.prefix(count)))
      #expect(failure(cut)?.code == .malformed, "\(count) bytes")
    }
  }

  @Test func rejectsOversizedInput() throws {
    let text = "<plist><array>\(String(repeating: "<true/>", count: 100_000))</array></plist>"
    #expect(failure(source(text, options: ReadingOptions(maximumRecordByteCount: 500_000)))?.code == .tooLarge)
    let rejections = Rejections()
    let options = rejections.options { $0.maximumRecordByteCount = 500_000 }
    #expect(try drafts(source(text, options: options)).isEmpty)
    #expect(rejections.all.map(\.error.code) == [.tooLarge])
  }

  // MARK: Skipped records

  @Test func skipsOnlyInvalidRows() throws {
    let rejections = Rejections()
    let text = """
      <plist><array><dict><key>a</key><integer>1</integer></dict>
      <dict><key>a</key><integer>1</integer><key>a</key><integer>2</integer></dict>
      <dict><key>text</key><string>b</string><key>key</key><string></string></dict>
      <dict><key>a</key><integer>4</integer></dict></array></plist>
      """
    #expect(try drafts(source(text, options: rejections.options())).map(\.text) == ["{\"a\":1}", "{\"a\":4}"])
    #expect(rejections.all.map(\.error.location?.line) == [2, 3])
    #expect(rejections.all.map(\.error.location?.record) == [2, 3])
  }

  @Test(arguments: [
    "<integer>x</integer>", "<date>today</date>", "<data>!</data>", "<real/>", "<true>x</true>", "<b/>",
    "<b c='d'><string/>&amp;<![CDATA[<]]><!-- </dict> --></b>", "", "text", "<key>b</key>", "<true/><true/>",
    "<array><key>b</key></array>",
    "<array>" + String(repeating: "<dict><key>b</key>", count: 1000)
      + String(repeating: "</dict>", count: 1000) + "</array>",
  ])
  func skipsOnlyRecordWithInvalidValue(value: String) throws {
    let rejections = Rejections()
    let rows = ["<true/>", value, "<false/>"].map { "<dict><key>a</key>\($0)</dict>" }
    let read = try drafts(source("<plist><array>\(rows.joined())</array></plist>", options: rejections.options()))
    #expect(read.map(\.text) == ["{\"a\":true}", "{\"a\":false}"])
    #expect(rejections.all.map(\.record) == [2])
    #expect(rejections.all.allSatisfy { $0.error.location.map { (46...).contains($0.byteOffset ?? 0) } ?? false })
  }

  @Test func invalidMarkupEndsReading() throws {
    let rejections = Rejections()
    let text = "<plist><array><dict><key>a</key><true/></dict><dict><key>a</key>&b;</dict><dict/></array></plist>"
    #expect(try drafts(source(text, options: rejections.options())).map(\.text) == ["{\"a\":true}"])
    #expect(rejections.all.count == 1)
  }

  @Test func keepsCompleteElementsOfTruncatedArray() throws {
    let rejections = Rejections()
    let text = "<plist><array><dict><key>a</key><true/></dict><dict><key>b</key>"
    #expect(try drafts(source(text, options: rejections.options())).map(\.text) == ["{\"a\":true}"])
    #expect(rejections.all.count == 1)
  }

  @Test func rejectsOnlyRowWithInvalidBytes() throws {
    let rejections = Rejections()
    let rows = ["a", "?", "b"].map { "<dict><key>a</key><string>\($0)</string></dict>" }.joined()
    var bytes = Array("<plist><array>\(rows)</array></plist>".utf8)
    let bad = try #require(bytes.firstIndex(of: UInt8(ascii: "?")))
    bytes[bad] = 0xFF
    let options = rejections.options { $0.encoding = .fixed(.utf8) }
    let read = try drafts(PropertyListSource(MemoryByteSource(bytes), options: options))
    #expect(read.map(\.text) == ["{\"a\":\"a\"}", "{\"a\":\"b\"}"])
    #expect(rejections.all.map(\.error.code) == [.undecodable])
    #expect(rejections.all.first?.error.location?.byteOffset == bad)
  }

  // MARK: Values

  @Test(
    arguments: [
      ("<string/>", "\"\""), ("<string>a&lt;&gt;&amp;&quot;&apos;b</string>", "\"a<>&\\\"'b\""),
      ("<string>&#228;&#xE4;&#x1F600;&#13;</string>", "\"ää😀\\r\""),
      ("<string>a\r\nb\rc\n</string>", "\"a\\nb\\nc\\n\""),
      ("<string>a<!-- b --><?c d?><![CDATA[<&e]]>f</string>", "\"a<&ef\""), ("<string> a </string>", "\" a \""),
      ("<string><![CDATA[a\r\nb]]]]><![CDATA[>]]></string>", "\"a\\nb]]>\""),
      ("<string>\u{EFFF}</string>", "\"\u{EFFF}\""),
      ("<integer>-0</integer>", "0"), ("<integer> 42\n</integer>", "42"), ("<integer>+7</integer>", "7"),
      ("<integer>0xFF</integer>", "255"), ("<integer>-0x10</integer>", "-16"),
      ("<integer>18446744073709551615</integer>", "18446744073709551615"),
      ("<integer>-9223372036854775808</integer>", "-9223372036854775808"), ("<real>1</real>", "1.0"),
      ("<real>-0</real>", "-0.0"), ("<real>0.1</real>", "0.1"), ("<real>1e100</real>", "1e+100"),
      ("<real>nan</real>", "{\"$real\":\"nan\"}"), ("<real>Infinity</real>", "{\"$real\":\"inf\"}"),
      ("<real>-inf</real>", "{\"$real\":\"-inf\"}"),
      ("<date>2004-10-26T10:33:33Z</date>", "\"2004-10-26T10:33:33.000Z\""),
      ("<date>0001-01-01T00:00:00Z</date>", "\"0001-01-01T00:00:00.000Z\""), ("<data/>", "{\"$base64\":\"\"}"),
      ("<data>\n\tAA EC\n\tAw==\n</data>", "{\"$base64\":\"AAECAw==\"}"), ("<true/>", "true"),
      ("<false></false>", "false"),
      ("<array/>", nil), ("<array><dict/><true/></array>", "[{},true]"), ("<dict/>", "{}"), ("<dict></dict>", "{}"),
      ("<dict><key>b</key><array/><key>a</key><dict/></dict>", "{\"b\":[],\"a\":{}}"),
      ("<dict><key>CF$UID</key><integer>3</integer></dict>", "{\"CF$UID\":3}"), ("<!-- a -->\n<true  />", "true"),
      ("<array><array><integer>1</integer></array></array>", "[[1]]"),
    ] as [(String, String?)])
  func convertsValuesToJSON(value: String, expected: String?) throws {
    #expect(try json(value) == (expected.map { [$0] } ?? []))
  }

  @Test(arguments: [
    "", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", "<?xml version='1.0' standalone='yes'?>", "\n<!-- c --><?pi?>",
    "<!DOCTYPE plist>", "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://x/y\" >",
    "<!DOCTYPE plist PUBLIC '-//Apple Computer//DTD PLIST 1.0//EN' 'x'>",
    "<!DOCTYPE plist SYSTEM \"file://localhost/System/Library/DTDs/PropertyList.dtd\">",
  ])
  func skipsDeclarationsAndComments(head: String) throws {
    #expect(
      try drafts(source("\(head)<plist version=\"1.0\" x='&lt;'>\n<true/></plist>\n<!-- d -->\n")).map(\.text) == [
        "true"
      ])
  }

  // MARK: Encodings

  @Test func usesDeclaredEncoding() throws {
    let head = "<?xml version=\"1.0\" encoding=\"windows-1251\"?><plist><string>"
    let bytes = Array(head.utf8) + [0xCF] + Array("</string></plist>".utf8)
    let source = PropertyListSource(MemoryByteSource(bytes))
    #expect(try drafts(source).map(\.text) == ["\"П\""])
    let latin = PropertyListSource(MemoryByteSource(bytes), options: ReadingOptions(encoding: .fixed(.windows1252)))
    #expect(try drafts(latin).map(\.text) == ["\"Ï\""])
  }

  @Test(arguments: ["UTF-16", "utf-16le", "ebcdic-cp-us", ""])
  func rejectsUnsupportedEncoding(name: String) {
    #expect(failure(source("<?xml version='1.0' encoding='\(name)'?><plist><true/></plist>"))?.code == .undecodable)
  }

  @Test(arguments: [true, false], [true, false])
  func readsUTF16WithAndWithoutMark(mark: Bool, isBigEndian: Bool) throws {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><plist><string>ä😀</string></plist>"
    var bytes = utf16(text, mark: mark)
    if isBigEndian {
      for index in stride(from: 0, to: bytes.count, by: 2) { bytes.swapAt(index, index + 1) }
    }
    for chunk in [1, 3, 100] {
      let source = PropertyListSource(MemoryByteSource(bytes, chunk: chunk))
      #expect(try drafts(source).map(\.text) == ["\"ä😀\""])
    }
  }
}
