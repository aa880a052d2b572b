internal import CofferPlatform

/// Replaces this process with a new process of the same program and command line, to discard its memory.
enum Restart {
  /// The variable with the number of the descriptor from which the new process reads the state.
  private static let variable = "DBTOOL_RESTARTED"
  /// The maximum state size, which is less than a pipe's capacity, so writing doesn't wait for a reader.
  private static let maximumBytes = 4096

  /// Restarts the program with a small state.
  ///
  /// - Throws: An error if the program can't be started.
  static func run(with state: [UInt8]) throws -> Never {
    precondition(state.count <= maximumBytes, "internal error: a state larger than a pipe")
    let pipe = try Shell.pipe()
    _ = state.withUnsafeBytes { write(pipe.writing, $0.baseAddress, $0.count) }
    close(pipe.writing)
    _ = fcntl(pipe.reading, F_SETFD, 0)
    KeyDescriptors.keepOnExec()
    setenv(variable, "\(pipe.reading)", 1)
    var program = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    if coffer_program_path(&program, program.count) == 0 { execv(program, CommandLine.unsafeArgv) }
    let reason = errno
    close(pipe.reading)
    throw Failure.system(reason, "dbtool can't be started again")
  }

  /// Returns the state once in a process that ``run(with:)`` started, or an empty array if it can't be read. Returns `nil`
  /// in other processes.
  static func takeState() -> [UInt8]? {
    guard let value = getenv(variable) else { return nil }
    let number = Int32(String(cString: value))
    unsetenv(variable)
    var status = stat()
    guard let number, number > STDERR_FILENO, fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
      return []
    }
    defer { close(number) }
    return [UInt8](unsafeUninitializedCapacity: maximumBytes) { buffer, count in
      count = max(0, read(number, buffer.baseAddress, buffer.count))
    }
  }
}
