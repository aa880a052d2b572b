internal import CofferDocuments

/// The names and uses of an input's members.
///
/// Most records have the same members in the same order, so finding a name usually takes a single comparison.
struct MemberReport: Sendable {
  /// The maximum number of names for members that aren't parts, because a record can have any number of members.
  private static let maximumCount = 256

  private struct Entry {
    let name: [UInt8]
    /// The length and the first bytes, which differ for most names.
    let print: UInt64
    /// A bit for each use (``bit(of:)``).
    var uses: UInt8
  }

  /// The found parts, by the kind of record.
  var inDocuments: MemberRoles.Parts = 0
  var inExports: MemberRoles.Parts = 0
  var inValues: MemberRoles.Parts = 0
  /// The number of objects.
  private(set) var objects = 0
  private var entries: [Entry] = []
  private var next = 0

  /// Begins an object. Call this method before noting the object's members.
  mutating func beginObject() {
    objects += 1
    next = 0
  }

  /// Notes a member whose name isn't a document part's name.
  mutating func note(_ name: JSONScanner.StringToken, as use: ColumnUse.Use, _ scanner: JSONScanner) {
    if next == entries.count { next = 0 }
    if next >= entries.count || !scanner.equals(name, entries[next].name) {
      guard let index = index(of: scanner.value(of: name)) else { return }
      next = index
    }
    entries[next].uses |= Self.bit(of: use)
    next += 1
  }

  /// Returns the index of a name's entry, adding a missing entry, or `nil` if the report is full.
  private mutating func index(of name: [UInt8]) -> Int? {
    let print = name.prefix(7).reduce(UInt64(name.count & 0xFF)) { $0 << 8 | UInt64($1) }
    if let index = entries.firstIndex(where: { $0.print == print && $0.name == name }) { return index }
    guard entries.count < Self.maximumCount else { return nil }
    entries.append(Entry(name: name, print: print, uses: 0))
    return entries.count - 1
  }

  private static func bit(of use: ColumnUse.Use) -> UInt8 {
    switch use {
    case .text: 1
    case .title: 2
    case .attribute: 4
    default: 8
    }
  }

  /// Returns all members, first the document parts in the order of exported records, then the other members in the
  /// order of their first appearance.
  ///
  /// - Parameter attributes: The parts that become attributes of documents outside of exported records.
  func columns(_ roles: MemberRoles, attributes: MemberRoles.Parts) -> [ColumnUse] {
    var columns: [ColumnUse] = []
    for part in DocumentMember.allCases {
      let uses = uses(of: part, isAttribute: attributes & part.bit != 0, isMapped: roles.mappedParts & part.bit != 0)
      columns += uses.map { ColumnUse(name: roles.name(of: part), use: $0) }.filter { !columns.contains($0) }
    }
    for entry in entries {
      let name = String(decoding: entry.name, as: UTF8.self)
      let uses = [ColumnUse.Use.text, .title, .attribute, .value].filter { entry.uses & Self.bit(of: $0) != 0 }
      columns += uses.map { ColumnUse(name: name, use: $0) }
    }
    return columns
  }

  private func uses(of part: DocumentMember, isAttribute: Bool, isMapped: Bool) -> [ColumnUse.Use] {
    var uses: [ColumnUse.Use] = []
    func add(_ use: ColumnUse.Use) { if !uses.contains(use) { uses.append(use) } }
    let isID = part == .id || part == .parent
    if inExports & part.bit != 0 { add(isID && isAttribute ? .dropped : part.use) }
    if inDocuments & part.bit != 0 { add(isAttribute ? .attribute : part.use) }
    if inValues & part.bit != 0 {
      add((isMapped || [.id, .title, .key].contains(part)) && !isAttribute && part != .text ? part.use : .value)
    }
    if isMapped, objects > 0, uses.isEmpty { add(.missing) }
    return uses
  }
}

extension DocumentMember {
  fileprivate var use: ColumnUse.Use {
    switch self {
    case .collection: .collection
    case .id: .id
    case .position: .position
    case .title: .title
    case .text: .text
    case .key: .key
    case .created: .created
    case .modified: .modified
    case .attributes: .attributes
    case .parent: .parent
    case .json: .json
    case .attachments: .attachments
    }
  }
}
