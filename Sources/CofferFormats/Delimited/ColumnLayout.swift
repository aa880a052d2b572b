internal import CofferDocuments

/// The columns of a row that hold the parts of a document.
struct ColumnLayout: Sendable {
  /// The first columns of the tables that ``DelimitedSink`` writes; attributes follow.
  static let own = ["id", "title", "text", "key"]

  var id: Int?
  var title: Int?
  var text: Int?
  var key: Int?
  let collection: Int?
  let created: Int?
  let modified: Int?
  /// The JSON before the value of each column: `"name":"`.
  let prefixes: [[UInt8]]
  /// Columns that become attributes, in canonical order.
  let attributes: [Int]
  let columns: [ColumnUse]
  /// The header is that of ``DelimitedSink``.
  let isOwn: Bool

  /// - Parameters:
  ///   - names: the header row, or numbers if there is none.
  ///   - keepsIDs: otherwise a column of ids becomes an attribute, except in a table of ours.
  init(names given: [String], mapping: ColumnMapping, keepsIDs: Bool) throws(FormatError) {
    isOwn = mapping.isEmpty && given.starts(with: Self.own)
    let names = isOwn ? Self.own + Self.unique(Array(given.dropFirst(Self.own.count))) : Self.unique(given)
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
    (collection, created, modified) = (places[.collection], places[.created], places[.modified])
    prefixes = names.map(Self.prefix(for:))
    columns = ColumnUse.list(
      names,
      parts: [
        (.text, text), (.title, title), (.key, key), keepsIDs ? (.id, id) : (.dropped, isOwn ? id : nil),
        (.collection, collection), (.created, created), (.modified, modified),
      ],
      others: text == nil ? .value : .attribute)
    let others = columns.indices.filter { [columns] in columns[$0].use == .attribute }
    attributes = others.sorted { JSONOrder.precedes(names[$0].utf8, names[$1].utf8) }
  }

  /// The names, with a number behind repeated ones.
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
