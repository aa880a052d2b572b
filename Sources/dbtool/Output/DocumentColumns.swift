internal import Coffer

/// A header's facts as JSON and tables have them.
enum HeaderField: String, CaseIterable {
  case collection, id, position, title, size, key, created, modified, attributes

  /// What a list shows when nothing more is asked for.
  static let short: [HeaderField] = [.id, .title, .size, .modified]
  static let long: [HeaderField] = [.id, .position, .title, .size, .key, .created, .modified, .attributes]

  var column: TableWriter.Column {
    TableWriter.Column(name: rawValue, isNumber: self == .id || self == .size || self == .position)
  }

  func value(in header: DocumentHeader, of collection: String) -> JSONValue? {
    switch self {
    case .collection: .string(collection)
    case .id: .integer(header.id.rawValue)
    case .position: .integer(header.position)
    case .title: header.title.map { .string($0) }
    case .size: .integer(header.byteCount)
    case .key: header.key.map(Self.json(of:))
    case .created: .string(header.created.description)
    case .modified: .string(header.modified.description)
    case .attributes: header.attributes.isEmpty ? nil : .raw(header.attributes.canonicalJSON)
    }
  }

  /// What a verb shows of the documents that it changes, or would change.
  private static let brief: [HeaderField] = [.id, .title, .size]

  static func briefTable(as format: ListFormat?) -> TableWriter {
    TableWriter(columns: brief.map(\.column), format: format, output: StandardOutput())
  }

  static func briefCells(of header: DocumentHeader) -> [JSONValue?] {
    brief.map { $0.value(in: header, of: "") }
  }

  /// Prints a brief table of these documents alone.
  static func print(_ headers: [DocumentHeader], as format: ListFormat?) throws {
    var table = briefTable(as: format)
    for header in headers { try table.add(briefCells(of: header)) }
    try table.finish()
  }

  /// A key that is no text is shown as its bytes.
  private static func json(of key: ExternalKey) -> JSONValue {
    key.text.map { .string($0) } ?? .object([("$base64", .string(Base64.text(key.bytes)))])
  }
}

/// Bytes in letters (RFC 4648, section 4).
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".unicodeScalars)

  static func text(_ bytes: [UInt8]) -> String {
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for digit in 0..<4 {
        let isPadding = digit > group.count
        text.unicodeScalars.append(isPadding ? "=" : alphabet[Int(bits >> (18 - 6 * UInt32(digit)) & 63)])
      }
    }
    return text
  }
}
