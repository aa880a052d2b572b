/// A mapping of document parts to a table's columns, or to the members of JSON objects.
///
/// Unmapped IDs, titles, texts and keys come from columns with the usual names. Dates and collections must be mapped.
public struct ColumnMapping: Hashable, Sendable {
  /// A document part. The raw value is its name in ``init(parsing:)``.
  public enum Part: String, CaseIterable, Hashable, Sendable {
    /// The part with this name. IDs are used only if the reader keeps them, and dates are ISO 8601 or numbers.
    case id, title, text, key, created, modified
    /// The name of the document's collection, such as a folder.
    case collection
  }

  /// A column, identified by name or by number from 1.
  public struct Column: Hashable, Sendable {
    /// The column's name, or the digits of its number.
    public let name: String
    /// The column's number, if the name is a decimal number. Members of JSON objects only have names.
    public let number: Int?

    /// Creates a column with a name. A name that consists of decimal digits is also a number.
    public init(_ name: some StringProtocol) {
      self.name = String(name)
      let isNumber = !name.isEmpty && name.utf8.allSatisfy { (0x30...0x39).contains($0) }
      number = isNumber ? Int(name) : nil
    }
  }

  /// The columns of mapped parts.
  public var columns: [Part: Column]
  /// The unit of numeric dates, or `nil` to read numbers as seconds since 1970, from 1990 to 2100. Without a unit,
  /// other numbers make the record invalid, and eight digits are a day.
  public var dates: NumericDates?

  /// Creates a mapping. Without parts, the reader finds columns by their usual names.
  public init(_ columns: [Part: Column] = [:]) {
    self.columns = columns
  }

  /// Parses `id=COL,title=COL,text=COL,key=COL,created=COL,modified=COL,collection=COL,dates=UNIT`. Each part is
  /// optional, and can occur once. Returns `nil` for other texts. The units are the ``NumericDates`` cases.
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

  /// A Boolean value that indicates whether the mapping is empty.
  public var isEmpty: Bool { columns.isEmpty }
  /// Whether a column is identified by its number. The first row is then a record, unless the caller specifies
  /// otherwise.
  var usesNumbers: Bool { columns.values.contains { $0.number != nil } }

  /// Returns the names at the parts' positions.
  static func names(of places: [Part: Int?], in names: [String]) -> [Part: String] {
    places.compactMapValues { place in place.map { names[$0] } }
  }
}
