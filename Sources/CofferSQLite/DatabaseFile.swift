#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The file at a path before SQLite sees it: SQLite's one "unable to open" hides why.
struct DatabaseFile {
  /// What SQLite is given: never a URI, and only `:memory:` is in memory.
  let name: String
  private let isMade: Bool

  /// Looks at the path and, for `createNew`, makes the file, readable by whom the umask allows.
  init(path: String, mode: Database.Mode) throws(SQLiteError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SQLiteError(.cantOpen, "a path is neither empty nor holds U+0000")
    }
    // Some builds of SQLite read "file:" as a URI, with options in it.
    name = path.hasPrefix("file:") ? "./\(path)" : path
    guard path != ":memory:" else {
      isMade = false
      return
    }
    if mode == .createNew {
      try Self.make(name)
      isMade = true
      return
    }
    isMade = false
    var info = stat()
    if stat(name, &info) == 0 {
      guard info.st_mode & S_IFMT != S_IFDIR else { throw SQLiteError(.isDirectory, "\(path) is a directory") }
    } else if errno == ENOENT || errno == ENOTDIR, mode != .create {
      throw SQLiteError(.noSuchFile, "there is no file \(path)")
    }
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

  /// Takes back what `init` made.
  func removeIfMade() {
    if isMade { Self.remove(name) }
  }

  static func remove(_ path: String) { unlink(path) }
}
