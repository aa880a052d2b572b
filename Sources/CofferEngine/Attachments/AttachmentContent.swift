package import CofferDocuments
internal import CofferPlatform
package import CofferRecords

/// The content of a new attachment, from bytes, a file or a stream.
///
/// ```swift
/// try store.write { try $0.attach(.file(photo), to: id) }
/// let recording = try await AttachmentContent.stream(microphone.bytes)
/// try store.write { try $0.attach(recording, to: id, name: "memo.wav") }
/// ```
///
/// Attaching a file or stream of any length uses less than 2 MB of memory.
public struct AttachmentContent: Sendable {
  fileprivate enum Source: Sendable {
    case bytes([UInt8])
    case file(String)
    case collected(SealedContents)
    case parts(DraftAttachment.Reader)
  }

  private let source: Source

  fileprivate init(_ source: Source) {
    self.source = source
  }

  /// Bytes in memory.
  public static func bytes(_ bytes: some Sequence<UInt8>) -> AttachmentContent {
    AttachmentContent(.bytes(Array(bytes)))
  }

  package init(drafted content: DraftAttachment.Content) {
    switch content {
    case .bytes(let bytes): source = .bytes(bytes)
    case .file(let path): source = .file(path)
    case .parts(let reader): source = .parts(reader)
    }
  }

  /// Returns the content of a regular file, which is read when it's attached.
  package static func file(atPath path: String) -> AttachmentContent {
    AttachmentContent(.file(path))
  }

  /// Returns a content with the bytes that a closure passes on, which wait in an encrypted file without a name.
  package static func collected(
    by read: ((UnsafeRawBufferPointer) throws(StoreError) -> Void) throws -> Void
  ) throws -> AttachmentContent {
    let collector = ContentCollector()
    try read { part throws(StoreError) in try collector.append(part) }
    return collector.finish()
  }
}

/// Collects the bytes of a stream, before a transaction begins.
package struct ContentCollector: ~Copyable {
  private let contents = SealedContents(of: "the content of an attachment")

  package init() {}

  package var byteCount: Int { contents.count }

  /// - Throws: `diskFull`, `ioFailure`, or `tooLarge` for more bytes than an attachment has.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    guard contents.count + bytes.count <= ChunkLayout.maximumByteCount else { throw .attachmentTooLarge }
    try contents.append(bytes)
  }

  /// Returns the content.
  package consuming func finish() -> AttachmentContent { AttachmentContent(.collected(contents)) }
}

extension AttachmentContent {
  /// The file's name, or `nil` for other contents.
  package var fileName: String? {
    guard case .file(let path) = source else { return nil }
    return path.split(separator: "/").last.map(String.init)
  }

  /// Passes the content on in parts.
  ///
  /// - Returns: The date of the file, or `nil` for other contents.
  /// - Throws: Errors of `body`, `noSuchFile`, `ioFailure`, `invalidArgument` for a file that isn't a regular file, or
  ///   `locked` for a store that's open in this process.
  func forEachPart(
    _ progress: ProgressHandler?, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws -> Timestamp? {
    var done = 0
    func report(of total: Int) throws {
      try WorkProgress(done: done, total: max(total, done)).tell(progress, stopped: Self.stopped)
    }
    func passOn(_ bytes: UnsafeRawBufferPointer, of total: Int) throws {
      try report(of: total)
      try body(bytes)
      done += bytes.count
    }
    var date: Timestamp?
    switch source {
    case .bytes(let bytes):
      try bytes.withUnsafeBytes { bytes in
        for start in stride(from: 0, to: bytes.count, by: Self.partSize) {
          let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Self.partSize, bytes.count)])
          try passOn(part, of: bytes.count)
        }
      }
    case .collected(let contents):
      let total = contents.count
      for start in stride(from: 0, to: total, by: Self.partSize) {
        try report(of: total)
        try contents.forEachPart(of: start..<min(start + Self.partSize, total), body)
        done = min(start + Self.partSize, total)
      }
    case .file(let path):
      let file = try AttachedFile(path)
      var buffer = [UInt8](repeating: 0, count: Self.partSize)
      try buffer.withUnsafeMutableBytes { buffer in
        while case let count = try file.next(into: buffer), count > 0 {
          try passOn(UnsafeRawBufferPointer(rebasing: buffer[..<count]), of: file.byteCount)
        }
      }
      date = file.date
    case .parts(let read):
      do {
        try read { part in try passOn(part, of: 0) }
      } catch let error as StoreError {
        throw error
      } catch {
        throw StoreError(.ioFailure, "\(error)")
      }
    }
    try report(of: done)
    return date
  }

  private static let stopped = "attaching was stopped; the document is as it was"
  /// The number of bytes between two reports of progress.
  private static let partSize = 256 << 10
}

/// A regular file to attach.
private final class AttachedFile {
  private let path: String
  private let descriptor: Int32
  let byteCount: Int
  let date: Timestamp

  init(_ path: String) throws(StoreError) {
    // Closing a descriptor of a store or its log would release this process's locks on it.
    guard !OpenDatabase.hasFile(at: path) else {
      throw StoreError(.locked, "\(path) belongs to a store that is open", hint: "make a backup, and attach that")
    }
    self.path = path
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = String(cString: strerror(errno))
      guard errno == ENOENT || errno == ENOTDIR else { throw StoreError(.ioFailure, "\(path): \(reason)") }
      throw StoreError(.noSuchFile, "\(path): no such file")
    }
    self.descriptor = descriptor
    var status = stat()
    let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    byteCount = Int(status.st_size)
    date = Timestamp(seconds: Int64(status.modified.tv_sec), nanoseconds: Int64(status.modified.tv_nsec))
    guard isRegular else {
      throw StoreError(
        .invalidArgument, "\(path) isn't a regular file", hint: "attach what can only be read once as a stream")
    }
  }

  deinit {
    close(descriptor)
  }

  func next(into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
    let count = FileBytes.readSome(of: descriptor, into: buffer)
    guard count >= 0 else {
      throw StoreError(.ioFailure, "\(path) can't be read: \(String(cString: strerror(errno)))")
    }
    return count
  }
}

extension StoreError {
  static let attachmentTooLarge = StoreError(.tooLarge, "an attachment has at most 2^40 bytes")
}
