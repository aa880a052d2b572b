internal import CofferDocuments

/// The document parts for an object's members, by the members' names.
///
/// Without a mapping, these are the members of exported records. With a mapping, mapped members become the parts.
/// Unmapped IDs, titles, texts and keys then come from members with the usual names, as in a table.
struct MemberRoles: Sendable {
  /// A bit for each member of exported records.
  typealias Parts = UInt16

  private static let usual = [DocumentMember.id, .title, .text, .key]

  let mapping: ColumnMapping
  /// The names in the mapping, each with its part.
  private let mapped: [(name: [UInt8], part: DocumentMember)]
  private let unmapped: Parts

  init(_ mapping: ColumnMapping) {
    self.mapping = mapping
    mapped = mapping.columns.map { (Array($1.name.utf8), DocumentMember($0)) }
      .sorted { $0.part.rawValue < $1.part.rawValue }
    unmapped = mapping.isEmpty ? ~0 : Self.usual.filter { mapping[$0] == nil }.reduce(0) { $0 | $1.bit }
  }

  var isMapped: Bool { !mapped.isEmpty }
  /// The mapped parts.
  var mappedParts: Parts { mapped.reduce(0) { $0 | $1.part.bit } }

  /// Returns the parts for the member with this name, or 0.
  @inline(__always)
  func parts(of name: JSONScanner.StringToken, _ scanner: JSONScanner) -> Parts {
    if isMapped {
      let parts = mapped.reduce(0 as Parts) { scanner.equals(name, $1.name) ? $0 | $1.part.bit : $0 }
      if parts != 0 { return parts }
    }
    return (scanner.documentMember(name)?.bit ?? 0) & unmapped
  }

  /// Returns the name of the member for a part.
  func name(of part: DocumentMember) -> String {
    mapping[part]?.name ?? part.name.description
  }

  /// The other names to try for the text if a mapping doesn't contain it.
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
