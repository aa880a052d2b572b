internal import CofferDocuments
internal import CofferSQLite

/// The Swift type for a column's declaration, as in apps that store Codable models.
enum DeclaredType {
  case boolean, date, uuid, other

  init(_ declaration: String) {
    let words = declaration.asciiLowercased
    self =
      words.hasPrefix("bool")
      ? .boolean
      : words.hasPrefix("date") || words.hasPrefix("timestamp")
        ? .date
        : words.hasPrefix("uuid") || words.hasPrefix("guid") ? .uuid : .other
  }
}

/// A table in an untrusted database, with the information needed to read its rows.
struct SQLiteTable {
  let name: String
  /// The column names in the table's order, without generated columns.
  let columns: [String]
  /// The generated columns' names. These columns are never read, because SQLite would run an expression from the file.
  let generated: [String]
  /// The columns' declared types.
  let types: [DeclaredType]
  /// The name of the row ID, or `nil` if the table is declared WITHOUT ROWID or has columns with all three names.
  let rowID: String?

  /// Returns all ordinary tables in the order of their creation, without views and virtual tables.
  static func all(in database: Database) throws(FormatError) -> [SQLiteTable] {
    var tables: [SQLiteTable] = []
    for name in try names(of: "table", in: database) {
      if let table = try SQLiteTable(name, in: database) { tables.append(table) }
    }
    return tables
  }

  /// Returns the names of all schema objects with a type, and skips names that aren't text.
  static func names(of type: String, in database: Database) throws(FormatError) -> [String] {
    do throws(SQLiteError) {
      // Virtual tables don't have a root page.
      let statement = try database.statement(
        "SELECT name FROM sqlite_schema WHERE type=? AND (type<>'table' OR rootpage>0) ORDER BY rowid")
      try statement.bind(type, at: 1)
      defer { statement.reset() }
      var names: [String] = []
      while try statement.step() {
        guard let name = (try? statement.text(at: 0)) ?? nil, !name.asciiLowercased.hasPrefix("sqlite_"),
          !name.utf8.contains(0)
        else { continue }
        names.append(name)
      }
      return names
    } catch {
      throw FormatError(error)
    }
  }

  /// Returns `nil` if the table isn't in the schema.
  private init?(_ name: String, in database: Database) throws(FormatError) {
    self.name = name
    do throws(SQLiteError) {
      let statement = try database.statement("PRAGMA table_xinfo(\(name.quoted))")
      defer { statement.reset() }
      var columns: [String] = []
      var types: [DeclaredType] = []
      var generated: [String] = []
      while try statement.step() {
        // For hidden columns, 1 occurs only in virtual tables, and 2 and 3 are generated columns.
        let hidden = statement.int64(at: 6)
        guard hidden != 1, let column = try statement.text(at: 1) else { continue }
        guard hidden == 0 else {
          generated.append(column)
          continue
        }
        columns.append(column)
        types.append(DeclaredType((try? statement.text(at: 2)) ?? nil ?? ""))
      }
      guard !columns.isEmpty else { return nil }
      self.columns = columns
      self.types = types
      self.generated = generated
      let taken = Set((columns + generated).map(\.asciiLowercased))
      let free = ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
      rowID = if let free, try Self.hasColumn(free, in: name, of: database) { free } else { nil }
    } catch {
      throw FormatError(error)
    }
  }

  /// Returns whether the table has this column. A table declared WITHOUT ROWID doesn't have a row ID.
  private static func hasColumn(_ column: String, in table: String, of database: Database) throws(SQLiteError) -> Bool {
    do throws(SQLiteError) {
      _ = try database.statement("SELECT \(column) FROM \(table.quoted)")
      return true
    } catch {
      if error.code == .sqlLogic { return false }
      throw error
    }
  }
}

extension SQLiteTable {
  /// Returns the table to read, which is the named table or the only table with suitable columns.
  static func find(
    named wanted: String?, mapping: ColumnMapping, in database: Database
  ) throws(FormatError) -> SQLiteTable {
    let tables = try all(in: database)
    if let wanted {
      if let exact = tables.first(where: { $0.name.utf8.elementsEqual(wanted.utf8) }) { return exact }
      if let similar = tables.first(where: { $0.name.asciiLowercased == wanted.asciiLowercased }) { return similar }
      let views = try names(of: "view", in: database)
      let isView = views.contains { $0.asciiLowercased == wanted.asciiLowercased }
      throw missing(
        isView ? "\(wanted) is a view, and a stranger's views are not run" : "there is no table \(wanted)", tables)
    }
    let fitting = tables.filter { mapping.isEmpty ? $0.isOfDocuments : $0.holds(mapping) }
    if fitting.count == 1 { return fitting[0] }
    if let records = fitting.first(where: { $0.name.asciiLowercased == "records" }) { return records }
    if fitting.isEmpty, tables.contains(where: { $0.name == "coffer_header" }) {
      throw FormatError(.missingTable, "it is an encrypted store: export it instead")
    }
    let reason =
      !fitting.isEmpty
      ? "\(fitting.count) tables may be meant"
      : mapping.isEmpty ? "no table has an id, a title and a text column" : "no table has the columns of the mapping"
    throw missing(reason, fitting.isEmpty ? tables : fitting)
  }

  private static func missing(_ reason: String, _ tables: [SQLiteTable]) -> FormatError {
    var error = FormatError(.missingTable, reason)
    error.names = tables.map(\.name)
    return error
  }

  private var isOfDocuments: Bool {
    index(of: "id") != nil && index(of: "title") != nil
      && SQLiteLayout.textNames.contains { index(of: $0) != nil }
  }

  private func holds(_ mapping: ColumnMapping) -> Bool {
    mapping.columns.values.allSatisfy { index(of: $0) != nil }
  }

  /// Returns the index of a mapped column.
  func index(of column: ColumnMapping.Column) -> Int? {
    if let number = column.number { return columns.indices.contains(number - 1) ? number - 1 : nil }
    return index(of: column.name)
  }

  func index(of name: String, excluding excluded: Set<Int> = []) -> Int? {
    ColumnNames(columns).index(of: name, excluding: excluded)
  }
}

extension String {
  /// The text as a quoted SQL identifier.
  var quoted: String { "\"" + replacing(ascii: "\"", with: "\"\"") + "\"" }

  /// The text in the form that SQLite uses to compare names.
  var asciiLowercased: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
}
