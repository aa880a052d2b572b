public import CofferDocuments

/// The names of attributes, collected over all documents of a table before it is written: its further columns.
public struct AttributeNames: Sendable {
  private var names: Set<[UInt8]> = []

  /// No names.
  public init() {}

  /// Adds the names of the attributes of one document; names that are known already change nothing.
  public mutating func insert(namesOf attributes: Attributes) {
    attributes.forEachMember { name, _, _ in names.insert(name) }
  }

  /// The names in the order of canonical JSON.
  var sorted: [[UInt8]] { names.sorted { JSONOrder.precedes($0, $1) } }
}

extension Attributes {
  /// Calls `body` with each name, and with its value's content and place in ``canonicalJSON``.
  func forEachMember(_ body: (_ name: [UInt8], _ value: ScannedValue, _ scanner: JSONScanner) -> Void) {
    guard !isEmpty else { return }
    canonicalJSON.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      do throws(JSONError) {
        try scanner.openObject(depth: 1)
        var isFirst = true
        while let name = try scanner.nextName(isFirst: isFirst) {
          isFirst = false
          let value = try scanner.scanMemberValue()
          body(scanner.value(of: name), value, scanner)
        }
      } catch {
        preconditionFailure("internal error: attributes that are not canonical")
      }
    }
  }
}
