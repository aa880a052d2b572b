internal import CofferDocuments
internal import CofferPlatform

// Creates and writes folders.
extension FileDescriptor {
  /// Creates a directory, or accepts an empty one.
  static func makeDirectory(_ path: String) throws(FormatError) {
    if mkdir(path, 0o777) == 0 { return }
    guard errno == EEXIST, let stream = opendir(path) else {
      throw .system(errno == ENOTDIR ? .outputExists : .unwritable, "cannot make the directory", path: path)
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != [0x2E], name != [0x2E, 0x2E] {
        throw FormatError(.outputExists, "the directory is not empty", path: path)
      }
    }
  }

  /// Creates a new file in this directory, and the folders of its path.
  func makeFile(_ path: String, for id: DocumentID) throws(FormatError) -> FileDescriptor {
    for slash in path.utf8.indices where path.utf8[slash] == UInt8(ascii: "/") {
      guard mkdirat(number, String(path[..<slash]), 0o777) == 0 || errno == EEXIST else {
        throw .system(.unwritable, "cannot make a directory for document \(id)")
      }
    }
    let file = openat(number, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard file >= 0 else {
      throw .system(errno == EEXIST ? .outputExists : .unwritable, "cannot make a file for document \(id)")
    }
    return FileDescriptor(owning: file)
  }

  /// Sets both dates of a file, if the file system supports it.
  func setDate(to date: Timestamp) {
    var (seconds, rest) = date.millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
    if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1000) }
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1_000_000)
    _ = futimens(number, [time, time])
  }
}
