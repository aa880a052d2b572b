public import CofferDocuments
internal import Glibc

/// Any input that can be read: a file, a directory of texts, or an open stream; its format given or found out.
public struct InputSource: DraftSource, ReportingSource, Sendable {
  /// What the input was taken for; a directory counts as text. Whether a property list is a keyed archive may turn out
  /// only when it is read.
  public private(set) var format: InputFormat
  private var source: any DraftSource & ReportingSource & Sendable

  /// Opens a file or directory.
  ///
  /// - Parameters:
  ///   - format: nil finds it out by content, then by the path's extension.
  ///   - table: of a database; nil finds it.
  ///   - mapping: for tables, JSON and property lists.
  ///   - header: for tables.
  /// - Throws: `unreadable`, `unsupportedFormat`, `undecidedFormat`.
  public init(
    opening path: String, format: InputFormat? = nil, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    header: HeaderMode = .automatic, options: ReadingOptions = ReadingOptions()
  ) throws(FormatError) {
    var options = options
    options.path = options.path ?? path
    let file = try FileDescriptor(opening: path)
    let status = try file.status()
    if status.st_mode & S_IFMT == S_IFDIR {
      try self.init(directory: path, format: format, options: options)
    } else {
      try self.init(
        FileByteSource(file), name: path.lastPathComponent, file: path, sizeHint: Int(status.st_size), format: format,
        table: table, mapping: mapping, header: header, options: options)
    }
  }

  private init(directory path: String, format: InputFormat?, options: ReadingOptions) throws(FormatError) {
    guard format == nil || format == .text else {
      throw FormatError(.unsupportedFormat, "a directory is read as text only", path: options.path)
    }
    self.format = .text
    source = try DirectorySource(path: path, options: options)
  }

  /// Reads a stream.
  ///
  /// - Parameters:
  ///   - name: the name that gives a text its title and the format a hint; nil where there is none.
  ///   - path: the file that the bytes come from, which a database is read in, in place of a copy; it must be free of
  ///     other users in this process, and `source` gone, before the first ``read(into:)``.
  public init(
    _ source: some ByteSource, name: String? = nil, file path: String? = nil, sizeHint: Int? = nil,
    format: InputFormat? = nil, table: String? = nil, mapping: ColumnMapping = ColumnMapping(),
    header: HeaderMode = .automatic,
    options: ReadingOptions = ReadingOptions()
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
      self.source = TextSource(bytes, title: name, sizeHint: sizeHint, options: options)
    case .lines:
      self.source = LinesSource(bytes, options: options)
    case .csv:
      self.source = DelimitedSource(bytes, dialect: .csv, mapping: mapping, header: header, options: options)
    case .tsv:
      self.source = DelimitedSource(bytes, dialect: .tsv, mapping: mapping, header: header, options: options)
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
  /// What follows the last slash.
  var lastPathComponent: String {
    split(separator: "/").last.map(String.init) ?? self
  }

  /// What follows the last dot of a name, without it; nothing when the name only begins with it.
  var pathExtension: String {
    guard let dot = lastIndex(of: "."), dot > startIndex else { return "" }
    return String(self[index(after: dot)...])
  }
}
