/// An index for a collection, to find, filter and sort documents without decrypting all of them.
///
/// An index contains derived data, encrypted like the documents in the same file. You can always drop and rebuild it.
public enum DocumentIndex: Sendable, Hashable {
  /// The words in titles, texts and names of attachments, for ranked search.
  ///
  /// Words are runs of letters, digits and their marks. They're compared like the texts of a search that ignores
  /// ``SearchPattern/Differences/case``, ``SearchPattern/Differences/composition`` and, unless `keepingDiacritics` is
  /// true, ``SearchPattern/Differences/diacritics``. The vowel signs of Indic scripts are letters. In scripts without
  /// spaces between words, such as Chinese, Japanese and Thai, and in Korean, any part of a text is found.
  ///
  /// In stored values, only strings are indexed: all of them, including the digits of an ``AttachmentReference``. To
  /// limit the index to some members, pass their paths, such as `$.text` or `$.tags`. The index then contains the
  /// titles, the names and the strings at and below these paths. A text that isn't JSON doesn't have members.
  case words(in: [String] = [], keepingDiacritics: Bool = false)
  /// The folded sequences of three letters, to find the candidates for a plain text search.
  case substrings
  /// A value from JSON texts or from the header, as a column for queries.
  ///
  /// - `name`: The column's name.
  /// - `path`: A path in the text such as `$.price` or `$.tags[0]`, a header field (`@created`, `@modified`, `@size`,
  ///   `@title` or `@key`), or a path in the attributes such as `@attributes.color`.
  case field(_ name: String, _ path: String, as: Kind)
  /// Two to eight declared fields together, by name, for queries that compare the first fields, and compare or sort by
  /// the last field.
  ///
  /// ```swift
  /// try tx.setIndexes(
  ///   [.field("thread", "$.thread", as: .text), .field("date", "$.date", as: .date), .fields(["thread", "date"])],
  ///   of: "mails")  // WHERE thread = ? AND (date, id) < (?, ?) ORDER BY date DESC, id DESC LIMIT 50
  /// ```
  ///
  /// Without it, such a query reads all entries of one field that match, and sorts them.
  case fields(_ names: [String])
  /// The headers, including titles, dates and sizes, to list a whole collection.
  case titles

  /// The form in which a field is indexed. A value with another type is NULL in queries.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// JSON numbers, and Booleans as 0 and 1. A `Date` that a query compares with such a field is bound as the number
    /// that the store's ``ValueCoding`` writes for it. 64-bit integers are exact, and other numbers are doubles.
    case number
    /// JSON Booleans, as 0 and 1. Numbers aren't Booleans.
    case boolean
    /// JSON strings, compared byte by byte.
    case text
    /// JSON strings, folded to treat strings that only differ in case or composition as equal.
    case folded
    /// Dates as text in UTC with milliseconds, like a `Date` that's bound to a query's parameter. JSON strings with an
    /// ISO 8601 date, time and zone are dates. So are values in the declaring store's ``ValueCoding`` form for dates,
    /// which is a number by default, or a custom strategy's form.
    ///
    /// A program without the custom strategy, such as `dbtool`, indexes the date's JSON as a BLOB until a program with
    /// the strategy reads the index.
    case date
  }
}

extension DocumentIndex {
  /// Returns an index of the words in titles and in one member of stored values.
  ///
  /// ```swift
  /// try tx.setIndexes([.words(in: "$.text")], of: "mails")  // a sender's address is no hit
  /// ```
  public static func words(in path: String, keepingDiacritics: Bool = false) -> DocumentIndex {
    .words(in: [path], keepingDiacritics: keepingDiacritics)
  }
}

/// The values that a field's index found when it was declared.
public struct IndexedField: Sendable, Hashable {
  /// The field's name.
  public let name: String
  /// The number of the collection's documents with a value of the field's kind.
  public let values: Int
  /// The number of the collection's documents without one, which read as NULL.
  public let nulls: Int

  /// A Boolean value that indicates whether there are documents, but all of them lack a value. The field's path or kind
  /// is probably wrong.
  public var hasOnlyNulls: Bool { values == 0 && nulls > 0 }

  package init(name: String, values: Int, nulls: Int) {
    (self.name, self.values, self.nulls) = (name, values, nulls)
  }
}
