internal import CofferPlatform
internal import CofferRecords

/// A write lease on a file (`fcntl(2)`). Other processes don't have the file open, and wait if they try to open it.
///
/// Only the file's owner can get a lease, and some file systems don't support leases. In that case, the lease checks
/// SQLite's locks instead, which reveal only connections in WAL mode or in a transaction.
package struct FileLease: ~Copyable {
  private let descriptor: Int32

  private init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Takes a lease that lasts until the value is destroyed. If the file doesn't exist, the lease has no effect.
  ///
  /// - Throws: `locked` if a process has the file open, including this process.
  package static func taken(on path: String) throws(StoreError) -> FileLease {
    try requireClosedInThisProcess(path)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      // Another process holds a lease on the file.
      if errno == EAGAIN { throw isOpenInAnotherProcess(path) }
      guard errno == ENOENT else { throw StagedFile.failure(path) }
      return FileLease(-1)
    }
    let isTaken = coffer_take_lease(descriptor) == 0
    guard isTaken || errno != EAGAIN && !RangeLock.isTaken(RangeLock.sqlite, of: descriptor) else {
      OpenFiles.closeWhenLast(descriptor)
      throw isOpenInAnotherProcess(path)
    }
    return FileLease(descriptor)
  }

  /// Throws `locked` if this process has the file open.
  static func requireClosedInThisProcess(_ path: String) throws(StoreError) {
    guard !isOpenInThisProcess(path) else {
      throw StoreError(.locked, "\(path): this process has the store open", hint: "close it first")
    }
  }

  private static func isOpenInAnotherProcess(_ path: String) -> StoreError {
    StoreError(.locked, "\(path): another process has the store open", hint: "close it there, and try again")
  }

  /// Returns whether this process has the file open. Closing any descriptor would drop SQLite's locks in this process.
  static func isOpenInThisProcess(_ path: String) -> Bool {
    WriteAheadLock.closeUnused()
    var file = stat()
    return stat(path, &file) == 0 && OpenFiles.isOpen(file)
  }

  package consuming func end() {}

  deinit {
    guard descriptor >= 0 else { return }
    coffer_release_lease(descriptor)
    OpenFiles.closeWhenLast(descriptor)
  }
}
