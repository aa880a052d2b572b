internal import CofferPlatform

/// A copy of a database and its journal or log, in a new directory that only this user can access (mode 0700).
///
/// The names are removed as soon as SQLite has opened the files, which remain readable. If the process is killed before
/// that, the directory remains until the next copy is made next to it.
final class PrivateCopy {
  /// The path of the database.
  let path: String
  private let directory: TemporaryEntry

  /// Copies a database and its adjacent files.
  ///
  /// - Parameter options: The directory, and the stop flag, which is polled between pieces.
  init(_ options: ReadingOptions, _ copy: (Files) throws(FormatError) -> Void) throws(FormatError) {
    let usual = getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    let parent = options.temporaryDirectory ?? usual
    TemporaryEntry.removeAbandoned(in: parent)
    guard let directory = TemporaryEntry(folder: parent + "/" + TemporaryName.privateCopy()) else {
      throw .system(.unwritable, "cannot make a directory for a private copy", path: parent)
    }
    self.directory = directory
    path = directory.path + "/copy"
    do throws(FormatError) {
      try copy(Files(path: path, shouldStop: options.shouldStop))
    } catch {
      removeNames()
      throw error
    }
  }

  deinit {
    removeNames()
  }

  func removeNames() { directory.removeFolder() }

  /// Writes the copy's files.
  struct Files {
    private static let pieceSize = 1 << 20

    fileprivate let path: String
    fileprivate let shouldStop: (() -> Bool)?

    /// The error for the current `errno`.
    private var failure: FormatError {
      var error = FormatError.system(.unwritable, "cannot write a private copy at \(path)")
      error.advice = "name a folder with more room in TMPDIR"
      return error
    }

    /// - Parameters:
    ///   - suffix: The suffix to append to the database's name.
    ///   - limit: The maximum number of bytes to copy.
    func write(_ suffix: String, from source: some ByteSource, limit: Int = .max) throws(FormatError) {
      var source = source
      let number = open(path + suffix, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw failure }
      let file = FileDescriptor(owning: number)
      var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
      var left = limit
      while left > 0 {
        if shouldStop?() == true { throw FormatError(.unreadable, "reading was stopped") }
        let count = min(try source.read(into: &buffer, from: 0), left)
        guard count > 0 else { return }
        do throws(FormatError) {
          try file.write(buffer, count: count)
        } catch {
          throw failure
        }
        left -= count
      }
    }
  }
}

extension FileDescriptor {
  /// Writes an array's first bytes.
  fileprivate func write(_ bytes: [UInt8], count: Int) throws(FormatError) {
    let result: Result<Void, FormatError> = bytes.withUnsafeBytes { buffer in
      Result { () throws(FormatError) in try write(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
    }
    try result.get()
  }
}
