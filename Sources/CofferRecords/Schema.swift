internal import CofferSQLite

/// The objects of format 3 by name, whose SQL in a store must match exactly.
///
/// Long bodies are in a separate table, so listing, sorting and the set hash never read their pages. The position index
/// includes titles, so listing plaintext titles without a key only reads the index.
package enum Schema {
  package static let objects: [(name: String, sql: String)] = [
    (
      "coffer_header",
      "CREATE TABLE coffer_header(one INTEGER PRIMARY KEY CHECK(one=1),format INTEGER NOT NULL,store_id BLOB NOT NULL,incompat INTEGER NOT NULL,ro_compat INTEGER NOT NULL,compat INTEGER NOT NULL,titles INTEGER NOT NULL,rk_generation INTEGER NOT NULL,phase INTEGER NOT NULL,rk_commit BLOB NOT NULL,keyring BLOB NOT NULL,mac BLOB NOT NULL) STRICT"
    ),
    ("coffer_spare", "CREATE TABLE coffer_spare(one INTEGER PRIMARY KEY CHECK(one=1),copy BLOB NOT NULL) STRICT"),
    (
      "coffer_slot",
      "CREATE TABLE coffer_slot(slot INTEGER PRIMARY KEY,kind INTEGER NOT NULL,label TEXT NOT NULL,params BLOB NOT NULL,wrapped BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_state", "CREATE TABLE coffer_state(one INTEGER PRIMARY KEY CHECK(one=1),sealed BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_replica",
      "CREATE TABLE coffer_replica(one INTEGER PRIMARY KEY CHECK(one=1),restored INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_collection",
      "CREATE TABLE coffer_collection(coll INTEGER PRIMARY KEY,rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_gone",
      "CREATE TABLE coffer_gone(gone INTEGER PRIMARY KEY,rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_record",
      "CREATE TABLE coffer_record(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,epoch INTEGER NOT NULL,rev INTEGER NOT NULL,pos BLOB NOT NULL,parent INTEGER,flags INTEGER NOT NULL,lookup BLOB,title TEXT,head BLOB NOT NULL,body_nt BLOB NOT NULL,body BLOB) STRICT"
    ),
    ("coffer_body", "CREATE TABLE coffer_body(id INTEGER PRIMARY KEY,ct BLOB NOT NULL) STRICT"),
    (
      "coffer_record_lookup",
      "CREATE UNIQUE INDEX coffer_record_lookup ON coffer_record(coll,lookup) WHERE lookup IS NOT NULL AND flags<2"
    ),
    ("coffer_record_held", "CREATE INDEX coffer_record_held ON coffer_record(coll,lookup) WHERE flags>=2"),
    ("coffer_record_pos", "CREATE INDEX coffer_record_pos ON coffer_record(coll,pos,id,title)"),
    ("coffer_record_parent", "CREATE INDEX coffer_record_parent ON coffer_record(parent) WHERE parent IS NOT NULL"),
  ]

  /// The objects of a store with attachments.
  package static let attachmentObjects: [(name: String, sql: String)] = [
    (
      "coffer_attachment",
      "CREATE TABLE coffer_attachment(attachment INTEGER PRIMARY KEY,id INTEGER NOT NULL,rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
    ("coffer_chunk", "CREATE TABLE coffer_chunk(chunk INTEGER PRIMARY KEY,ct BLOB NOT NULL) STRICT"),
    ("coffer_attachment_id", "CREATE INDEX coffer_attachment_id ON coffer_attachment(id)"),
  ]

  private static let texts = Dictionary(
    uniqueKeysWithValues: (objects + attachmentObjects).map { ($0.name, $0.sql) })

  /// The maximum number of entries in a store's schema, including features and tools.
  package static let entryLimit = 1000

  package static var tooManyEntries: StoreError {
    refused("it has more than \(entryLimit) entries, or too many columns and indexes")
  }

  /// Rejects unknown schemas, because files may be hostile, and a trigger or view would run an attacker's code.
  ///
  /// Reads the schema and the features in one transaction, because another process may change them in between.
  ///
  /// - Throws: `otherFormat` for features of a later version, which may have tables. `damaged`.
  package static func check(_ database: StoreDatabase) throws(StoreError) {
    try database.reading { () throws(StoreError) in try checkEntries(database) }
  }

  private static func checkEntries(_ database: StoreDatabase) throws(StoreError) {
    let rows = try database.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    guard rows.count <= entryLimit else { throw tooManyEntries }
    let header = objects[0]
    let hasHeader = rows.contains { $0[1] == .text(header.name) && $0[3] == .text(header.sql) }
    let features = hasHeader ? try StoreHeader.knownFeatures(database) : []
    let expected = features.contains(.attachments) ? objects + attachmentObjects : objects
    let expectedNames = Set(expected.map(\.name))
    var found: Set<String> = []
    for row in rows {
      guard case .text(let type) = row[0], case .text(let name) = row[1], case .text(let table) = row[2] else {
        throw refused("an entry of another type")
      }
      let sql: String? = if case .text(let text) = row[3] { text } else { nil }
      if expectedNames.contains(name) {
        guard sql == texts[name] else { throw refused("\(name) has another text") }
        found.insert(name)
      } else {
        try checkForeign(type: type, name: name, table: table, sql: sql)
      }
    }
    for (name, _) in expected where !found.contains(name) {
      throw refused("\(name) is missing")
    }
  }

  /// Requires the tables that salvage reads, and ignores other tables.
  package static func requireTables(_ names: [String], in database: StoreDatabase) throws(StoreError) {
    let rows = try database.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    for name in names where !rows.contains(where: { $0[0] == .text(name) && $0[1] == .text(texts[name]!) }) {
      throw refused("\(name) is missing or has another text")
    }
  }

  /// Allows the tables of known tools, and of features that readers may ignore.
  private static func checkForeign(type: String, name: String, table: String, sql: String?) throws(StoreError) {
    let isOptional = isOptionalTable(table)
    switch type {
    case "table":
      guard isOptional, name == table, let sql, sql.hasPrefix("CREATE TABLE ") else {
        throw refused("an unknown table \(name)")
      }
      guard hasPlainColumns(sql) else { throw refused("the table \(name) has more than plain columns") }
    case "index":
      // An automatic index doesn't have SQL text.
      let isAutomatic = sql == nil && name.hasPrefix("sqlite_autoindex_")
      let isFeature = name.hasPrefix("coffer_x_") && table.hasPrefix("coffer_x_")
      guard isOptional, isAutomatic || isFeature else { throw refused("an unknown index") }
      guard sql.map({ hasPlainColumns($0, isIndex: true) }) ?? true else {
        throw refused("an index has more than plain columns")
      }
    default:
      throw refused("a \(type == "trigger" || type == "view" ? type : "foreign object")")
    }
  }

  private static func isOptionalTable(_ name: String) -> Bool {
    name.hasPrefix("coffer_x_") || name.hasPrefix("_litestream_") || name.hasPrefix("sqlite_stat")
      || name == "sqlite_sequence"
  }

  /// The words that begin an expression or a rule in the definition of a table or an index.
  private static let refusedWords: Set = ["CHECK", "DEFAULT", "GENERATED", "AS", "REFERENCES", "WHERE"]

  /// Returns whether SQLite doesn't evaluate expressions for a table or index, even when a writer empties it.
  private static func hasPlainColumns(_ sql: String, isIndex: Bool = false) -> Bool {
    var word = ""
    var quote: Unicode.Scalar?
    var depth = 0
    // Read scalars like SQLite, because a combining mark must not hide the quotation mark before it.
    for character in (sql + " ").unicodeScalars {
      if let end = quote {
        if character == end { quote = nil }
        continue
      }
      if !character.isASCII || character.properties.isAlphabetic || ("0"..."9").contains(character)
        || character == "_" || character == "$"
      {
        word.unicodeScalars.append(character)
        continue
      }
      if refusedWords.contains(word.uppercased()) { return false }
      word = ""
      switch character {
      case "'", "\"", "`": quote = character
      case "[": quote = "]"
      case "(": depth += 1
      case ")": depth -= 1
      // Tools don't write comments or operators here.
      case ",", ";", " ", "\n", "\r", "\t": break
      default: return false
      }
      // An index on an expression or a function has parentheses inside its own.
      if isIndex, depth > 1 { return false }
    }
    return quote == nil
  }

  package static func refused(_ what: String) -> StoreError {
    StoreError(
      .damaged, "the store's schema is not ours: \(what)",
      hint:
        "another program changed this file: restore it from a backup, or bring what can be read into a new store with \(.salvage)"
    )
  }
}
