internal import CofferDocuments

/// The parts of a document that members of an object hold, by their names.
///
/// Without a mapping, these are the members of our own records. A mapping names members for its parts; of the others,
/// id, title, text and key are found by their usual names then, as in a table.
struct MemberRoles: Sendable {
  /// Members of our own records, one bit for each.
  typealias Parts = UInt16

  private static let usual = [DocumentMember.id, .title, .text, .key]

  let mapping: ColumnMapping
  /// The names in the mapping, and the part of each.
  private let mapped: [(name: [UInt8], part: DocumentMember)]
  private let unmapped: Parts

  init(_ mapping: ColumnMapping) {
    self.mapping = mapping
    mapped = mapping.columns.map { (Array($1.name.utf8), DocumentMember($0)) }
      .sorted { $0.part.rawValue < $1.part.rawValue }
    unmapped = mapping.isEmpty ? ~0 : Self.usual.filter { mapping[$0] == nil }.reduce(0) { $0 | $1.bit }
  }

  var isMapped: Bool { !mapped.isEmpty }
  /// The parts that the mapping names.
  var mappedParts: Parts { mapped.reduce(0) { $0 | $1.part.bit } }

  /// The parts that the member of that name holds; 0 for none.
  @inline(__always)
  func parts(of name: JSONScanner.StringToken, _ scanner: JSONScanner) -> Parts {
    if isMapped {
      let parts = mapped.reduce(0 as Parts) { scanner.equals(name, $1.name) ? $0 | $1.part.bit : $0 }
      if parts != 0 { return parts }
    }
    return (scanner.documentMember(name)?.bit ?? 0) & unmapped
  }

  /// The name of the member that holds a part.
  func name(of part: DocumentMember) -> String {
    mapping[part]?.name ?? part.name.description
  }

  /// Names at which a mapping looks for the text, where it doesn't name one.
  var otherTexts: [StaticString] { isMapped && mapping[.text] == nil ? ["txt", "body"] : [] }
}

extension DocumentMember {
  var bit: MemberRoles.Parts { 1 << rawValue }

  init(_ part: ColumnMapping.Part) {
    switch part {
    case .id: self = .id
    case .title: self = .title
    case .text: self = .text
    case .key: self = .key
    case .created: self = .created
    case .modified: self = .modified
    case .collection: self = .collection
    }
  }
}

extension ColumnMapping {
  fileprivate subscript(member: DocumentMember) -> Column? {
    columns.first { DocumentMember($0.key) == member }?.value
  }
}
