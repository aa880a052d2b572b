/// Renames that never replace another file, and exchanges of two names.
package enum AtomicRename {
  /// Renames a file, unless the new name exists.
  ///
  /// Where the file system can't do that in one step, as on many USB sticks and network file systems, the file has both
  /// names for a moment, or an empty file reserves the new name first.
  ///
  /// - Parameter reservesName: Whether an empty file may reserve the new name. Otherwise a file that another process
  ///   makes at the last moment is replaced there.
  /// - Returns: `false`, with errno, if renaming fails.
  package static func withoutReplacing(_ old: String, as new: String, reservesName: Bool = true) -> Bool {
    if coffer_rename_without_replacing(old, new) == 0 { return true }
    guard [ENOSYS, EINVAL, ENOTSUP].contains(errno) else { return false }
    if link(old, new) == 0 {
      unlink(old)
      return true
    }
    guard errno != EEXIST, errno != ENOENT else { return false }
    guard reservesName else {
      guard access(new, F_OK) != 0 else {
        errno = EEXIST
        return false
      }
      return rename(old, new) == 0
    }
    let placeholder = open(new, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard placeholder >= 0 else { return false }
    close(placeholder)
    if rename(old, new) == 0 { return true }
    let reason = errno
    unlink(new)
    errno = reason
    return false
  }

  /// Exchanges two files' or folders' names in one step.
  ///
  /// - Returns: `false`, with errno, if exchanging fails or if the system or file system doesn't support it.
  package static func exchanging(_ one: String, _ other: String) -> Bool { coffer_exchange_names(one, other) == 0 }
}
