public import CofferDocuments
internal import CofferPlatform

/// A source for any input: a file, a directory of texts, or an open stream, in a given or detected format.
public struct InputSource: DraftSource, ReportingSource, Sendable {
  /// The input's format, which is text for a directory. A property list may become a keyed archive when it's read.
  public private(set) var format: InputFormat
  private var source: any DraftSource & ReportingSource & Sendable

  /// Opens a file or directory.
  ///
  /// - Parameters:
  ///   - path: The path of an existing file, or of a directory, whose files are read as texts.
  ///   - format: The format, or `nil` to detect it by content, then by the path's extension.
  ///   - table: The name of the database table, or `nil` to find the table.
  ///   - mapping: The mapping for tables, JSON and property lists.
  ///   - header: The meaning of a table's first row.
  ///   - delimiter: The delimiter for CSV and TSV, or `nil` for the format's default, which is detected for CSV.
  ///   - options: The encoding, the treatment of invalid records, and whether to keep IDs.
  /// - Throws: `unreadable`, `unsupportedFormat` or `undecidedFormat`. `locked` if the file belongs to a store or
  ///   database that this process has open.
  public init(
    opening path: String, format: InputFormat? = nil, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    header: HeaderMode = .automatic, delimiter: UInt8? = nil, options: ReadingOptions = ReadingOptions()
  ) throws(FormatError) {
    var options = options
    options.path = options.path ?? path
    try Self.requireClosed(path)
    let file = try FileDescriptor(opening: path)
    let status = try file.status()
    if status.st_mode & S_IFMT == S_IFDIR {
      try self.init(directory: path, format: format, options: options)
    } else {
      let bytes = FileByteSource(file)
      try self.init(
        bytes, name: path.lastPathComponent, file: path, modified: bytes.modified,
        sizeHint: Int(status.st_size), format: format, table: table, mapping: mapping, header: header,
        delimiter: delimiter, options: options)
    }
  }

  /// Verifies that a path doesn't lead to a file of a store or database that this process has open. Closing such a file
  /// would release SQLite's locks.
  ///
  /// - Throws: `locked`.
  package static func requireClosed(_ path: String) throws(FormatError) {
    guard OpenDatabase.hasFile(at: path) else { return }
    var error = FormatError(.locked, "belongs to a store or database that this process has open", path: path)
    error.advice = "export what it holds, and read that"
    throw error
  }

  /// Returns a function that finds the file of a record for messages, or `nil` if the input isn't a directory.
  ///
  /// - Parameter path: The directory.
  package func files(in path: String) -> ((_ record: Int) -> String?)? {
    guard let source = source as? DirectorySource else { return nil }
    return { source.file(ofRecord: $0, in: path) }
  }

  private init(directory path: String, format: InputFormat?, options: ReadingOptions) throws(FormatError) {
    guard format == nil || format == .text else {
      throw FormatError(.unsupportedFormat, "a directory is read as text only", path: options.path)
    }
    self.format = .text
    source = try DirectorySource(path: path, options: options)
  }

  /// Creates a source for a stream. To detect a format, it reads up to 64 KiB ahead.
  ///
  /// - Parameters:
  ///   - source: The bytes, starting with the first byte.
  ///   - name: The title of a text and a hint to the format, or `nil` for an unnamed stream.
  ///   - path: The path of the stream's file. A database is then read from the file instead of a copy. Before the first
  ///     ``read(into:)``, nothing else in this process may have the file open, and `source` must be gone.
  ///   - modified: The file's modification date, which becomes the date of a text.
  ///   - sizeHint: The approximate number of bytes, if known, which saves memory.
  ///   - format: The format, or `nil` to detect it by content, then by the extension of `name`.
  ///   - table: The name of the database table, or `nil` to find the table.
  ///   - mapping: The mapping for tables, JSON and property lists.
  ///   - header: The meaning of a table's first row.
  ///   - delimiter: The delimiter for CSV and TSV, or `nil` for the format's default, which is detected for CSV.
  ///   - options: The encoding, the treatment of invalid records, and whether to keep IDs.
  /// - Throws: `undecidedFormat` if the format can't be detected, or an error from `source`.
  public init(
    _ source: some ByteSource, name: String? = nil, file path: String? = nil, modified: Timestamp? = nil,
    sizeHint: Int? = nil, format: InputFormat? = nil, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    header: HeaderMode = .automatic, delimiter: UInt8? = nil, options: ReadingOptions = ReadingOptions()
  ) throws(FormatError) {
    var bytes: any ByteSource = source
    if let format {
      self.format = format
    } else {
      let peeked = try PeekedByteSource(source, peeking: InputFormat.detectionByteCount)
      guard
        let found = InputFormat.detect(
          head: peeked.head, headIsWhole: peeked.headIsWhole, pathExtension: name?.pathExtension,
          encoding: options.encoding)
      else { throw FormatError(.undecidedFormat, "the content does not say what format it is", path: options.path) }
      self.format = found
      bytes = peeked
    }
    switch self.format {
    case .text:
      self.source = TextSource(bytes, title: name, modified: modified, sizeHint: sizeHint, options: options)
    case .lines:
      self.source = LinesSource(bytes, options: options)
    case .csv, .tsv:
      let dialect = delimiter.map { DelimitedDialect(delimiter: $0) } ?? (self.format == .tsv ? .tsv : nil)
      self.source = DelimitedSource(bytes, dialect: dialect, mapping: mapping, header: header, options: options)
    case .ndjson:
      self.source = NDJSONSource(bytes, mapping: mapping, options: options)
    case .json:
      self.source = JSONSource(bytes, mapping: mapping, options: options)
    case .plist, .keyedArchive:
      let content: PropertyListSource.Content =
        format == nil ? .automatic : self.format == .plist ? .values : .keyedArchive
      self.source = PropertyListSource(
        bytes, content: content, mapping: mapping, sizeHint: sizeHint, options: options)
    case .sqlite:
      if let path {
        self.source = SQLiteSource(path: path, table: table, mapping: mapping, options: options)
      } else {
        self.source = SQLiteSource(copying: bytes, table: table, mapping: mapping, options: options)
      }
    }
  }

  public var report: ReadingReport { source.report }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    defer {
      if let list = source as? PropertyListSource, let isKeyedArchive = list.isKeyedArchive {
        format = isKeyedArchive ? .keyedArchive : .plist
      }
    }
    return try source.read(into: &batch)
  }
}

extension String {
  /// The last component of a path.
  var lastPathComponent: String {
    split(separator: "/").last.map(String.init) ?? self
  }

  /// The extension without its dot, which is empty for a name that only begins with a dot.
  var pathExtension: String {
    guard let dot = lastIndex(of: "."), dot > startIndex else { return "" }
    return String(self[index(after: dot)...])
  }
}
