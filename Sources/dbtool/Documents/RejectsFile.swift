internal import CofferFormats
internal import CofferPlatform

/// The file of records that an import rejected. Line formats keep records verbatim under the header row. Other formats
/// get an object for each record with its number and the reason. Created with the first rejected record.
final class RejectsFile: @unchecked Sendable {
  // Only the reading thread calls `add`, and it has ended before any other method is called.

  private let path: String
  private let input: String
  private let sources: [String]
  private let isFolder: Bool
  private var file: OutputFile?
  private var buffer: [UInt8] = []
  /// A Boolean value that indicates whether documents are stored, so the file is needed even after an error.
  var hasStored = false
  private var failure: (any Error)?
  /// The detected format of the input.
  var format = InputFormat.text

  /// - Parameters:
  ///   - input: The only input, as named by the user.
  ///   - store: The store's file, which also must not be overwritten.
  init(at path: String, input: String, store: String) throws {
    guard path != InputFile.standardInput else {
      throw Failure.usage("--rejects takes a file: standard output has the report")
    }
    guard !InputFile.exists(path) else {
      throw Failure(
        .failed, kind: "already-exists", "\(path) exists already", hint: "remove it, or name another for --rejects")
    }
    self.path = path
    self.input = input
    sources = [input, store]
    isFolder = InputFile.isDirectory(input)
  }

  /// A Boolean value that indicates whether records are kept verbatim. Concatenated files of a folder aren't an input.
  private var isRaw: Bool { !isFolder && [.text, .lines, .csv, .tsv, .ndjson].contains(format) }

  func add(_ rejection: Rejection) {
    do {
      if isRaw {
        // A record beyond the limit is reported, but its bytes aren't kept.
        guard !rejection.bytes.isEmpty else { return }
        try begin(with: rejection.headBytes)
        buffer += rejection.bytes
      } else {
        try begin(with: [])
        let error = rejection.error
        let facts: [(String, JSONValue?)] = [
          ("input", .string(error.path ?? input)), ("record", .integer(rejection.record)),
          ("line", error.location.flatMap(\.line).map { .integer($0) }), ("error", .string(error.reason)),
        ]
        buffer += JSONValue.object(present: facts).serialized.utf8
        buffer.append(UInt8(ascii: "\n"))
      }
      if buffer.count >= StandardOutput.bufferSize { try flush() }
    } catch {
      failure = failure ?? error
    }
  }

  private func begin(with head: [UInt8]) throws {
    guard file == nil else { return }
    file = try OutputFile(at: path, isForced: false, inputs: sources, permissions: OutputFile.privatePermissions)
    buffer = head
  }

  /// Writes pending records. Call this method before committing the documents.
  ///
  /// - Throws: An error if a record couldn't be written.
  func flush() throws {
    if let failure { throw failure }
    guard let file, !buffer.isEmpty else { return }
    var sink = FileByteSink(descriptor: file.descriptor)
    do {
      try buffer.withUnsafeBytes { try sink.write($0) }
    } catch let error as FormatError {
      throw Failure.system(error.systemError ?? EIO, path)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Publishes the file after an error if ``hasStored``, and removes it otherwise.
  func end() {
    do { if hasStored { try commit() } else { discard() } } catch { discard() }
  }

  /// Publishes the file if a record was rejected.
  func commit() throws {
    try flush()
    try file?.commit()
  }

  func discard() {
    file?.discard()
  }
}
