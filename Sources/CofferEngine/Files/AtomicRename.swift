internal import CofferPlatform

/// Atomic renames with Linux's `renameat2(2)`, which can't be left incomplete even if the process is killed.
package enum AtomicRename {
  /// RENAME_NOREPLACE and RENAME_EXCHANGE of linux/fs.h, which the C library's module doesn't export.
  private static let noReplace: UInt32 = 1
  private static let exchange: UInt32 = 2

  private typealias Renameat2 =
    @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

  /// Renames a file, unless the new name exists.
  ///
  /// - Returns: `false`, with errno, if renaming fails or if the system or file system doesn't support it.
  package static func withoutReplacing(_ old: String, as new: String) -> Bool {
    rename(old, new, noReplace)
  }

  /// Exchanges the names of two files or folders. Returns the same as ``withoutReplacing(_:as:)``.
  package static func exchanging(_ one: String, _ other: String) -> Bool {
    rename(one, other, exchange)
  }

  private static func rename(_ old: String, _ new: String, _ flags: UInt32) -> Bool {
    guard let symbol = dlsym(nil, "renameat2") else {
      errno = ENOSYS
      return false
    }
    return unsafeBitCast(symbol, to: Renameat2.self)(AT_FDCWD, old, AT_FDCWD, new, flags) == 0
  }
}
