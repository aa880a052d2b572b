internal import CofferPlatform

/// Checks and small reads of input files.
enum InputFile {
  static let standardInput = "-"

  static func requireExisting(_ path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw Failure.system(errno, path) }
  }

  /// True if the path exists, even as a dangling link.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Size in bytes of a regular file.
  static func size(of path: String) -> Int? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// The last component of a path.
  static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// Refuses more than one `-` among the paths of a command.
  static func requireOneStandardInput(_ paths: [String]) throws {
    if paths.count(where: { $0 == standardInput }) > 1 {
      throw Failure.usage("'-' names standard input, and a command takes it at most once")
    }
  }
}

extension InputFile {
  /// All bytes of a small file.
  ///
  /// - Parameter limit: the maximum size in bytes; a longer file is an error.
  static func contents(of path: String, limit: Int) throws -> [UInt8] {
    let descriptor = path == standardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    let path = path == standardInput ? "standard input" : path
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        throw Failure.system(errno, path)
      }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else {
        throw Failure(.failed, kind: "too-large", "\(path) is longer than \(limit) bytes")
      }
    }
  }
}
