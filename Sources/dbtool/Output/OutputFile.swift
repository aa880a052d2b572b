internal import Coffer
internal import CofferEngine
internal import CofferPlatform

/// A file that is unnamed, or has a temporary name next to its target, until it is complete.
///
/// Only its owner can read the file until ``commit()``. An unnamed file vanishes with a killed process. A target that
/// isn't a regular file (`/dev/null`, a named pipe) is written directly.
final class OutputFile {
  private enum Place {
    /// The target itself.
    case target
    /// An unnamed file, which the file system frees when its descriptor is closed.
    case unnamed
    case beside(TemporaryEntry)
    /// A file whose temporary name was unlinked. `commit` copies it to the unnamed file.
    case copied(TemporaryEntry, to: Int32)
  }

  let path: String
  let descriptor: Int32
  private var place: Place
  private let replacesExisting: Bool
  private var isOpen = true

  /// - Parameters:
  ///   - isForced: Whether to replace an existing file.
  ///   - inputs: The files being read, which must not be overwritten.
  ///   - permissions: The permissions of the finished file.
  ///   - needsName: Whether the writer opens ``temporaryPath`` itself.
  init(at path: String, isForced: Bool, inputs: [String], permissions: mode_t, needsName: Bool = false) throws {
    self.path = path
    replacesExisting = isForced
    var status = stat()
    if stat(path, &status) == 0 {
      switch status.st_mode & S_IFMT {
      case S_IFREG:
        guard !inputs.contains(where: { InputFile.isSameFile(path, $0) }) else { throw Failure.outputIsInput(path) }
        guard !StoreWord.isStore(path) else {
          throw Failure(
            .failed, kind: "already-exists", "\(path) is a store, and was left as it is", hint: "name another file")
        }
        // Replacing an open store would lose its log or journal.
        guard !OpenDatabase.hasFile(status) else { throw Failure.outputIsInput(path) }
        guard isForced else { throw Failure.outputExists(path) }
      case S_IFDIR:
        throw Failure.failed("\(path) is a directory")
      default:
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        place = .target
        guard descriptor >= 0 else { throw Failure.system(errno, path) }
        return
      }
    } else if !isForced, InputFile.exists(path) {
      // The path is a link to a missing file.
      throw Failure.outputExists(path)
    }
    let folder = Self.folder(of: path)
    TemporaryEntry.removeAbandoned(in: folder)
    if !needsName, let unnamed = UnnamedFile.open(in: folder) {
      descriptor = unnamed
      place = .unnamed
    } else {
      guard let entry = TemporaryEntry(file: folder + TemporaryName.output()) else { throw Failure.system(errno, path) }
      descriptor = entry.descriptor
      place = .beside(entry)
    }
    fchmod(descriptor, permissions)
  }

  /// The path of the incomplete file, or `nil` if the file is unnamed.
  var temporaryPath: String? {
    if case .beside(let entry) = place { entry.path } else { nil }
  }

  /// Unlinks ``temporaryPath`` after the writer opens it, so a killed process doesn't leave a file. ``commit()`` copies
  /// the file. Keeps the name on file systems without unnamed files.
  func unlinkTemporaryName() {
    guard case .beside(let entry) = place, let copy = UnnamedFile.open(in: Self.folder(of: path)) else { return }
    var status = stat()
    if fstat(descriptor, &status) == 0 { fchmod(copy, status.st_mode & 0o777) }
    place = .copied(entry, to: copy)
    unlink(entry.path)
  }

  deinit {
    discard()
  }

  /// The usual permissions of new files: 0666 without the bits of the umask.
  static var usualPermissions: mode_t {
    let mask = umask(0)
    umask(mask)
    return 0o666 & ~mask
  }

  /// The permissions for texts from an encrypted store, which only the owner can read.
  static let privatePermissions: mode_t = 0o600

  /// Syncs the file and gives it its name.
  ///
  /// - Throws: An error even if the file has its name, but the disk doesn't confirm the name.
  func commit() throws {
    switch place {
    case .target:
      isOpen = false
      guard close(descriptor) == 0 else { throw Failure.system(errno, path) }
      return
    case .unnamed:
      guard coffer_sync(descriptor) == 0 else { throw Failure.system(errno, path) }
      try publishUnnamed(descriptor)
    case .copied(_, let copy):
      try Self.copyAll(from: descriptor, to: copy, path)
      guard coffer_sync(copy) == 0 else { throw Failure.system(errno, path) }
      try publishUnnamed(copy)
      close(copy)
    case .beside(let entry):
      guard coffer_sync(descriptor) == 0 else { throw Failure.system(errno, path) }
      if replacesExisting {
        guard rename(entry.path, path) == 0 else { throw Failure.system(errno, path) }
      } else {
        guard AtomicRename.withoutReplacing(entry.path, as: path) else { throw Failure.system(errno, path) }
      }
    }
    isOpen = false
    closeDescriptor()
    try Durability.confirmName(of: path)
  }

  /// Removes the file. Has no effect after ``commit()``.
  func discard() {
    guard isOpen else { return }
    isOpen = false
    if let temporaryPath { unlink(temporaryPath) }
    if case .copied(_, let copy) = place { close(copy) }
    closeDescriptor()
  }

  private func closeDescriptor() {
    switch place {
    case .target, .unnamed: close(descriptor)
    case .beside(let entry), .copied(let entry, _): entry.release()
    }
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return String(path[...slash])
  }
}

// MARK: - Files without a name

extension OutputFile {
  private static func copyAll(from source: Int32, to target: Int32, _ path: String) throws {
    guard lseek(source, 0, SEEK_SET) == 0 else { throw Failure.system(errno, path) }
    guard coffer_append_rest(source, target) == 0 else { throw Failure.system(errno, path) }
  }

  /// Links the unnamed file to its path. Replaces an existing file only if ``replacesExisting`` is true.
  private func publishUnnamed(_ descriptor: Int32) throws {
    if UnnamedFile.link(descriptor, as: path) { return }
    guard errno == EEXIST, replacesExisting else { throw Failure.system(errno, path) }
    // Give the complete file a temporary name and rename it, because a link can't replace a file.
    let name = Self.folder(of: path) + TemporaryName.output()
    _ = RangeLock.take(RangeLock.incomplete, of: descriptor)
    let cleanup = CleanupGuard(over: name)
    defer { cleanup.release() }
    guard UnnamedFile.link(descriptor, as: name) else { throw Failure.system(errno, path) }
    guard rename(name, path) == 0 else {
      let reason = errno
      unlink(name)
      throw Failure.system(reason, path)
    }
  }
}
