internal import CofferPlatform
internal import CofferRecords

/// Syncs a new name's directory, or everything below a folder, so it survives a power loss.
package enum Durability {
  /// Errors of file systems that can't sync a directory, which aren't failures.
  private static let unsupported: Set<Int32> = [EINVAL, ENOTSUP, ENOSYS]

  /// Syncs the directory of a new name.
  ///
  /// - Throws: `ioFailure` if the disk doesn't confirm it.
  package static func confirmName(of path: String) throws(StoreError) {
    guard let number = syncDirectory(beside: path) else { return }
    throw StoreError(
      .ioFailure, "\(path) is in place, but the disk did not confirm its name: \(String(cString: strerror(number)))",
      hint: "check the disk: the file may not outlast a loss of power")
  }

  /// Syncs the directory that contains a path.
  ///
  /// - Returns: The error number if the disk didn't confirm it. Returns `nil` on success, if the directory can't be
  ///   synced, or if this process can't read the directory.
  static func syncDirectory(beside path: String) -> Int32? {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    return withFolder(folder, coffer_sync)
  }

  /// Syncs all files and names below a folder, and all other pending writes on its file system. A folder with many
  /// files needs a single call instead of one per file.
  ///
  /// - Returns: The same value as ``syncDirectory(beside:)``.
  package static func syncFileSystem(in folder: String) -> Int32? {
    withFolder(folder, coffer_sync_file_system)
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
