/// Assigns columns of a table, or members of JSON objects, to the parts of a document.
///
/// Id, title, text and key are found by their usual names if they are not mapped; dates and collection only if they
/// are.
public struct ColumnMapping: Hashable, Sendable {
  /// A part of a document. The raw value is its name in ``init(parsing:)``.
  public enum Part: String, CaseIterable, Hashable, Sendable {
    /// A part of that name; ids are used only if the reader keeps them, and dates are ISO 8601 or numbers.
    case id, title, text, key, created, modified
    /// The name of the collection that the document goes to, such as a folder.
    case collection
  }

  /// A column by name, or by number from 1.
  public struct Column: Hashable, Sendable {
    /// The column's name, or the digits of its number.
    public let name: String
    /// The column's number, if the name is a decimal number; members of JSON objects have names only.
    public let number: Int?

    /// The column of that name; a name of decimal digits is a number, too.
    public init(_ name: some StringProtocol) {
      self.name = String(name)
      let isNumber = !name.isEmpty && name.utf8.allSatisfy { (0x30...0x39).contains($0) }
      number = isNumber ? Int(name) : nil
    }
  }

  /// The columns of the mapped parts.
  public var columns: [Part: Column]
  /// The unit of dates that are numbers. Without one, a number is seconds since 1970, from 1990 to 2100; any other
  /// number makes a bad record, and eight digits are a day.
  public var dates: NumericDates?

  /// A mapping of these parts; without any, parts are found by their usual names.
  public init(_ columns: [Part: Column] = [:]) {
    self.columns = columns
  }

  /// Reads `id=COL,title=COL,text=COL,key=COL,created=COL,modified=COL,collection=COL,dates=UNIT`, any of them, each at
  /// most once; nil for anything else. Units are those of ``NumericDates``.
  public init?(parsing text: some StringProtocol) {
    columns = [:]
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      if dates == nil, item.hasPrefix("dates="), let unit = NumericDates(rawValue: String(item.dropFirst(6))) {
        dates = unit
        continue
      }
      guard let mark = item.firstIndex(of: "="), let part = Part(rawValue: String(item[..<mark])),
        columns[part] == nil, item.index(after: mark) < item.endIndex
      else { return nil }
      columns[part] = Column(item[item.index(after: mark)...])
    }
  }

  /// Whether no part is mapped.
  public var isEmpty: Bool { columns.isEmpty }
  /// Whether a column is given by its number: then the first row is a record, unless the caller says otherwise.
  var usesNumbers: Bool { columns.values.contains { $0.number != nil } }

  /// The names at the places of parts.
  static func names(of places: [Part: Int?], in names: [String]) -> [Part: String] {
    places.compactMapValues { place in place.map { names[$0] } }
  }
}
