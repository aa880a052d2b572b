import Foundation
import Glibc

/// A running dbtool.
final class Child {
  enum Streams {
    case files(input: String, output: String, errors: String)
    /// Descriptors of this process, one of them perhaps a pipe; nil is a stream that is closed.
    case descriptors(input: Int32?, output: Int32?, errors: Int32?)
    /// A terminal by its path, which becomes the controlling one.
    case terminal(String)
  }

  let process: pid_t
  /// Its number may be another process's from then on.
  private var hasEnded = false

  /// - Parameter prefix: a command that runs it.
  init(
    _ arguments: [String], in sandbox: Sandbox, under prefix: [String] = [], without variables: [String] = [],
    streams: Streams
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    switch streams {
    case .files(let input, let output, let errors):
      posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    case .descriptors(let input, let output, let errors):
      for (stream, descriptor) in zip(Int32(0)..., [input, output, errors]) {
        if let descriptor {
          posix_spawn_file_actions_adddup2(&actions, descriptor, stream)
        } else {
          posix_spawn_file_actions_addclose(&actions, stream)
        }
      }
    case .terminal(let path):
      posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
      posix_spawn_file_actions_adddup2(&actions, 0, 2)
    }
    closeAllButStreams(&actions)
    // A session without a terminal: the question about a passphrase must not reach the user who runs the tests. The
    // first terminal that is then opened becomes the session's own. POSIX_SPAWN_SETSID is 0x80.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(0x80 | POSIX_SPAWN_SETSIGMASK))

    var environment = sandbox.environment
    for name in variables { environment[name] = nil }
    // Children inherit the environment of a run under a sanitizer.
    for name in ["PATH", "LD_PRELOAD", "ASAN_OPTIONS", "TSAN_OPTIONS"] {
      environment[name] = ProcessInfo.processInfo.environment[name]
    }
    let program = prefix + [Sandbox.dbtool] + arguments
    let words = ["sh", "-c", "cd \"$0\" && exec \"$@\"", sandbox.directory.path] + program
    var argumentPointers = words.map { strdup($0) } + [nil]
    var environmentPointers = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { (argumentPointers + environmentPointers).forEach { free($0) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, "/bin/sh", &actions, &attributes, &argumentPointers, &environmentPointers)
    guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EIO) }
    self.process = process
  }

  func signal(_ number: Int32) {
    if !hasEnded { kill(process, number) }
  }

  /// Whether it still runs, without waiting for it.
  var isRunning: Bool {
    if !hasEnded, waitpid(process, nil, WNOHANG) != 0 { hasEnded = true }
    return !hasEnded
  }

  /// Stops it where it is, until SIGCONT; false where it has ended before.
  func stop() -> Bool {
    guard !hasEnded else { return false }
    kill(process, SIGSTOP)
    var status: Int32 = 0
    while waitpid(process, &status, Int32(WUNTRACED)) < 0, errno == EINTR {}
    hasEnded = status & 0xFF != 0x7F
    return !hasEnded
  }

  /// The exit code, or the negated number of the signal that ended it.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    hasEnded = true
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }
}

/// Lets a child inherit its three streams and nothing else.
///
/// Tests run side by side: the end of a pipe that another test has open would keep that test waiting for as long as this
/// child runs. Glibc has the call since 2.34; Swift does not show it, so it is found by name.
func closeAllButStreams(_ actions: inout posix_spawn_file_actions_t) {
  typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
  guard let function = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
  _ = unsafeBitCast(function, to: Function.self)(&actions, 3)
}
