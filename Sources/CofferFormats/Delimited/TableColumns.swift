public import CofferDocuments

/// The columns of a table that ``DelimitedSink`` writes.
///
/// The usual columns hold all of a document but its collection and position: `id`, `title`, `text`, `key`, `created`
/// and `modified`, then `parent` and `json` where a document has such a part, then a column for each attribute.
public struct TableColumns: Sendable {
  /// A part of a document, and the name of its column.
  public enum Part: String, CaseIterable, Hashable, Sendable {
    /// A part of that name.
    case id, title, text, key, created, modified, parent
    /// `true` for a stored value, else empty.
    case json
  }

  enum Column: Hashable, Sendable {
    case part(Part)
    case attribute([UInt8])
  }

  /// The parts that begin every usual table.
  private static let first: [Part] = [.id, .title, .text, .key]

  private var parts = Set(Part.allCases).subtracting([.parent, .json])
  private var attributes: Set<[UInt8]> = []
  private var chosen: [Column]?

  /// The usual columns of a table without documents.
  public init() {}

  /// Adds the columns that a document needs, if they are missing.
  public mutating func insert(columnsOf header: DocumentHeader) {
    if header.parent != nil { parts.insert(.parent) }
    if header.isJSON { parts.insert(.json) }
    header.attributes.forEachMember { name, _, _ in
      guard attributes.insert(name).inserted else { return }
      // The column of the part comes first, so that of the attribute isn't taken for it.
      if let part = Part(rawValue: String(decoding: name, as: UTF8.self)) { parts.insert(part) }
    }
  }

  /// Narrows the table to columns of these names, in their order. A name is that of a ``Part``, else of an attribute.
  ///
  /// - Throws: `missingColumn` for an attribute that no document has.
  public mutating func narrow(to names: [String]) throws(FormatError) {
    var columns: [Column] = []
    for name in names {
      if let part = Part(rawValue: name) {
        columns.append(.part(part))
      } else {
        guard attributes.contains(Array(name.utf8)) else {
          var error = FormatError(.missingColumn, "there is no column \(name)")
          error.names = Part.allCases.map(\.rawValue) + sortedAttributes.map { String(decoding: $0, as: UTF8.self) }
          throw error
        }
        columns.append(.attribute(Array(name.utf8)))
      }
    }
    chosen = columns
  }

  /// The columns in the order in which they are written.
  var columns: [Column] {
    chosen ?? Part.allCases.filter(parts.contains).map { .part($0) } + sortedAttributes.map { .attribute($0) }
  }

  /// The names of attributes in the order of canonical JSON.
  private var sortedAttributes: [[UInt8]] { attributes.sorted { JSONOrder.precedes($0, $1) } }

  /// The parts at the beginning of a header that ``DelimitedSink`` wrote; none for another header.
  static func parts(inHeader names: [String]) -> [Part] {
    guard names.starts(with: first.map(\.rawValue)) else { return [] }
    var parts = first
    for part in Part.allCases.dropFirst(first.count)
    where names.indices.contains(parts.count) && names[parts.count] == part.rawValue {
      parts.append(part)
    }
    return parts
  }
}

extension TableColumns.Column {
  var name: [UInt8] {
    switch self {
    case .part(let part): Array(part.rawValue.utf8)
    case .attribute(let name): name
    }
  }
}

extension Attributes {
  /// Calls `body` with each name, and with its value's content and place in ``canonicalJSON``.
  func forEachMember(_ body: (_ name: [UInt8], _ value: ScannedValue, _ scanner: JSONScanner) -> Void) {
    guard !isEmpty else { return }
    canonicalJSON.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      do throws(JSONError) {
        try scanner.forEachMember { name, value, scanner in body(scanner.value(of: name), value, scanner) }
      } catch {
        preconditionFailure("internal error: attributes that are not canonical")
      }
    }
  }
}
