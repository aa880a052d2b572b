import CofferPlatform
import Foundation
import Testing

/// A running dbtool process.
final class Child {
  enum Streams {
    case files(input: String, output: String, errors: String)
    /// Descriptors of this process, which can be pipes, or `nil` for a closed stream.
    case descriptors(input: Int32?, output: Int32?, errors: Int32?)
    /// The path of a terminal, which becomes the controlling terminal.
    case terminal(String)
  }

  let process: pid_t
  /// Whether the process has ended, which allows the system to reuse its ID.
  private var hasEnded = false
  /// The status from waitpid(2) after the process has ended.
  private var status: Int32 = 0

  /// - Parameter prefix: The words of a command that runs dbtool.
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
    // Start a session without a terminal, so passphrase prompts can't reach the user who runs the tests. The first
    // terminal opened later becomes the session's terminal. POSIX_SPAWN_SETSID is 0x80.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(0x80 | POSIX_SPAWN_SETSIGMASK))

    var environment = sandbox.environment
    for name in variables { environment[name] = nil }
    // Children inherit the sanitizer environment, and the number of a planted defect.
    for name in ["PATH", "LD_PRELOAD", "ASAN_OPTIONS", "TSAN_OPTIONS", "COFFER_PLANTED_DEFECT"] {
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

  /// Whether the process is still running, without waiting.
  var isRunning: Bool {
    if !hasEnded, waitpid(process, &status, WNOHANG) != 0 { hasEnded = true }
    return !hasEnded
  }

  /// Stops the process until SIGCONT, and returns `false` if it has already ended.
  func stop() -> Bool {
    guard !hasEnded else { return false }
    kill(process, SIGSTOP)
    while waitpid(process, &status, Int32(WUNTRACED)) < 0, errno == EINTR {}
    hasEnded = status & 0xFF != 0x7F
    return !hasEnded
  }

  /// Waits for the end, and returns the exit code or the negated signal number.
  func wait() -> Int32 {
    while !hasEnded, waitpid(process, &status, 0) < 0, errno == EINTR {}
    hasEnded = true
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }
}

extension Sandbox {
  /// Starts a child that writes to a pipe, and returns the child and the pipe's read end.
  func start(_ arguments: [String]) throws -> (child: Child, output: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child = try Child(
      arguments, in: self, streams: .descriptors(input: nil, output: ends[1], errors: nil))
    close(ends[1])
    return (child, ends[0])
  }
}

/// Closes all descriptors of a child except its three streams.
///
/// Tests run concurrently, and a child that inherits another test's pipe would block that test. Glibc has the call
/// since 2.34, but Swift doesn't import it, so the function looks it up by name.
func closeAllButStreams(_ actions: inout posix_spawn_file_actions_t) {
  typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
  guard let function = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
  _ = unsafeBitCast(function, to: Function.self)(&actions, 3)
}
