internal import CofferEngine
internal import CofferRecords

/// The tables of an inner database (Index-Format, "The inner database").
///
/// SQLite stores the text of each `CREATE` statement, so a database matches its declaration if it has these texts.
enum IndexSchema {
  /// The objects that SQLite creates automatically.
  private static let automatic = [
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
    "sqlite_stat1": "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "sqlite_stat4": "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
  ]

  static let contents = [
    "CREATE TABLE document(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL,print INTEGER NOT NULL,"
      + "row INTEGER) STRICT",
    "CREATE TABLE extra_row(row INTEGER PRIMARY KEY AUTOINCREMENT,id INTEGER NOT NULL) STRICT",
    "CREATE TABLE made(coll INTEGER PRIMARY KEY,outdated_rows INTEGER NOT NULL,outdated_tokens INTEGER NOT NULL) STRICT",
  ]

  static let titles = [
    "CREATE TABLE document(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,mark INTEGER NOT NULL,position BLOB NOT NULL) "
      + "STRICT",
    "CREATE TABLE made(coll INTEGER PRIMARY KEY) STRICT",
  ]

  static func titles(of collection: UInt32) -> String {
    "CREATE TABLE \(TitleIndex.titles(collection))(position BLOB NOT NULL,id INTEGER NOT NULL,header BLOB NOT NULL,"
      + "PRIMARY KEY(position,id)) STRICT, WITHOUT ROWID"
  }

  static func outdated(of collection: UInt32) -> String {
    "CREATE TABLE \(ContentIndex.outdated(collection))(row INTEGER PRIMARY KEY) STRICT"
  }

  static func words(of collection: UInt32, keepingDiacritics keeps: Bool) -> String {
    "CREATE VIRTUAL TABLE \(ContentIndex.words(collection)) USING fts5(title,text,names,content='',"
      + "tokenize='\(WordTokenizer.declaration(keepingDiacritics: keeps))')"
  }

  static func substrings(of collection: UInt32) -> String {
    "CREATE VIRTUAL TABLE \(ContentIndex.substrings(collection)) USING fts5(title,text,content='',detail=none,"
      + "columnsize=0,tokenize='\(ContentIndex.trigrams)')"
  }

  static func fields(of collection: UInt32, count: Int) -> String {
    let columns = (0..<count).map { ",\(ContentIndex.column($0))" }.joined()
    return "CREATE TABLE \(ContentIndex.fields(collection))(id INTEGER PRIMARY KEY\(columns))"
  }

  /// Returns a collection's field indexes, which are named by their fields' numbers.
  static func fieldIndexes(of collection: IndexDeclaration.Collection) -> [(name: String, text: String)] {
    let table = ContentIndex.fields(collection.number)
    return collection.indexedFields.map { fields in
      let name = fields.reduce(table) { "\($0)_\($1)" }
      return (name, "CREATE INDEX \(name) ON \(table)(\(fields.map(ContentIndex.column).joined(separator: ",")))")
    }
  }

  /// Returns the tables that FTS5 creates for a contentless table.
  private static func shadows(of table: String, hasSizes: Bool) -> [String: String] {
    var shadows = [
      "\(table)_data": "CREATE TABLE '\(table)_data'(id INTEGER PRIMARY KEY, block BLOB)",
      "\(table)_idx": "CREATE TABLE '\(table)_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
      "\(table)_config": "CREATE TABLE '\(table)_config'(k PRIMARY KEY, v) WITHOUT ROWID",
    ]
    if hasSizes {
      shadows["\(table)_docsize"] = "CREATE TABLE '\(table)_docsize'(id INTEGER PRIMARY KEY, sz BLOB)"
    }
    return shadows
  }

  /// Returns the text of each object that a declaration implies, by name.
  static func texts(of declaration: IndexDeclaration, part: UInt32) -> [String: String] {
    var texts: [String: String] = [:]
    func add(_ name: String, _ text: String) { texts[name] = text }
    for (name, text) in zip(["document", "extra_row", "made"], contents) where part == IndexPart.contents {
      add(name, text)
    }
    for (name, text) in zip(["document", "made"], titles) where part == IndexPart.titles { add(name, text) }
    for collection in declaration.collections {
      let number = collection.number
      guard part == IndexPart.contents else {
        add(TitleIndex.titles(number), titles(of: number))
        continue
      }
      if collection.hasTexts { add(ContentIndex.outdated(number), outdated(of: number)) }
      if let keeps = collection.keepsDiacritics {
        let table = ContentIndex.words(number)
        add(table, words(of: number, keepingDiacritics: keeps))
        texts.merge(shadows(of: table, hasSizes: true)) { $1 }
      }
      if collection.hasSubstrings {
        let table = ContentIndex.substrings(number)
        add(table, substrings(of: number))
        texts.merge(shadows(of: table, hasSizes: false)) { $1 }
      }
      guard !collection.fields.isEmpty else { continue }
      add(ContentIndex.fields(number), fields(of: number, count: collection.fields.count))
      for index in fieldIndexes(of: collection) { add(index.name, index.text) }
    }
    return texts
  }

  /// Verifies that an inner database's objects match its declaration, or that there aren't any objects before it's
  /// built.
  ///
  /// - Parameter found: The name and text of each object with a text.
  /// - Throws: `damaged`.
  static func require(
    _ found: [(name: String, text: String)], of declaration: IndexDeclaration, part: UInt32
  ) throws(StoreError) {
    guard !found.isEmpty else { return }
    var missing = texts(of: declaration, part: part)
    for (name, text) in found {
      guard (missing.removeValue(forKey: name) ?? automatic[name])?.isIdentical(to: text) == true else {
        throw IndexRoot.damaged("its table \(name) is not a declared one")
      }
    }
    guard missing.isEmpty else { throw IndexRoot.damaged("its tables differ from the declared ones") }
  }
}
