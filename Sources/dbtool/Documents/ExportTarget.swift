internal import CofferDocuments
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferText

/// The sink after an export is discarded.
private struct NoSink: DocumentSink {
  func begin() {}
  func write(_ document: OpenedDocument, inCollection collection: String) {}
  func finish() {}
}

/// The output of an export: standard output, a file, or a directory of texts. Appears only when complete.
final class ExportTarget {
  /// Receives the documents.
  var sink: any DocumentSink
  private let file: OutputFile?
  private let directory: OutputDirectory?
  /// The folder for attachment contents.
  private let attachments: OutputDirectory?

  /// - Parameters:
  ///   - path: The output path, or `nil` for standard output.
  ///   - isOneText: Whether `path` is a file for one text rather than a directory.
  ///   - inputs: The files that are read, and never replaced.
  ///   - highestID: The highest ID that the store has assigned.
  ///   - table: The columns and delimiter of a table.
  ///   - attachmentsPath: The folder for contents of attachments in JSON, or `nil` to omit the contents.
  init(
    _ path: String?, format: ExportFormat, options: WritingOptions, separatesCollections: Bool, isForced: Bool,
    isOneText: Bool, inputs: [String], highestID: Int64, table: ExportTable, attachmentsPath: String?
  ) throws {
    let attachments = try attachmentsPath.map { try OutputDirectory(at: $0, isForced: isForced, inputs: inputs) }
    self.attachments = attachments
    let contents = attachments.map { AttachmentFolder(path: $0.temporaryPath) }
    if format == .text, !isOneText {
      guard let path else {
        throw Failure.usage("texts go to a directory, a file each", hint: "name it with -o")
      }
      let directory = try OutputDirectory(at: path, isForced: isForced, inputs: inputs)
      sink = TextDirectorySink(
        path: directory.temporaryPath, separatesCollections: separatesCollections, options: options)
      self.directory = directory
      file = nil
      return
    }
    directory = nil
    guard format != .sqlite || path != nil else {
      throw Failure.usage("a database goes to a file", hint: "name it with -o")
    }
    if let path {
      let file = try OutputFile(
        at: path, isForced: isForced, inputs: inputs, permissions: OutputFile.privatePermissions,
        needsName: format == .sqlite)
      if format == .sqlite {
        guard let temporaryPath = file.temporaryPath else {
          throw Failure.failed("\(path) is no file, and a database needs one")
        }
        sink = try SQLiteSink(path: temporaryPath)
        file.unlinkTemporaryName()
        self.file = file
        return
      }
      sink = Self.sink(to: Self.output(file.descriptor), format, options, highestID, table, contents)
      self.file = file
      return
    }
    file = nil
    let output = Self.output(STDOUT_FILENO)
    if Terminal.standardOutputIsTerminal {
      guard format != .plist else {
        throw Failure.usage("a binary property list is nothing for a terminal", hint: "write it to a file with -o")
      }
      guard options.encoding == .utf8 else {
        throw Failure.usage(
          "a terminal shows UTF-8, not \(options.encoding.rawValue)", hint: "write it to a file with -o")
      }
      sink = Self.sink(
        to: TerminalSink(output, isJSON: format == .ndjson || format == .json), format, options, highestID, table,
        contents)
    } else {
      sink = Self.sink(to: output, format, options, highestID, table, contents)
    }
  }

  /// Returns the output, which can be a pipe whose reader has stopped reading.
  private static func output(_ descriptor: Int32) -> FileByteSink {
    FileByteSink(descriptor: descriptor, unless: { Interrupt.isRequested })
  }

  func commit() throws {
    // Commit attachments first, because the file names the files in this folder.
    try attachments?.commit()
    try file?.commit()
    try directory?.commit()
  }

  /// The paths of replaced exports that can't be removed.
  var leftovers: [String] { [attachments, directory].compactMap { $0?.leftover } }

  func discard() {
    // Close the files, because removing folders needs descriptors.
    sink = NoSink()
    file?.discard()
    directory?.discard()
    attachments?.discard()
  }

  private static func sink<Sink: ByteSink>(
    to output: Sink, _ format: ExportFormat, _ options: WritingOptions, _ highestID: Int64,
    _ table: ExportTable, _ contents: AttachmentFolder?
  ) -> any DocumentSink {
    switch format {
    case .csv, .tsv: DelimitedSink(output, dialect: table.dialect, columns: table.columns, options: options)
    case .json: JSONSink(output, attachments: contents)
    case .plist: PropertyListSink(output, highestID: highestID, writesAttributes: true)
    case .text: TextSink(output, options: options)
    case .ndjson, .sqlite: NDJSONSink(output, attachments: contents)
    }
  }
}
