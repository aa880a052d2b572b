internal import CofferDocuments
internal import CofferPlatform

/// A folder with the attachment contents of an export, which an import reads.
///
/// A file is opened when it's read, and only inside the folder. Symbolic links and paths that lead out of the folder
/// aren't followed.
public struct AttachmentFiles: Sendable {
  private static let partSize = 256 << 10

  private let directory: FileDescriptor
  private let path: String

  /// Opens the folder at `path`, which must exist.
  ///
  /// - Throws: `unreadable`.
  public init(path: String) throws(FormatError) {
    let directory = try FileDescriptor(opening: path)
    guard try directory.status().st_mode & S_IFMT == S_IFDIR else {
      throw FormatError(.unreadable, "not a folder", path: path)
    }
    self.init(directory, path: path)
  }

  /// - Parameter path: The folder's name in errors.
  init(_ directory: FileDescriptor, path: String) {
    self.directory = directory
    self.path = path.hasSuffix("/") ? path : path + "/"
  }

  /// Returns an entry's attachment, or `nil` if the entry doesn't have a file.
  ///
  /// - Parameter options: With ``RecordErrorMode/skip``, the method reads the file to check it, because a record with
  ///   an unreadable file is then skipped.
  /// - Throws: `unreadable`, or `malformed` if the content's SHA-256 differs from the entry's.
  func attachment(_ entry: AttachmentEntry, _ options: ReadingOptions) throws(FormatError) -> DraftAttachment? {
    guard let file = entry.file else { return nil }
    let date = Timestamp(changeOf: try status(file))
    if options.onError == .skip {
      do {
        try read(file, entry.sha256) { _ in
          if options.shouldStop?() == true { throw FormatError(.unreadable, "reading was stopped") }
        }
      } catch {
        throw error as? FormatError ?? FormatError(.unreadable, "\(error)", path: name(of: file))
      }
    }
    return DraftAttachment(
      name: entry.name, mediaType: entry.mediaType, date: entry.date ?? date,
      content: .parts { body in try read(file, entry.sha256, body) })
  }

  private func name(of file: [UInt8]) -> String { path + String(decoding: file, as: UTF8.self) }

  private func open(_ file: [UInt8]) throws(FormatError) -> FileDescriptor {
    guard file.isPathWithinFolder else {
      throw FormatError(.malformed, "a path that leads out of the folder", path: name(of: file))
    }
    return try directory.openListed(file, path: name(of: file))
  }

  private func status(_ file: [UInt8]) throws(FormatError) -> stat {
    let status = try open(file).status()
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FormatError(.unreadable, "an attachment that is no regular file", path: name(of: file))
    }
    return status
  }

  private func read(
    _ path: [UInt8], _ sha256: [UInt8]?, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let file = try open(path)
    let digest = sha256.map { _ in ContentDigest() }
    var buffer = [UInt8](repeating: 0, count: Self.partSize)
    try buffer.withUnsafeMutableBytes { buffer in
      while true {
        let count: Int
        do throws(FormatError) {
          count = try file.read(into: buffer)
        } catch {
          var error = error
          error.path = name(of: path)
          throw error
        }
        guard count > 0 else { break }
        let part = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        digest?.update(part)
        try body(part)
      }
    }
    guard digest?.finish() == sha256 else {
      throw FormatError(.malformed, "the content isn't the one that its sha256 says", path: name(of: path))
    }
  }
}

extension [UInt8] {
  /// A Boolean value that indicates whether the bytes are names separated by slashes. An attacker's index must not
  /// choose files outside the folder.
  var isPathWithinFolder: Bool {
    !contains(0)
      && split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
        !$0.isEmpty && !$0.elementsEqual([0x2E]) && !$0.elementsEqual([0x2E, 0x2E])
      }
  }
}

extension FileDescriptor {
  /// Opens a listed file in this directory without following links, because an index from an untrusted source must not
  /// choose files elsewhere.
  func openListed(_ file: [UInt8], path: String) throws(FormatError) -> FileDescriptor {
    var entry = self
    for component in file.split(separator: UInt8(ascii: "/")) {
      guard case .file(let next) = try entry.openEntry(Array(component), followsLinks: false, path: path) else {
        throw FormatError(.unreadable, "a file of the index is not there, or is a link", path: path)
      }
      entry = next
    }
    return entry
  }
}
