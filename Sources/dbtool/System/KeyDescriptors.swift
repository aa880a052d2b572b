internal import CofferPlatform
internal import Synchronization

/// The inherited descriptors of key files, such as `--key-file /dev/fd/3`, which other commands must not read.
///
/// A descriptor belongs to a key if it refers to the key's file, under whatever path the file was named.
enum KeyDescriptors {
  private static let closed = Mutex<Set<Int32>>([])

  /// Closes the descriptors of a file in commands that this process starts later.
  static func close(onExecIfOf file: stat) {
    guard file.st_mode & S_IFMT != S_IFCHR else { return }
    for descriptor in OpenFiles.descriptors ?? [] {
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.isSameFile(as: file) else { continue }
      // A command needs the standard streams. Shell replaces a standard input that is a key.
      if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      closed.withLock { _ = $0.insert(descriptor) }
    }
  }

  /// Closes the descriptors of the file at a path, if there is one, in commands that this process starts later.
  static func close(onExecIfOf path: String) {
    var status = stat()
    if stat(path, &status) == 0 { close(onExecIfOf: status) }
  }

  /// A Boolean value that indicates whether standard input is a key.
  static var includeStandardInput: Bool { closed.withLock { $0.contains(STDIN_FILENO) } }

  /// Passes the descriptors on to this program when it replaces itself.
  static func keepOnExec() {
    for descriptor in closed.withLock({ $0 }) { _ = fcntl(descriptor, F_SETFD, 0) }
  }
}
