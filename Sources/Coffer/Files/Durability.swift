internal import CofferRecords

#if canImport(Glibc)
  internal import Glibc
#endif

/// Syncs the directory of a new name, or everything below a folder, so that it outlasts a loss of power.
package enum Durability {
  /// Errors of file systems that can't sync a directory: not failures.
  private static let unsupported: Set<Int32> = [EINVAL, ENOTSUP, ENOSYS]

  private typealias Syncfs = @convention(c) (Int32) -> Int32

  /// Syncs the directory of a new name.
  ///
  /// - Throws: `ioFailure` if the disk does not confirm it.
  package static func confirmName(of path: String) throws(StoreError) {
    guard let number = ofNames(beside: path) else { return }
    throw StoreError(
      .ioFailure, "\(path) is in place, but the disk did not confirm its name: \(String(cString: strerror(number)))",
      hint: "check the disk: the file may not outlast a loss of power")
  }

  /// Syncs the directory of a path.
  ///
  /// - Returns: errno if the disk did not confirm it; nil also if the directory can't be synced, or if this process may
  ///   write to it but not read it.
  static func ofNames(beside path: String) -> Int32? {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    return withFolder(folder) { fsync($0) }
  }

  /// Syncs all files and names below a folder, and all other pending writes of its file system. This takes one call,
  /// where a folder of many files would take one for each.
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
