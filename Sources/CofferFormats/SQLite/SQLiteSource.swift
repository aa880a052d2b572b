public import CofferDocuments

/// A document source for a table in a SQLite database. Each row becomes a document, in the order of the row IDs.
///
/// If you don't name a table, the source reads the only table with the mapped columns. Without a mapping, it reads the
/// only table with an ID, a title and a text column (`text`, `txt` or `body`). If several tables match, it reads
/// `records`. ``ColumnMapping`` assigns columns to a document's parts, and other columns become attributes. Without a
/// text column, each row becomes a value, which is a JSON object, and its title is in the column `title`, or otherwise
/// `name`. By default, JSON represents a blob as `{"$base64":"…"}`, and a real number that isn't finite as
/// `{"$real":"inf"}`. Integers are exact, so attributes represent integers beyond 2^53 as strings. A table that
/// ``SQLiteSink`` created is read in its original order, with keys, dates and attributes.
///
/// The source reads any text encoding, and tables declared WITHOUT ROWID. It skips generated columns
/// (``ReadingReport/generatedColumns``), and never runs the file's expressions, views, virtual tables and triggers. The
/// database and its adjacent files never change. If the rows are far larger than the file, as only in a malicious file,
/// reading ends with `malformed`. If SQLite would have to write before it can read, because a killed writer left a
/// journal or the write-ahead log contains changes, the source reads a private copy in
/// ``ReadingOptions/temporaryDirectory``. The copy's name is removed as soon as SQLite has opened the copy.
/// ``ReadingReport/privateCopy`` contains the reason for the copy. The first ``read(into:)`` opens the database, and a
/// single read transaction lasts until the end.
public struct SQLiteSource: DraftSource, ReportingSource, Sendable {
  private let reader: SQLiteReader

  /// Creates a source for a table in the database at `path`, which the first ``read(into:)`` opens.
  ///
  /// - Parameters:
  ///   - path: The path of an existing file.
  ///   - table: The table's name, or `nil` to find the table.
  ///   - mapping: The columns for the document's parts. Unmapped parts come from columns with the usual names.
  ///   - options: The options for reading, such as the treatment of invalid records and IDs. The encoding is ignored,
  ///     because the database determines it.
  public init(
    path: String, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    options: ReadingOptions = ReadingOptions()
  ) {
    reader = SQLiteReader(table: table, mapping: mapping, options: options) { () throws(FormatError) in
      try SQLiteFile(path: path, options: options)
    }
  }

  /// Creates a source for a database table from a stream.
  ///
  /// SQLite needs a file, so the first ``read(into:)`` makes a private copy in ``ReadingOptions/temporaryDirectory``.
  /// The copy is in plaintext, like the stream. Its name is removed as soon as SQLite has opened the copy.
  public init(
    copying source: some ByteSource, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    options: ReadingOptions = ReadingOptions()
  ) {
    reader = SQLiteReader(table: table, mapping: mapping, options: options) { () throws(FormatError) in
      try SQLiteFile(copying: source, options: options)
    }
  }

  public var report: ReadingReport { reader.report }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    try reader.read(into: &batch)
  }
}
