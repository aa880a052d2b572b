import Testing

@testable import CofferFormats

/// Files that are no text, by their first bytes.
@Suite struct ForeignContentTests {
  /// Local headers of ZIP entries, each with a few bytes of content.
  private func zip(_ names: [String]) -> [UInt8] {
    var bytes: [UInt8] = []
    for name in names {
      bytes += [0x50, 0x4B, 3, 4, 20, 0, 8, 0, 0, 0]
      bytes += [UInt8](repeating: 0, count: 16)
      bytes += [UInt8(name.utf8.count), 0, 0, 0]
      bytes += name.utf8
      bytes += "content".utf8
    }
    return bytes
  }

  @Test(arguments: [
    ["[Content_Types].xml"], ["_rels/.rels", "docProps/app.xml"], ["docProps/app.xml"], ["xl/worksheets/sheet1.xml"],
    ["customXml/item1.xml", "theme.xml", "xl/workbook.xml"], ["word/document.xml"], ["ppt/presentation.xml"],
    ["mimetype-of-another", "META-INF/manifest.xml"],
  ])
  func recognizesOfficeDocumentFromAnyEntry(names: [String]) {
    for order in [names, names.reversed()] {
      let found = ForeignContent(head: Array(zip(order).prefix(ForeignContent.headCount)))
      #expect(found?.name == "an office document, such as a spreadsheet (.xlsx)")
      #expect(found?.advice == "save it as CSV or as Unicode Text in the program that made it")
    }
  }

  @Test(arguments: [[], ["a.txt"], ["texts/xl.txt", "b/_rels/.rels"]])
  func recognizesOtherArchives(names: [String]) {
    #expect(ForeignContent(head: zip(names + ["z"]))?.name == "a ZIP archive")
  }

  @Test func acceptsCutHeaders() {
    let whole = zip(["_rels/.rels", "xl/workbook.xml"])
    for count in 0..<whole.count { _ = ForeignContent(head: Array(whole.prefix(count))) }
  }
}
