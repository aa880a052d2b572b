internal import CofferPlatform

/// Hardens this process before it sees a secret, and ends it.
enum Process {
  /// Forbids core dumps and tracing; a closed pipe or a file too large becomes an error instead of a fatal signal.
  static func harden() {
    occupyStandardDescriptors()
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    setDumpable(false)
    signal(SIGPIPE, SIG_IGN)
    // A file beyond the shell's limit is an error of writing.
    signal(SIGXFSZ, SIG_IGN)
    raiseDescriptorLimit()
    Interrupt.install()
  }

  /// Swift's threads abort the process if no descriptor is left for them; a store needs a few as well.
  private static func raiseDescriptorLimit() {
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0, limit.rlim_cur < fewestDescriptors else { return }
    limit.rlim_cur = min(limit.rlim_max, fewestDescriptors)
    setrlimit(kind, &limit)
  }

  private static let fewestDescriptors: rlim_t = 64

  /// Refuses to start with fewer descriptors than a verb may need.
  static func requireDescriptors() throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < fewestDescriptors
    else { return }
    throw Failure(
      .failed, kind: "system-failure",
      "only \(limit.rlim_cur) files may be open at once, and \(fewestDescriptors) are needed",
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
    Glibc.exit(status.rawValue)
  }

  /// PR_SET_DUMPABLE of linux/prctl.h.
  private static let setDumpableOption: Int32 = 4

  /// `prctl(PR_SET_DUMPABLE, …)`. The C function is variadic, which Swift cannot import, so that it is called through a
  /// pointer with the kernel's five arguments.
  private static func setDumpable(_ isDumpable: Bool) {
    typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    guard let symbol = dlsym(nil, "prctl") else { return }
    let prctl = unsafeBitCast(symbol, to: Prctl.self)
    _ = prctl(setDumpableOption, isDumpable ? 1 : 0, 0, 0, 0)
  }
}
