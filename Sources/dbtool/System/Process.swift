internal import CofferPlatform

/// Hardens this process before it sees a secret, and ends it.
enum Process {
  /// Forbids core dumps and tracing; a closed pipe or a file too large becomes an error instead of a fatal signal.
  static func harden() {
    occupyStandardDescriptors()
    coffer_forbid_inspection()
    signal(SIGPIPE, SIG_IGN)
    // A file beyond the shell's limit is an error of writing.
    signal(SIGXFSZ, SIG_IGN)
    // Swift's threads abort the process if no descriptor is left for them; a store needs a few as well.
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

  /// Replaces a closed standard stream, so that no file of ours is opened in its place: messages for standard error
  /// would be written into it. Opened in the opposite direction, so that reading and writing still fail.
  private static func occupyStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Ends the process; writers must have flushed standard output before.
  static func exit(with status: ExitStatus) -> Never {
    CofferPlatform.exit(status.rawValue)
  }
}
