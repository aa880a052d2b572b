internal import ArgumentParser
internal import Coffer
internal import CofferDocuments

/// `query STORE SQL [PARAM…]`: runs one SELECT over the decrypted documents.
struct QueryVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Run a read-only SQL query.",
    discussion: """
      Runs one SELECT over the view documents(collection, id, position, title, text, key, created, modified, isJSON, \
      size, parent, attributes, json), with all SQLite functions, including JSON functions. json is the text if it is \
      JSON, or else NULL, and isn't part of *. The query sees a snapshot of all collections. Decrypted data stays in \
      memory and is gone when the command ends. Rows are printed as they come, but rows that ORDER BY, GROUP BY and \
      DISTINCT collect first stay in memory too. Each ? takes a PARAM, in order. A PARAM in the form of a JSON number \
      is bound as a number, and any other PARAM as text (CAST(? AS TEXT) makes a number text again).

        dbtool query texts.coffer "SELECT id, title FROM documents WHERE title LIKE 'a%'" --key-file my.key
        dbtool query texts.coffer "SELECT title, json ->> '$.price' AS price FROM documents
          WHERE collection = ? AND price < ?" shop 10 --json
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The SELECT.", valueName: "sql"))
  var sql: String

  @Argument(
    help: ArgumentHelp("Values for the parameters ('--' before a value that begins with a dash).", valueName: "param"))
  var parameters: [String] = []

  func run() throws {
    let store = try options.open(readOnly: true)
    var table: TableWriter?
    try store.read { reader in
      try reader.withQuery(sql, parameters: parameters.map(Self.value)) { rows in
        let columns = zip(Self.unique(rows.columnNames), rows.declaredTypes).map { name, type in
          TableWriter.Column(name: name, isNumber: type == "INTEGER")
        }
        var writer = TableWriter(columns: columns, format: options.common.listFormat)
        while let row = try rows.next() { try writer.add(row.values.map(Self.cell)) }
        table = writer
      }
    }
    try store.close()
    try table?.finish()
  }

  /// Returns a number if the argument is a JSON number, or otherwise the text.
  private static func value(_ argument: String) -> SQLiteValue {
    guard let first = argument.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
      return .text(argument)
    }
    if let integer = Int64(argument), String(integer) == argument { return .integer(integer) }
    let isNumber = argument.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil
    if isNumber, let real = Double(argument), real.isFinite { return .real(real) }
    return .text(argument)
  }

  /// Adds numbers to duplicate names, like SQLite's subqueries, because the members of an object must differ.
  private static func unique(_ names: [String]) -> [String] {
    var taken: Set<String> = []
    return names.map { name in
      var unique = name
      var number = 0
      while !taken.insert(unique).inserted {
        number += 1
        unique = "\(name):\(number)"
      }
      return unique
    }
  }

  private static func cell(_ value: SQLiteValue) -> JSONValue? {
    switch value {
    case .null: .null
    case .integer(let integer): .integer(integer)
    case .real(let real): real.isFinite ? .number(real) : .object([("$real", .string(real < 0 ? "-inf" : "inf"))])
    case .text(let text): .string(text)
    case .blob(let bytes): .object([("$base64", .string(Base64.text(bytes)))])
    }
  }
}
