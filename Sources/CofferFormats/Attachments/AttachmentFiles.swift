internal import CofferDocuments
internal import CofferPlatform

/// The folder with the contents of attachments that an export wrote, as an import reads it.
///
/// A file is opened when it's read, and only inside the folder: neither through a symbolic link nor by a path that leads
/// out of it.
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

  /// Returns the attachment of an entry, or `nil` for an entry without a file.
  ///
  /// - Parameter options: With ``RecordErrorMode/skip``, the file is read for a check, because a record with a file that
  ///   can't be read is then left out.
  /// - Throws: `unreadable`, or `malformed` for a content with another SHA-256 than the entry says.
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
  /// True for names separated by slashes: an attacker's index must not choose files elsewhere.
  var isPathWithinFolder: Bool {
    !contains(0)
      && split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
        !$0.isEmpty && !$0.elementsEqual([0x2E]) && !$0.elementsEqual([0x2E, 0x2E])
      }
  }
}

extension FileDescriptor {
  /// Opens a file in this directory that an index lists, never through a link, because an index of a stranger must not
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
