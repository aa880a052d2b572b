/// A well-known kind of file that isn't text, detected by its first bytes.
package struct ForeignContent: Sendable {
  /// The number of bytes to examine.
  package static let headCount = 4096

  /// The name with its article, such as `a PNG image`.
  package let name: String
  /// The advice to users who want to import the content.
  package let advice: String

  /// - Parameter head: The file's first ``headCount`` bytes, or the entire file if it's shorter.
  /// - Returns: `nil` for other content.
  package init?(head: [UInt8]) {
    guard let (kind, _) = Self.kinds.first(where: { head.starts(with: $0.1) }) else { return nil }
    switch kind {
    case .image(let name):
      self.name = "\(name) image"
      advice = "a document is text; import --on-error skip leaves such files of a folder out"
    case .compressed(let name, let command):
      self.name = "\(name) file"
      advice = "decompress it first: \(command)"
    case .pdf:
      name = "a PDF"
      advice = "extract its text first, with pdftotext for example"
    case .office:
      name = "an office document, such as a spreadsheet (.xls)"
      advice = Self.saving
    case .zip:
      let names = Self.entryNames(head)
      if Self.holds("opendocument.spreadsheet", head) {
        name = "a spreadsheet (.ods)"
        advice = Self.saving
      } else if names.contains(where: Self.isOfOffice) || Self.holds("opendocument", head) {
        name = "an office document, such as a spreadsheet (.xlsx)"
        advice = Self.saving
      } else {
        name = "a ZIP archive"
        advice = "unpack it first: unzip"
      }
    }
  }

  /// Returns the names of the entries whose headers are in the first bytes of a ZIP archive. Entries can have any
  /// order.
  private static func entryNames(_ head: [UInt8]) -> [String] {
    head.indices.compactMap { start in
      guard head[start...].starts(with: [0x50, 0x4B, 0x03, 0x04]), start + 30 <= head.count else { return nil }
      let count = Int(head[start + 26]) | Int(head[start + 27]) << 8
      return String(decoding: head[(start + 30)...].prefix(count), as: UTF8.self)
    }
  }

  /// Returns whether all office documents have this entry, or the entry is in the folders of texts, sheets and slides.
  private static func isOfOffice(_ name: String) -> Bool {
    ["[Content_Types].xml", "_rels/.rels", "META-INF/manifest.xml"].contains(name)
      || ["xl/", "word/", "ppt/", "docProps/", "Index/"].contains { name.hasPrefix($0) }
  }

  private enum Kind {
    case image(String)
    case compressed(String, command: String)
    case pdf, office, zip
  }

  private static let saving = "save it as CSV or as Unicode Text in the program that made it"

  private static let kinds: [(Kind, [UInt8])] = [
    (.image("a PNG"), [0x89, 0x50, 0x4E, 0x47]), (.image("a JPEG"), [0xFF, 0xD8, 0xFF]),
    (.image("a GIF"), Array("GIF8".utf8)), (.pdf, Array("%PDF-".utf8)), (.zip, [0x50, 0x4B, 0x03, 0x04]),
    (.office, [0xD0, 0xCF, 0x11, 0xE0]), (.compressed("a gzip", command: "gunzip"), [0x1F, 0x8B]),
    (.compressed("a bzip2", command: "bunzip2"), Array("BZh".utf8)),
    (.compressed("an xz", command: "unxz"), [0xFD, 0x37, 0x7A, 0x58, 0x5A]),
    (.compressed("a zstd", command: "unzstd"), [0x28, 0xB5, 0x2F, 0xFD]),
  ]

  private static func holds(_ text: String, _ head: [UInt8]) -> Bool {
    head.indices.contains { head[$0...].starts(with: text.utf8) }
  }
}
