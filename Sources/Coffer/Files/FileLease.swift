internal import CofferRecords

#if canImport(Glibc)
  internal import Glibc
#endif

/// A write lease on a file (`fcntl(2)`): while it lasts no other process has the file open, and those that open it wait.
///
/// Only the file's owner gets a lease, and some file systems know none. There the locks of SQLite are asked for instead,
/// which show a connection in WAL mode, or in a transaction, and no other.
struct FileLease: ~Copyable {
  /// F_SETSIG, F_OFD_GETLK and F_SETLEASE of fcntl.h, which the C library's module does not have.
  private static let setSignal: Int32 = 10
  private static let getLock: Int32 = 36
  private static let setLease: Int32 = 1024
  /// The bytes of SQLite's locks on a file.
  static let lockBytes: (start: off_t, count: off_t) = (0x4000_0000, 512)

  private let descriptor: Int32

  private init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Takes a lease; it ends with its owner.
  ///
  /// - Throws: `locked` if a process has the file open, this one included. A file that does not exist has no lease.
  static func taken(on path: String) throws(StoreError) -> FileLease {
    guard !isOpenHere(path) else {
      throw StoreError(.locked, "\(path): this process has the store open", hint: "close it first")
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      // Another lease holds it up.
      if errno == EAGAIN { throw isOpenElsewhere(path) }
      guard errno == ENOENT else { throw StagedFile.failure(path) }
      return FileLease(-1)
    }
    // The kernel signals a process that wants to open it. This signal does nothing where no handler is set.
    _ = fcntl(descriptor, setSignal, SIGURG)
    let isTaken = fcntl(descriptor, setLease, F_WRLCK) == 0
    guard isTaken || errno != EAGAIN && !isLocked(descriptor) else {
      close(descriptor)
      throw isOpenElsewhere(path)
    }
    return FileLease(descriptor)
  }

  private static func isOpenElsewhere(_ path: String) -> StoreError {
    StoreError(.locked, "\(path): another process has the store open", hint: "close it there, and try again")
  }

  /// Whether a connection, of this process too, holds a lock on those bytes of the file.
  static func isLocked(_ descriptor: Int32, _ bytes: (start: off_t, count: off_t) = lockBytes) -> Bool {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    (lock.l_start, lock.l_len) = bytes
    return fcntl(descriptor, getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }

  /// Closing any descriptor of a file would end the locks that SQLite holds for this process.
  private static func isOpenHere(_ path: String) -> Bool {
    var wanted = stat()
    guard stat(path, &wanted) == 0 else { return false }
    guard let names = FolderNames.of("/proc/self/fd") else { return true }
    for name in names {
      var found = stat()
      if let number = Int32(name), fstat(number, &found) == 0, found.st_dev == wanted.st_dev,
        found.st_ino == wanted.st_ino
      {
        return true
      }
    }
    return false
  }

  consuming func end() {}

  deinit {
    // Ends the lease, too.
    if descriptor >= 0 { close(descriptor) }
  }
}
