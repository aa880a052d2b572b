internal import Glibc

/// A file that is being written: under another name beside its target, renamed when it is complete, else removed.
///
/// Readable by its owner alone until ``commit()``; what was no regular file to begin with (`/dev/null`, a named pipe)
/// is written as it stands.
final class OutputFile {
  let path: String
  let descriptor: Int32
  private let temporaryPath: String?
  private let replacesExisting: Bool
  private var isOpen = true

  /// - Parameters:
  ///   - isForced: an existing file may be replaced.
  ///   - inputs: files that are read meanwhile and must not be written over.
  ///   - permissions: of the finished file.
  init(at path: String, isForced: Bool, inputs: [String], permissions: mode_t) throws {
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
        temporaryPath = nil
        guard descriptor >= 0 else { throw Failure.system(errno, path) }
        return
      }
    }
    var template = Array((Self.folder(of: path) + ".dbtool-XXXXXX").utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    temporaryPath = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    fchmod(descriptor, permissions)
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
  func commit() throws {
    guard let temporaryPath else {
      isOpen = false
      guard close(descriptor) == 0 else { throw Failure.system(errno, path) }
      return
    }
    guard fsync(descriptor) == 0 else { throw Failure.system(errno, path) }
    if replacesExisting {
      guard rename(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
    } else {
      // A link, unlike a rename, never replaces a file that somebody made meanwhile.
      guard link(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
      unlink(temporaryPath)
    }
    isOpen = false
    close(descriptor)
    Self.synchronizeFolder(of: path)
  }

  /// Removes what was written; nothing happens after ``commit()``.
  func discard() {
    guard isOpen else { return }
    isOpen = false
    close(descriptor)
    if let temporaryPath {
      unlink(temporaryPath)
    }
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return String(path[...slash])
  }

  static func synchronizeFolder(of path: String) {
    let folder = folder(of: path)
    let descriptor = open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
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
