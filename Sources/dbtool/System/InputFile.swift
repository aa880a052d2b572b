internal import ArgumentParser
internal import CofferPlatform

/// Checks and small reads of input files.
enum InputFile {
  static let standardInput = "-"

  /// Returns the name of a path in errors.
  static func described(_ path: String) -> String { path == standardInput ? "standard input" : path }

  static func requireExisting(_ path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw Failure.system(errno, path) }
  }

  /// Returns whether the path exists, even as a dangling link.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Returns the absolute path without links, or `nil` with `errno` set if the path doesn't exist.
  static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// Returns the size of a regular file in bytes.
  static func size(of path: String) -> Int? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// Returns the last component of a path.
  static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// Returns a path as a command-line word that is never an option. `-` remains standard input.
  static func argument(_ path: String) -> String {
    path.hasPrefix("-") && path != standardInput ? "./" + path : path
  }

  /// Returns whether two paths lead to the same file.
  static func isSameFile(_ path: String, _ other: String) -> Bool {
    var (one, two) = (stat(), stat())
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.isSameFile(as: two)
  }

  /// Refuses files with the same name, because a document has one attachment for each name.
  static func requireDistinctNames(_ paths: [String]) throws {
    var seen: Set<[UInt8]> = []
    for path in paths where !seen.insert(Array(name(of: path).utf8)).inserted {
      throw ValidationError(
        "two files have the name \(name(of: path)): attach one of them with 'attachment add --name'")
    }
  }

  /// Refuses `-` for a file with a secret, because standard input is usually a text.
  ///
  /// - Parameter kind: The kind of file, such as `key file`.
  static func requirePath(_ path: String, of kind: String) throws {
    guard path == standardInput else { return }
    throw Failure.usage("'-' is no \(kind)", hint: "/dev/stdin reads it from standard input")
  }

  /// Refuses more than one `-` among the paths of a command.
  static func requireOneStandardInput(_ paths: [String]) throws {
    if paths.count(where: { $0 == standardInput }) > 1 {
      throw Failure.usage("'-' names standard input, and a command takes it at most once")
    }
  }
}

extension InputFile {
  /// Returns whether a path leads to a pipe, a device or another file that can be read only once.
  static func isStream(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }

  /// Creates a folder that only the user can access, unless the folder exists.
  static func makeFolder(_ path: String) throws {
    guard mkdir(path, 0o700) != 0 else { return }
    let reason = errno
    guard !isDirectory(path) else { return }
    guard reason == EEXIST else { throw Failure.system(reason, path) }
    throw Failure(
      .failed, kind: "already-exists", "\(path) exists already, and is no folder", hint: "name another folder")
  }

  /// Returns the contents of a small file.
  ///
  /// - Parameter limit: The maximum size in bytes. A longer file is an error.
  static func contents(of path: String, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try forEachPart(of: path) { part in
      bytes += part
      guard bytes.count <= limit else {
        throw Failure(.failed, kind: "too-large", "\(described(path)) is longer than \(limit) bytes")
      }
    }
    return bytes
  }

  /// Passes the bytes of a file or standard input to a closure, in parts of up to 64 KiB.
  static func forEachPart(of path: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    // Refuse the store's own files, because closing such a file would end the store's locks.
    guard path == standardInput || !OpenDatabase.hasFile(at: path) else {
      throw Failure(
        .locked, kind: "locked", "\(path) belongs to a store that is open", hint: "make a backup, and read that")
    }
    let descriptor = path == standardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    let path = described(path)
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = buffer.withUnsafeMutableBytes { FileBytes.readSome(of: descriptor, into: $0) }
      guard count >= 0 else { throw Failure.system(errno, path) }
      if count == 0 { return }
      try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }
}
