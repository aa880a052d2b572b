public import CofferDocuments
internal import CofferPlatform

/// Any input: a file, a directory of texts, or an open stream, in a given or detected format.
public struct InputSource: DraftSource, ReportingSource, Sendable {
  /// The format of the input; a directory counts as text. A property list may turn out to be a keyed archive only when
  /// it is read.
  public private(set) var format: InputFormat
  private var source: any DraftSource & ReportingSource & Sendable

  /// Opens a file or directory.
  ///
  /// - Parameters:
  ///   - path: an existing file, or a directory, which is read as texts.
  ///   - format: nil detects it by content, then by the path's extension.
  ///   - table: the table of a database; nil finds it.
  ///   - mapping: for tables, JSON and property lists.
  ///   - header: for tables.
  ///   - delimiter: for CSV and TSV; nil is the format's own, which for CSV may be another than the comma.
  ///   - options: encoding, bad records, kept ids.
  /// - Throws: `unreadable`, `unsupportedFormat`, `undecidedFormat`. `locked` for a file of a store or database that
  ///   this process has open.
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

  /// Requires a path not to lead to a file of a store or database that this process has open. Closing such a file would
  /// end SQLite's locks.
  ///
  /// - Throws: `locked`.
  package static func requireClosed(_ path: String) throws(FormatError) {
    guard OpenDatabase.hasFile(at: path) else { return }
    var error = FormatError(.locked, "belongs to a store or database that this process has open", path: path)
    error.advice = "export what it holds, and read that"
    throw error
  }

  private init(directory path: String, format: InputFormat?, options: ReadingOptions) throws(FormatError) {
    guard format == nil || format == .text else {
      throw FormatError(.unsupportedFormat, "a directory is read as text only", path: options.path)
    }
    self.format = .text
    source = try DirectorySource(path: path, options: options)
  }

  /// Reads a stream. To detect a format it reads up to 64 KiB ahead.
  ///
  /// - Parameters:
  ///   - source: the bytes, from the first one on.
  ///   - name: the title of a text and a hint to the format; nil if there is none.
  ///   - path: the file of the bytes, in which a database is read instead of a copy; before the first ``read(into:)``,
  ///     nothing else in this process may have it open, and `source` must be gone.
  ///   - modified: the date of the file's last change, which becomes the date of a text.
  ///   - sizeHint: the approximate number of bytes, if known, which saves memory.
  ///   - format: nil detects it by content, then by the extension of `name`.
  ///   - table: the table of a database; nil finds it.
  ///   - mapping: for tables, JSON and property lists.
  ///   - header: for tables.
  ///   - delimiter: for CSV and TSV; nil is the format's own, which for CSV may be another than the comma.
  ///   - options: encoding, bad records, kept ids.
  /// - Throws: `undecidedFormat` if the format can't be detected, and errors of `source`.
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

  /// The extension without its dot; empty for a name that only begins with a dot.
  var pathExtension: String {
    guard let dot = lastIndex(of: "."), dot > startIndex else { return "" }
    return String(self[index(after: dot)...])
  }
}
