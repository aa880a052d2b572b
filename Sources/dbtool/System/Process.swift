internal import CofferPlatform

/// Hardens this process before it sees a secret, and ends it.
enum Process {
  /// Forbids core dumps and tracing. Makes a closed pipe or a too large file an error instead of a fatal signal.
  static func harden() {
    occupyStandardDescriptors()
    coffer_forbid_inspection()
    signal(SIGPIPE, SIG_IGN)
    // A file beyond the shell's limit becomes a write error.
    signal(SIGXFSZ, SIG_IGN)
    // Raise the limit, because Swift's threads abort the process without a free descriptor, and a store also needs some.
    _ = coffer_raise_open_files(fewestDescriptors)
    Interrupt.install()
  }

  private static let fewestDescriptors: UInt64 = 64

  /// Refuses to start with fewer descriptors than a verb may need.
  static func requireDescriptors() throws {
    let limit = coffer_raise_open_files(fewestDescriptors)
    guard limit < fewestDescriptors else { return }
    throw Failure(
      .failed, kind: "system-failure",
      "only \(limit) files may be open at once, and \(fewestDescriptors) are needed",
      hint: "raise the limit (ulimit -n)")
  }

  /// Replaces closed standard streams, because a file opened later would otherwise receive messages for standard error.
  /// Opens them in the opposite direction, so reading and writing still fail.
  private static func occupyStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Ends the process. Writers must flush standard output first.
  static func exit(with status: ExitStatus) -> Never {
    CofferPlatform.exit(status.rawValue)
  }
}
