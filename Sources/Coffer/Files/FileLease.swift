internal import CofferRecords

#if canImport(Glibc)
  internal import Glibc
#endif

/// A write lease on a file (`fcntl(2)`): proof that no other process has it open, and a bar to those that try.
///
/// A process that opens the file meanwhile waits until the lease ends. Some file systems know no leases, and only the
/// file's owner gets one: such a lease proves nothing.
struct FileLease: ~Copyable {
  /// F_SETSIG and F_SETLEASE of fcntl.h, which the C library's module does not have.
  private static let setSignal: Int32 = 10
  private static let setLease: Int32 = 1024

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
    guard descriptor >= 0 else { return FileLease(-1) }
    // The kernel signals a process that wants to open it. This signal does nothing where no handler is set.
    _ = fcntl(descriptor, setSignal, SIGURG)
    if fcntl(descriptor, setLease, F_WRLCK) != 0, errno == EAGAIN {
      close(descriptor)
      throw StoreError(
        .locked, "\(path): another process has the store open", hint: "close it there, and try again")
    }
    return FileLease(descriptor)
  }

  /// Closing any descriptor of a file would end the locks that SQLite holds for this process.
  private static func isOpenHere(_ path: String) -> Bool {
    var wanted = stat()
    guard stat(path, &wanted) == 0, let folder = opendir("/proc/self/fd") else { return false }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
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
