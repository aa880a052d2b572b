internal import CofferPlatform

/// The file at a path before SQLite sees it: SQLite's one "unable to open" hides why.
struct DatabaseFile {
  /// The name for SQLite: never a URI of the caller, and in memory only for `:memory:`.
  let name: String
  private let isMade: Bool

  /// Looks at the path and, for `createNew`, makes the file, readable by whom the umask allows.
  init(path: String, mode: Database.Mode) throws(SQLiteError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SQLiteError(.cantOpen, "a path is neither empty nor holds U+0000")
    }
    // Some builds of SQLite read "file:" as a URI, with options in it.
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

  /// The path as a URI in which nothing of it can be taken for an option.
  private static func immutableURI(of path: String) -> String {
    let digits = Array("0123456789ABCDEF".unicodeScalars)
    // An empty host first, or a path that begins with two slashes would give one.
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

  /// Why the system doesn't open a file, in its words; nil if it does.
  static func refusal(of path: String) -> String? {
    // Closing a file that is open here would end its locks. If there are too many open files to open it again, no other
    // file can be opened either.
    let descriptor = open(OpenDatabase.hasFile(at: path) ? "/" : path, O_RDONLY | O_CLOEXEC)
    guard descriptor < 0 else {
      _ = close(descriptor)
      return nil
    }
    return String(cString: strerror(errno))
  }

  /// Takes back what `init` made.
  func removeIfMade() {
    if isMade { Self.remove(name) }
  }

  static func remove(_ path: String) { unlink(path) }
}
