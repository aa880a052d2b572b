public import CofferDocuments

/// A document for each row of a table in a SQLite database, in the order of the rows' numbers.
///
/// The table is the one that is named, or the only one with an id, a title and a text column (`text`, `txt` or `body`;
/// `records` is preferred). Its columns become the parts assigned by ``ColumnMapping``, every other one an attribute;
/// without a text column, each row is a value, a JSON object, and its title `title` or else `name`. In JSON a
/// blob is `{"$base64":"…"}`, a real that is not finite `{"$real":"inf"}`, and integers are exact: as attributes,
/// beyond 2^53, they are strings. A table that ``SQLiteSink`` made is read back in its order, with keys, dates and
/// attributes.
///
/// Any text encoding and tables WITHOUT ROWID are read. Generated columns are left out
/// (``ReadingReport/generatedColumns``); expressions, views, virtual tables and triggers of the file never run. The file and those beside it never change: if SQLite would have to write in order to read (a journal
/// of a killed writer, a write-ahead log), it reads a private copy under `TMPDIR`, whose name is removed at once, and
/// ``ReadingReport/privateCopy`` has the reason. Nothing is opened before the first ``read(into:)``; one read
/// transaction lasts to the end.
public struct SQLiteSource: DraftSource, ReportingSource, Sendable {
  private let reader: SQLiteReader

  /// Reads a table of the database at `path`; nothing is opened before the first ``read(into:)``.
  ///
  /// - Parameters:
  ///   - path: an existing file.
  ///   - table: the table's name; nil finds it.
  ///   - mapping: the columns of the parts; other columns are found by their usual names.
  ///   - options: bad records, kept ids; their encoding is ignored in favour of the database's own.
  public init(
    path: String, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    options: ReadingOptions = ReadingOptions()
  ) {
    reader = SQLiteReader(table: table, mapping: mapping, options: options) { () throws(FormatError) in
      try SQLiteFile(path: path, options: options)
    }
  }

  /// Reads a table of a database from a stream: SQLite needs a file, so that a private copy is made first.
  ///
  /// The copy is in ``ReadingOptions/temporaryDirectory``, in plaintext like the stream; its name is removed at once.
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
