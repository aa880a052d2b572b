internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The query view of a collection, with document columns and declared fields.
struct CollectionView: Equatable {
  let number: UInt32
  let name: String
  private let collection: String
  private let fields: [IndexDeclaration.Field]
  let hasWords: Bool

  /// Compares names by their bytes, as SQLite does.
  static func == (one: CollectionView, other: CollectionView) -> Bool {
    (one.number, one.hasWords, one.fields) == (other.number, other.hasWords, other.fields)
      && one.name.isIdentical(to: other.name) && one.collection.isIdentical(to: other.collection)
  }

  /// The name of the collection's word search table.
  var matchName: String { name + ".match" }

  /// Returns the kind of a declared field, or `nil` if the field doesn't exist.
  func kind(ofField name: String) -> DocumentIndex.Kind? {
    fields.first { $0.name.isEqualForSQL(to: name) }?.kind
  }

  /// The columns of `documents` that every view contains in addition to the ID.
  private static let columns: [DocumentTable.Column] = [
    .position, .title, .text, .json, .key, .created, .modified, .size, .parent, .attributes,
  ]

  /// Returns the views of all collections. If a collection's name can't be used, its view is named `#` and its number.
  static func all(_ records: [CollectionRecord], _ declaration: IndexDeclaration?) throws(StoreError)
    -> [CollectionView]
  {
    var taken: Set<String> = [DocumentTable.name]
    return records.map { record in
      let entry = declaration?.collection(record.id).flatMap { $0.uid == record.uid ? $0 : nil }
      let folded = record.name.asciiLowercased
      let isFree =
        !taken.contains(folded) && !taken.contains(folded + ".match") && !folded.hasPrefix("sqlite_")
        && !folded.hasPrefix("#") && !record.name.utf8.contains(0) && !record.name.isEmpty
      let name = isFree ? record.name : "#\(record.id)"
      taken.formUnion([folded, folded + ".match"])
      return CollectionView(
        number: record.id, name: name, collection: record.name, fields: entry?.fields ?? [],
        hasWords: entry?.keepsDiacritics != nil)
    }
  }

  var sql: String {
    let name = Self.quoted(name)
    guard !fields.isEmpty else {
      // U+0000 would end the statement.
      let text = "CAST(X'\(Hexadecimal.text(Array(collection.utf8)))' AS TEXT)"
      let columns = Self.columns.map { ",\($0.declared.name)" }.joined()
      return "CREATE TEMP VIEW \(name) AS SELECT id\(columns) FROM documents WHERE collection=\(text)"
    }
    // A function's result doesn't have a type, so comparisons with values of another type would differ from comparisons
    // in `documents`.
    let columns = Self.columns.map { column in
      let name = column.declared.name
      // A key can be a blob, which a cast would change.
      guard column != .key else { return ",(SELECT \(name) FROM documents d WHERE d.id=f.id) AS \(name)" }
      let type = column == .size || column == .parent ? "INTEGER" : "TEXT"
      return ",CAST(\(DocumentFunction.name)(\(column.rawValue),\(number),id) AS \(type)) AS \(name)"
    }
    let values = fields.enumerated().map { ",\(ContentIndex.column($0)) AS \(Self.quoted($1.name))" }
    return """
      CREATE TEMP VIEW \(name) AS SELECT id\((columns + values).joined()) FROM main.\(ContentIndex.fields(number)) f
      """
  }

  static func quoted(_ name: String) -> String { "\"" + name.replacing(ascii: "\"", with: "\"\"") + "\"" }
}

extension String {
  var asciiLowercased: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
