internal import CofferDocuments
internal import CofferSQLite

/// The columns for a document's parts in a table, and the statement that reads them.
struct SQLiteLayout {
  static let textNames = ["text", "txt", "body"]
  /// The column names of ``SQLiteSink`` tables, in order.
  static let own = [
    "id", "title", "text", "key", "created", "modified", "attributes", "parent", "json", "position",
  ]

  let id: Int?
  let title: Int?
  /// The text column, or `nil` if the text is the entire row.
  let text: Int?
  let key: Int?
  let collection: Int?
  let created: Int?
  let modified: Int?
  /// The attributes' column. It and the next three columns are set only in ``SQLiteSink`` tables.
  let attributes: Int?
  let parent: Int?
  let json: Int?
  let position: Int?
  /// The columns that become attributes, in canonical order. Without a text column, these are all columns in the
  /// table's order.
  let members: [(column: Int, prefix: [UInt8])]
  let columns: [ColumnUse]
  /// The column names of the document parts in rows without a text.
  let parts: [ColumnMapping.Part: String]
  /// Whether the title is in the column `name` without a mapping.
  let isUsualTitle: Bool
  let isOwn: Bool

  /// - Parameter keepsIDs: Whether to keep IDs. Otherwise, the ID column becomes an attribute, except in an exported
  ///   table.
  init(_ table: SQLiteTable, mapping: ColumnMapping, keepsIDs: Bool) throws(FormatError) {
    var places: [ColumnMapping.Part: Int] = [:]
    for (part, column) in mapping.columns {
      guard let place = table.index(of: column) else {
        let isGenerated = table.generated.contains { $0.asciiLowercased == column.name.asciiLowercased }
        var error = FormatError(
          .missingColumn,
          isGenerated
            ? "the column \(column.name) of the table \(table.name) is generated, and expressions in the file aren't run"
            : "the table \(table.name) has no column \(column.name)")
        error.names = table.columns
        throw error
      }
      places[part] = place
    }
    let mapped = Set(places.values)
    func usual(_ part: ColumnMapping.Part, _ candidates: [String]) -> Int? {
      places[part] ?? candidates.lazy.compactMap { table.index(of: $0, excluding: mapped) }.first
    }
    let isOwn = mapping.isEmpty && table.columns == Self.own
    self.isOwn = isOwn
    id = usual(.id, ["id"])
    text = usual(.text, Self.textNames)
    title = usual(.title, text == nil ? ["title", "name"] : ["title"])
    key = usual(.key, ["key"])
    collection = places[.collection]
    (created, modified) = isOwn ? (4, 5) : (places[.created], places[.modified])
    (attributes, parent, json, position) = isOwn ? (6, 7, 8, 9) : (nil, nil, nil, nil)
    let names = table.columns
    isUsualTitle = text == nil && places[.title] == nil && title.map { names[$0].lowercased() == "name" } ?? false
    parts = ColumnMapping.names(
      of: [
        .id: id, .title: isUsualTitle ? nil : title, .key: key, .collection: collection, .created: created,
        .modified: modified,
      ], in: names)
    columns = ColumnUse.list(
      names,
      parts: [
        (.text, text), (.title, title), (.key, key), keepsIDs ? (.id, id) : (.dropped, isOwn ? id : nil),
        (.collection, collection), (.created, created), (.modified, modified), (.attributes, attributes),
        (.parent, parent), (.json, json), (.position, position),
      ], others: text == nil ? .value : .attribute)
    let others = names.indices.filter { [text, columns] in text == nil || columns[$0].use == .attribute }
    let ordered =
      text == nil ? Array(others) : others.sorted { JSONOrder.precedes(names[$0].utf8, names[$1].utf8) }
    members = ordered.map { index in
      var prefix: [UInt8] = []
      JSONWriter.appendString(names[index], to: &prefix)
      return (index, prefix + [JSONByte.colon])
    }
  }

  /// Returns the statement that selects all rows in order. It returns the table's columns, followed by the row ID.
  static func statement(for table: SQLiteTable, isOwn: Bool) -> String {
    let columns = table.columns.map(\.quoted).joined(separator: ",")
    let order = isOwn ? " ORDER BY position,id" : table.rowID.map { " ORDER BY \($0)" } ?? ""
    return "SELECT \(columns),\(table.rowID ?? "NULL") FROM \(table.name.quoted)\(order)"
  }
}
