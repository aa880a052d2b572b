public import CofferDocuments

/// A document for each row of a table in a SQLite database, in the order of the rows' numbers.
///
/// The table is the one that is named, or the only one with an id, a title and a text column (`text`, `txt` or
/// `body`; `records` goes before others). Its columns become the parts that ``ColumnMapping`` says, every other one an
/// attribute; where no column is the text, the text is the whole row as a JSON object, and the title what `title` or
/// else `name` says. In JSON a blob is `{"$base64":"…"}`, a real that is not finite `{"$real":"inf"}`, and integers are
/// exact: as attributes, beyond 2^53, they are strings. A table that ``SQLiteSink`` made is read back in its order, with
/// keys, dates and attributes.
///
/// Any text encoding, tables WITHOUT ROWID and generated columns are read; views, virtual tables and triggers of the
/// file never run. The file, and what stands beside it, is never changed: where SQLite would have to write to read
/// rightly (a journal that a killed writer left, a write-ahead log), it reads a private copy under `TMPDIR`, which is
/// gone from sight at once, and ``ReadingReport/privateCopy`` says why. Nothing is opened before the first
/// ``read(into:)``; one read transaction lasts to the end.
public struct SQLiteSource: DraftSource, ReportingSource, Sendable {
  private let reader: SQLiteReader

  /// - Parameters:
  ///   - table: nil finds it.
  ///   - options: the encoding is the database's own, whatever they say.
  public init(
    path: String, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    options: ReadingOptions = ReadingOptions()
  ) {
    reader = SQLiteReader(table: table, mapping: mapping, options: options) { () throws(FormatError) in
      try SQLiteFile(path: path, options: options)
    }
  }

  /// Reads a database that is no file: SQLite needs one, so it is copied to a private place first.
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
