#if canImport(Glibc)
  internal import Glibc
#endif

/// Atomic renames with Linux's `renameat2(2)`: no moment has both names, or neither, and a kill leaves nothing between.
package enum AtomicRename {
  /// RENAME_NOREPLACE and RENAME_EXCHANGE of linux/fs.h, which the C library's module does not have.
  private static let noReplace: UInt32 = 1
  private static let exchange: UInt32 = 2

  private typealias Renameat2 =
    @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

  /// Renames, unless the new name exists.
  ///
  /// - Returns: false, with errno, also if the system or the file system can't do it.
  package static func withoutReplacing(_ old: String, as new: String) -> Bool {
    rename(old, new, noReplace)
  }

  /// Exchanges the names of two files or folders. Returns as ``withoutReplacing(_:as:)``.
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
