internal import CofferPlatform

/// A database file before SQLite opens it, because SQLite's "unable to open" doesn't give a reason.
struct DatabaseFile {
  /// The name for SQLite. It's never a URI from the caller, and refers to memory only for `:memory:`.
  let name: String
  private let isMade: Bool

  /// Examines the path and, for `createNew`, creates the file with the umask's permissions.
  init(path: String, mode: Database.Mode) throws(SQLiteError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SQLiteError(.cantOpen, "a path is neither empty nor holds U+0000")
    }
    // Some SQLite builds read "file:" as a URI, which can contain options.
    let plain = path.hasPrefix("file:") ? "./\(path)" : path
    name = mode == .immutable ? Self.immutableURI(of: plain) : plain
    guard path != ":memory:" else {
      isMade = false
      return
    }
    if mode == .createNew {
      try Self.make(plain)
      isMade = true
      return
    }
    isMade = false
    var info = stat()
    if stat(plain, &info) == 0 {
      guard info.st_mode & S_IFMT != S_IFDIR else { throw SQLiteError(.isDirectory, "\(path) is a directory") }
    } else if errno == ENOENT || errno == ENOTDIR, mode != .create {
      throw SQLiteError(.noSuchFile, "there is no file \(path)")
    }
  }

  /// Returns the path as a URI, escaping characters that could be read as options.
  private static func immutableURI(of path: String) -> String {
    let digits = Array("0123456789ABCDEF".unicodeScalars)
    // Begin with an empty host, because two leading slashes in the path would otherwise introduce a host.
    var uri = path.hasPrefix("/") ? "file://" : "file:"
    for byte in path.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
        uri.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        uri.unicodeScalars.append("%")
        uri.unicodeScalars.append(digits[Int(byte >> 4)])
        uri.unicodeScalars.append(digits[Int(byte & 0xF)])
      }
    }
    return uri + "?immutable=1"
  }

  private static func make(_ name: String) throws(SQLiteError) {
    let descriptor = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o644)
    guard descriptor < 0 else {
      _ = close(descriptor)
      return
    }
    switch errno {
    case EEXIST: throw SQLiteError(.fileExists, "\(name) exists already")
    case ENOSPC, EDQUOT: throw SQLiteError(.full, "no space to make \(name)")
    case EROFS: throw SQLiteError(.readOnly, "\(name) is on a read-only file system")
    default: throw SQLiteError(.cantOpen, "can't make \(name): \(String(cString: strerror(errno)))")
    }
  }

  /// Returns the system's reason for not opening a file, or `nil` if it does.
  static func refusal(of path: String) -> String? {
    // Closing a file that this process has open would release its locks. If too many files are open to reopen this
    // file, other files can't be opened either.
    let descriptor = open(OpenDatabase.hasFile(at: path) ? "/" : path, O_RDONLY | O_CLOEXEC)
    guard descriptor < 0 else {
      _ = close(descriptor)
      return nil
    }
    return String(cString: strerror(errno))
  }

  /// Removes the file if `init` created it.
  func removeIfMade() {
    if isMade { Self.remove(name) }
  }

  static func remove(_ path: String) { unlink(path) }
}
