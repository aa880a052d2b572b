import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A second process of this test program that runs one test, which an environment variable enables.
///
/// After the test stops itself, the caller can search its memory.
final class AnotherProcess {
  private let process: pid_t
  private var hasEnded = false

  /// - Parameter test: The name of the test function, without parentheses.
  init(running test: String, environment: [String: String]) throws {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for stream in 0...2 as ClosedRange<Int32> {
      posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0)
    }
    closeAllButStreams(&actions)
    let words = [program, "--testing-library", "swift-testing", "--filter", "\(test)\\("]
    var variables = ProcessInfo.processInfo.environment
    variables.merge(environment) { $1 }
    var arguments = words.map { strdup($0) } + [nil]
    var environment = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { (arguments + environment).forEach { free($0) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, program, &actions, nil, &arguments, &environment)
    guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EIO) }
    self.process = process
  }

  deinit {
    if !hasEnded {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
  }

  /// Stops the process. The inspected test calls this function.
  static func stop() {
    raise(SIGSTOP)
  }

  /// Waits until the process stops.
  func waitForStop() throws {
    var status: Int32 = 0
    try #require(waitpid(process, &status, Int32(WUNTRACED)) == process)
    hasEnded = status & 0xFF != 0x7F
    try #require(!hasEnded, "the process ended (\(status)) before it stopped")
  }

  /// Waits until the process exits, and expects its test to have passed.
  func waitForEnd() throws {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    hasEnded = true
    try #require(status == 0, "the test of another process failed")
  }

  func goOn() {
    kill(process, SIGCONT)
  }

  /// Returns the names of the needles found in the memory of the process.
  func found(_ needles: [String: [UInt8]]) throws -> Set<String> {
    try ProcessMemory(of: process).found(needles)
  }
}

/// Lets a child inherit only its three standard streams.
///
/// Tests run in parallel. A child that inherited the end of another test's pipe would keep that test waiting. Glibc has
/// provided the function since 2.34. Swift doesn't import it, so it is looked up by name.
private func closeAllButStreams(_ actions: inout posix_spawn_file_actions_t) {
  typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
  guard let function = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
  _ = unsafeBitCast(function, to: Function.self)(&actions, 3)
}
