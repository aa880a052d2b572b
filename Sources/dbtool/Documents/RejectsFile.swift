internal import CofferFormats
internal import CofferPlatform

/// The file of records that an import rejected: verbatim and under the header row for formats of lines, else an object
/// for each with its number and the reason. Created with the first rejected record.
final class RejectsFile: @unchecked Sendable {
  // Only the reading thread calls `add`, and it has ended before any other method is called.

  private let path: String
  private let input: String
  private let sources: [String]
  private let isFolder: Bool
  private var file: OutputFile?
  private var buffer: [UInt8] = []
  /// Whether documents of the input are in the store, so that the rejected records are needed also after an error.
  var hasStored = false
  private var failure: (any Error)?
  /// The detected format of the input.
  var format = InputFormat.text

  /// - Parameters:
  ///   - input: the only input, as named by the user.
  ///   - store: the store's file, which must not be overwritten either.
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

  /// The files of a folder put together are no input.
  private var isRaw: Bool { !isFolder && [.text, .lines, .csv, .tsv, .ndjson].contains(format) }

  func add(_ rejection: Rejection) {
    do {
      if isRaw {
        // A record beyond the limit is reported, but its bytes are not kept.
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

  /// Must be called before the documents are committed.
  ///
  /// - Throws: if a record could not be written.
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

  /// Publishes the file, if any record was rejected.
  func commit() throws {
    try flush()
    try file?.commit()
  }

  func discard() {
    file?.discard()
  }
}
