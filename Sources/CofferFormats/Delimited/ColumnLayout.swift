internal import CofferDocuments

/// The columns that contain the parts of a document.
struct ColumnLayout: Sendable {
  let id: Int?
  let title: Int?
  let text: Int?
  let key: Int?
  let collection: Int?
  let created: Int?
  let modified: Int?
  /// The parent's column, which only exported tables have.
  let parent: Int?
  let json: Int?
  /// The JSON before each column's value, such as `"name":"`.
  let prefixes: [[UInt8]]
  /// The columns that become attributes, in canonical order.
  let attributes: [Int]
  let columns: [ColumnUse]
  /// The column names of document parts, for tables without a text column.
  let parts: [ColumnMapping.Part: String]
  /// Whether the title is in the column `name` without a mapping.
  let isUsualTitle: Bool
  /// Whether ``DelimitedSink`` wrote the header.
  let isOwn: Bool

  /// - Parameters:
  ///   - given: The header row, or numbers for a table without a header.
  ///   - keepsIDs: Whether to keep IDs. Otherwise, the ID column becomes an attribute, except in an exported table.
  init(names given: [String], mapping: ColumnMapping, keepsIDs: Bool) throws(FormatError) {
    let own = mapping.isEmpty ? TableColumns.parts(inHeader: given) : []
    isOwn = !own.isEmpty
    let names = given.prefix(own.count) + Self.unique(Array(given.dropFirst(own.count)))
    let known = ColumnNames(given)
    var places: [ColumnMapping.Part: Int] = [:]
    for (part, column) in mapping.columns {
      let place = column.number.map { $0 - 1 } ?? known.index(of: column.name)
      guard let place, names.indices.contains(place) else {
        var error = FormatError(.missingColumn, "there is no column \(column.name); there are \(names.count)")
        error.names = Array(names)
        throw error
      }
      places[part] = place
    }
    let mapped = Set(places.values)
    func usual(_ part: ColumnMapping.Part, _ candidates: String...) -> Int? {
      places[part] ?? candidates.lazy.compactMap { known.index(of: $0, excluding: mapped) }.first
    }
    func ours(_ part: TableColumns.Part) -> Int? { own.firstIndex(of: part) }
    id = usual(.id, "id")
    text = usual(.text, "text", "txt", "body")
    title = text == nil ? usual(.title, "title", "name") : usual(.title, "title")
    key = usual(.key, "key")
    collection = places[.collection]
    (created, modified) = (places[.created] ?? ours(.created), places[.modified] ?? ours(.modified))
    (parent, json) = (ours(.parent), ours(.json))
    isUsualTitle = text == nil && places[.title] == nil && title.map { names[$0].lowercased() == "name" } ?? false
    parts = ColumnMapping.names(
      of: [
        .id: id, .title: isUsualTitle ? nil : title, .key: key, .collection: collection, .created: created,
        .modified: modified,
      ], in: Array(names))
    prefixes = names.map(Self.prefix(for:))
    columns = ColumnUse.list(
      Array(names),
      parts: [
        (.text, text), (.title, title), (.key, key), keepsIDs ? (.id, id) : (.dropped, isOwn ? id : nil),
        (.collection, collection), (.created, created), (.modified, modified), (.parent, parent), (.json, json),
      ],
      others: text == nil ? .value : .attribute)
    let others = columns.indices.filter { [columns] in columns[$0].use == .attribute }
    attributes = others.sorted { JSONOrder.precedes(names[$0].utf8, names[$1].utf8) }
  }

  /// Returns the names, and appends a number to repeated names.
  private static func unique(_ names: [String]) -> [String] {
    var taken: Set<[UInt8]> = []
    // The number to try next, because a header can repeat one name a hundred thousand times.
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
