internal import Glibc

/// What this process does to itself before it sees a secret, and how it ends.
enum Process {
  /// No core dump, no tracing by others, and a closed pipe or a file too large is an error instead of a death.
  static func harden() {
    occupyStandardDescriptors()
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    setDumpable(false)
    signal(SIGPIPE, SIG_IGN)
    // A file that grows beyond what the shell allows is an error of writing.
    signal(SIGXFSZ, SIG_IGN)
    raiseDescriptorLimit()
    Interrupt.install()
  }

  /// Swift's threads end the process where no descriptor is left for them; a store needs a few as well.
  private static func raiseDescriptorLimit() {
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0, limit.rlim_cur < fewestDescriptors else { return }
    limit.rlim_cur = min(limit.rlim_max, fewestDescriptors)
    setrlimit(kind, &limit)
  }

  private static let fewestDescriptors: rlim_t = 64

  /// Refuses to begin with fewer descriptors than any verb takes.
  static func requireDescriptors() throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < fewestDescriptors
    else { return }
    throw Failure(
      .failed, kind: "system-failure",
      "only \(limit.rlim_cur) files may be open at once, and \(fewestDescriptors) are needed",
      hint: "raise the limit (ulimit -n)")
  }

  /// Takes the place of a standard stream that was closed before us, so that no file of ours is opened as one: what is
  /// meant for standard error would be written into it. The wrong way round: reading and writing fail as they should.
  private static func occupyStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Ends the process; standard output must have been flushed by whoever wrote to it.
  static func exit(with status: ExitStatus) -> Never {
    Glibc.exit(status.rawValue)
  }

  /// PR_SET_DUMPABLE of linux/prctl.h.
  private static let setDumpableOption: Int32 = 4

  /// `prctl(PR_SET_DUMPABLE, …)`. The C function is variadic, which Swift cannot import; called through a pointer of
  /// the shape that the kernel's five arguments have, it reads what it is given.
  private static func setDumpable(_ isDumpable: Bool) {
    typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    guard let symbol = dlsym(nil, "prctl") else { return }
    let prctl = unsafeBitCast(symbol, to: Prctl.self)
    _ = prctl(setDumpableOption, isDumpable ? 1 : 0, 0, 0, 0)
  }
}
