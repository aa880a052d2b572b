internal import Coffer
internal import Glibc

/// A file that is being written: without a name, or under another beside its target, until it is complete.
///
/// Readable by its owner alone until ``commit()``. A kill leaves nothing of a file without a name. What was no regular
/// file to begin with (`/dev/null`, a named pipe) is written as it stands.
final class OutputFile {
  private enum Place {
    /// Written as it stands.
    case target
    /// Nowhere yet: the file system forgets it when its descriptor is closed.
    case unnamed
    case beside(String)
    /// As `unnamed`, but written by another descriptor's file, which has lost its name.
    case copied(to: Int32)
  }

  let path: String
  let descriptor: Int32
  private var place: Place
  private let replacesExisting: Bool
  private var isOpen = true

  /// - Parameters:
  ///   - isForced: an existing file may be replaced.
  ///   - inputs: files that are read meanwhile and must not be written over.
  ///   - permissions: of the finished file.
  ///   - needsName: it is written by its ``temporaryPath``, and not only through its descriptor.
  init(at path: String, isForced: Bool, inputs: [String], permissions: mode_t, needsName: Bool = false) throws {
    self.path = path
    replacesExisting = isForced
    var status = stat()
    if stat(path, &status) == 0 {
      switch status.st_mode & S_IFMT {
      case S_IFREG:
        try Self.refuseInput(status, path: path, inputs: inputs)
        guard isForced else { throw Failure.outputExists(path) }
      case S_IFDIR:
        throw Failure.failed("\(path) is a directory")
      default:
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        place = .target
        guard descriptor >= 0 else { throw Failure.system(errno, path) }
        return
      }
    }
    if !needsName, let unnamed = Self.openUnnamed(in: Self.folder(of: path)) {
      descriptor = unnamed
      place = .unnamed
    } else {
      var template = Array((Self.folder(of: path) + ".dbtool-XXXXXX").utf8CString)
      descriptor = mkstemp(&template)
      guard descriptor >= 0 else { throw Failure.system(errno, path) }
      place = .beside(String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
    fchmod(descriptor, permissions)
  }

  /// The name it is written under until it is complete; nil where it has none of its own.
  var temporaryPath: String? {
    if case .beside(let path) = place { path } else { nil }
  }

  /// Takes the name away from a file that somebody has opened by its ``temporaryPath``: a kill then leaves nothing, and
  /// ``commit()`` copies it. It keeps its name where the file system has no files without one.
  func hide() {
    guard let temporaryPath, let copy = Self.openUnnamed(in: Self.folder(of: path)) else { return }
    var status = stat()
    if fstat(descriptor, &status) == 0 { fchmod(copy, status.st_mode & 0o777) }
    place = .copied(to: copy)
    unlink(temporaryPath)
  }

  deinit {
    discard()
  }

  /// What files are usually made with: all but what the user's mask takes away.
  static var usualPermissions: mode_t {
    let mask = umask(0)
    umask(mask)
    return 0o666 & ~mask
  }

  /// Texts that came out of an encrypted store stay their owner's alone.
  static let privatePermissions: mode_t = 0o600

  /// Makes the file durable and gives it its name.
  ///
  /// - Throws: also when the disk does not confirm the name, which the file has then all the same.
  func commit() throws {
    switch place {
    case .target:
      isOpen = false
      guard close(descriptor) == 0 else { throw Failure.system(errno, path) }
      return
    case .unnamed:
      guard fsync(descriptor) == 0 else { throw Failure.system(errno, path) }
      try publishUnnamed(descriptor)
    case .copied(let copy):
      try Self.copyAll(from: descriptor, to: copy, path)
      guard fsync(copy) == 0 else { throw Failure.system(errno, path) }
      try publishUnnamed(copy)
      close(copy)
    case .beside(let temporaryPath):
      guard fsync(descriptor) == 0 else { throw Failure.system(errno, path) }
      if replacesExisting {
        guard rename(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
      } else if !AtomicRename.withoutReplacing(temporaryPath, as: path) {
        // Where the file system can't do that: a link, unlike a rename, never replaces a file that somebody made
        // meanwhile either.
        guard link(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
        unlink(temporaryPath)
      }
    }
    isOpen = false
    close(descriptor)
    try Durability.confirmName(of: path)
  }

  /// Removes what was written; nothing happens after ``commit()``.
  func discard() {
    guard isOpen else { return }
    isOpen = false
    close(descriptor)
    if let temporaryPath { unlink(temporaryPath) }
    if case .copied(let copy) = place { close(copy) }
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return String(path[...slash])
  }

  /// Refuses a target that is one of the inputs, under whatever name.
  static func refuseInput(_ target: stat, path: String, inputs: [String]) throws {
    for input in inputs {
      var status = stat()
      guard stat(input, &status) == 0 else { continue }
      if status.st_dev == target.st_dev, status.st_ino == target.st_ino {
        throw Failure.failed("\(path) is what is being read: an output never goes over an input")
      }
    }
  }
}

// MARK: - Files without a name

extension OutputFile {
  /// Where Linux shows this process's descriptors as files.
  private static func shownPath(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

  /// O_TMPFILE of linux/fcntl.h, which Swift does not import.
  private static let temporary: Int32 = 0o20_000_000 | O_DIRECTORY

  /// - Returns: nil where the system or the file system has no such files.
  private static func openUnnamed(in folder: String) -> Int32? {
    let descriptor = open(folder.isEmpty ? "." : folder, temporary | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    guard access(shownPath(of: descriptor), F_OK) == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  private static func copyAll(from source: Int32, to target: Int32, _ path: String) throws {
    guard lseek(source, 0, SEEK_SET) == 0 else { throw Failure.system(errno, path) }
    while true {
      let count = sendfile(target, source, nil, 1 << 30)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Failure.system(errno, path) }
      if count == 0 { return }
    }
  }

  /// Never replaces a file that somebody made meanwhile, unless that was asked for.
  private func publishUnnamed(_ descriptor: Int32) throws {
    let file = Self.shownPath(of: descriptor)
    if linkat(AT_FDCWD, file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 { return }
    guard errno == EEXIST, replacesExisting else { throw Failure.system(errno, path) }
    // A link does not replace: the whole file gets a name for the moment of a rename.
    let name = "\(Self.folder(of: path)).dbtool-\(UInt64.random(in: .min ... .max))"
    let cleanup = CleanupGuard(over: name)
    defer { cleanup.release() }
    guard linkat(AT_FDCWD, file, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 else { throw Failure.system(errno, path) }
    guard rename(name, path) == 0 else {
      let reason = errno
      unlink(name)
      throw Failure.system(reason, path)
    }
  }
}
