internal import CofferRecords

#if canImport(Glibc)
  internal import Glibc
#endif

/// What waits until the disk has a name, or all that stands below a folder: then it outlasts a loss of power.
package enum Durability {
  /// What a file system says that has no such thing for folders: nothing failed then.
  private static let unsupported: Set<Int32> = [EINVAL, ENOTSUP, ENOSYS]

  private typealias Syncfs = @convention(c) (Int32) -> Int32

  /// Waits until the disk has the name of what has just got it.
  ///
  /// - Throws: `ioFailure` when the disk does not confirm it.
  package static func confirmName(of path: String) throws(StoreError) {
    guard let number = ofNames(beside: path) else { return }
    throw StoreError(
      .ioFailure, "\(path) is in place, but the disk did not confirm its name: \(String(cString: strerror(number)))",
      hint: "look after the disk: the file may not outlast a loss of power")
  }

  /// Waits for the names in the folder that a path stands in.
  ///
  /// - Returns: errno, where the disk did not confirm them; nil also where a folder can't be synchronised, or not by who
  ///   may write to it and not read it.
  static func ofNames(beside path: String) -> Int32? {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    return withFolder(folder) { fsync($0) }
  }

  /// Waits for all files and names below a folder, and whatever else its file system has yet to write: one call, where
  /// a folder of many files would take one for each.
  ///
  /// - Returns: as ``ofNames(beside:)``.
  package static func ofEverything(in folder: String) -> Int32? {
    guard let symbol = dlsym(nil, "syncfs") else {
      sync()
      return nil
    }
    return withFolder(folder) { unsafeBitCast(symbol, to: Syncfs.self)($0) }
  }

  private static func withFolder(_ path: String, _ synchronize: (Int32) -> Int32) -> Int32? {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return errno == EACCES || errno == EPERM ? nil : errno }
    defer { close(folder) }
    while synchronize(folder) != 0 {
      guard errno == EINTR else { return unsupported.contains(errno) ? nil : errno }
    }
    return nil
  }
}
