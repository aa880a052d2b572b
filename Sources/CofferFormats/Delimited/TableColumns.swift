public import CofferDocuments

/// The columns of an exported table (``DelimitedSink``).
///
/// The usual columns contain the entire document except its collection and position: `id`, `title`, `text`, `key`,
/// `created` and `modified`, followed by `parent` and `json` if a document has these parts, and a column for each
/// attribute.
public struct TableColumns: Sendable {
  /// A document part with its column name.
  public enum Part: String, CaseIterable, Hashable, Sendable {
    /// The part with this name.
    case id, title, text, key, created, modified, parent
    /// The text `true` for a stored value, or an empty field.
    case json
  }

  enum Column: Hashable, Sendable {
    case part(Part)
    case attribute([UInt8])
  }

  /// The first parts of every usual table.
  private static let first: [Part] = [.id, .title, .text, .key]

  private var parts = Set(Part.allCases).subtracting([.parent, .json])
  private var attributes: Set<[UInt8]> = []
  private var chosen: [Column]?

  /// Creates the usual columns for a table without documents.
  public init() {}

  /// Adds a document's columns if they're missing.
  public mutating func insert(columnsOf header: DocumentHeader) {
    if header.parent != nil { parts.insert(.parent) }
    if header.isJSON { parts.insert(.json) }
    header.attributes.forEachMember { name, _, _ in
      guard attributes.insert(name).inserted else { return }
      // The part's column comes first, so the attribute's column isn't mistaken for it.
      if let part = Part(rawValue: String(decoding: name, as: UTF8.self)) { parts.insert(part) }
    }
  }

  /// Limits the table to the named columns, in this order. A name refers to a ``Part``, or otherwise to an attribute.
  ///
  /// - Throws: `missingColumn` for an attribute that isn't in any document.
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

  /// The columns in the order of writing.
  var columns: [Column] {
    chosen ?? Part.allCases.filter(parts.contains).map { .part($0) } + sortedAttributes.map { .attribute($0) }
  }

  /// The attribute names in canonical JSON order.
  private var sortedAttributes: [[UInt8]] { attributes.sorted { JSONOrder.precedes($0, $1) } }

  /// Returns the parts at the beginning of a ``DelimitedSink`` header, or an empty array for other headers.
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
  /// Calls `body` with each name, and with its value's content and position in ``canonicalJSON``.
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
