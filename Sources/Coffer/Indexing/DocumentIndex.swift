internal import CofferRecords

/// An index of one collection: derived data that finds, filters and sorts documents without opening all of them.
///
/// An index is sealed like the documents, in pages of the same file. It can always be dropped and made again.
public enum DocumentIndex: Sendable, Hashable {
  /// The words of titles and texts, for ranked search.
  ///
  /// Words are runs of letters and digits; case doesn't count (SQLite's `unicode61`). The words of a stored value are
  /// those of its strings. Diacritics count only if they are kept.
  case words(keepingDiacritics: Bool = false)
  /// Every three letters in a row, folded, by which a plain search for a text finds its candidates.
  case substrings
  /// A value within texts that are JSON, or of the header, as a column of queries.
  ///
  /// - `name`: the column's name.
  /// - `path`: a path within the text, such as `$.price` or `$.tags[0]`; `@created`, `@modified`, `@size`, `@title` or
  ///   `@key` of the header; `@attributes` and a path within the attributes, such as `@attributes.color`.
  case field(_ name: String, _ path: String, as: FieldKind)
  /// Titles, dates and sizes, for lists of a whole collection.
  case titles
}

/// The form in which a field is indexed. A value of another kind counts as none, which is NULL in queries.
public enum FieldKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// JSON numbers: integers of 64 bits exactly, others as double.
  case number
  /// JSON strings, compared byte by byte.
  case text
  /// JSON strings in the form in which keys that differ only in case or composition are one.
  case folded
  /// JSON strings that are ISO 8601 dates with time and zone, as text in UTC with milliseconds.
  case date
}
