internal import CofferDocuments

/// Which columns of a table, or members of JSON objects, become which part of a document.
///
/// A part that is not mapped is found by its usual names.
public struct ColumnMapping: Hashable, Sendable {
  public enum Part: String, CaseIterable, Hashable, Sendable {
    case id, title, text, key
  }

  /// A column by name, or by number from 1.
  public struct Column: Hashable, Sendable {
    public let name: String
    /// Set when the name is a decimal number; members of JSON objects have names only.
    public let number: Int?

    public init(_ name: some StringProtocol) {
      self.name = String(name)
      let isNumber = !name.isEmpty && name.utf8.allSatisfy { (0x30...0x39).contains($0) }
      number = isNumber ? Int(name) : nil
    }
  }

  public var columns: [Part: Column]

  public init(_ columns: [Part: Column] = [:]) {
    self.columns = columns
  }

  /// Reads `id=COL,title=COL,text=COL,key=COL`, any of them, each at most once; nil for anything else.
  public init?(parsing text: some StringProtocol) {
    columns = [:]
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let mark = item.firstIndex(of: "="), let part = Part(rawValue: String(item[..<mark])),
        columns[part] == nil, item.index(after: mark) < item.endIndex
      else { return nil }
      columns[part] = Column(item[item.index(after: mark)...])
    }
  }

  public var isEmpty: Bool { columns.isEmpty }
  public var usesNumbers: Bool { columns.values.contains { $0.number != nil } }
}

/// Where in a row the parts of a document are.
struct ColumnLayout: Sendable {
  var id: Int?
  var title: Int?
  var text: Int?
  var key: Int?
  /// What stands in JSON before the value of each column: `"name":"`.
  let prefixes: [[UInt8]]
  /// Columns that become attributes, in canonical order.
  let attributes: [Int]
  /// Their names in the order of the columns.
  let attributeNames: [String]

  /// - Parameters:
  ///   - names: the header row, or numbers in place of names.
  init(names given: [String], mapping: ColumnMapping) throws(FormatError) {
    let names = Self.unique(given)
    var places: [ColumnMapping.Part: Int] = [:]
    for (part, column) in mapping.columns {
      let place = column.number.map { $0 - 1 } ?? given.firstIndex { $0.utf8.elementsEqual(column.name.utf8) }
      guard let place, names.indices.contains(place) else {
        var error = FormatError(.missingColumn, "there is no column \(column.name); there are \(names.count)")
        error.names = names
        throw error
      }
      places[part] = place
    }
    let mapped = Set(places.values)
    func usual(_ part: ColumnMapping.Part, _ candidates: String...) -> Int? {
      if let place = places[part] { return place }
      for candidate in candidates {
        if let place = given.firstIndex(of: candidate), !mapped.contains(place) { return place }
      }
      return nil
    }
    id = usual(.id, "id")
    text = usual(.text, "text", "txt", "body")
    title = text == nil ? usual(.title, "title", "name") : usual(.title, "title")
    key = usual(.key, "key")
    prefixes = names.map(Self.prefix(for:))
    let parts = Set([id, text, title, key].compactMap { $0 })
    let others = text == nil ? [] : names.indices.filter { !parts.contains($0) }
    attributeNames = others.map { names[$0] }
    attributes = others.sorted { JSONOrder.precedes(names[$0].utf8, names[$1].utf8) }
  }

  /// The names with a number behind those that were there before.
  private static func unique(_ names: [String]) -> [String] {
    var taken: Set<[UInt8]> = []
    // The number to try next: a row may hold one name a hundred thousand times.
    var numbers: [[UInt8]: Int] = [:]
    return names.map { name in
      let bytes = Array(name.utf8)
      var candidate = name
      while !taken.insert(Array(candidate.utf8)).inserted {
        let number = numbers[bytes, default: 2]
        numbers[bytes] = number + 1
        candidate = "\(name)_\(number)"
      }
      return candidate
    }
  }

  private static func prefix(for name: String) -> [UInt8] {
    var bytes: [UInt8] = []
    JSONWriter.appendString(name, to: &bytes)
    return bytes + [JSONByte.colon, JSONByte.quote]
  }
}
