internal import Coffer
internal import CofferPlatform

/// A command that prints a secret, run by `/bin/sh -c`. Its output is read directly into locked memory.
///
/// `input`, if given, is its standard input. It can prompt on the terminal, and shares this process's standard error.
struct ShellCommand {
  /// The longest accepted output, in bytes.
  static let outputLimit = 64 * 1024

  let command: String
  /// The name of the option, for messages, because the command line itself can contain a secret.
  let option: String

  func run(input: [UInt8] = []) throws -> Secret {
    var answer: (Int32, Int32) = try Shell.pipe()
    var question: (Int32, Int32) = try Shell.pipe()
    defer {
      for descriptor in [answer.0, answer.1, question.0, question.1] where descriptor >= 0 {
        close(descriptor)
      }
    }
    let child = try Shell.spawn(command, resetting: [SIGPIPE], input: question.0, output: answer.1)
    close(question.0)
    close(answer.1)
    (question.0, answer.1) = (-1, -1)
    // The input is at most 4 KiB, less than any pipe's capacity, so this can't block on a command that never reads.
    _ = input.withUnsafeBytes { CofferPlatform.write(question.1, $0.baseAddress, $0.count) }
    close(question.1)
    question.1 = -1
    let output = Result { try Secret.readAll(descriptor: answer.0, limit: Self.outputLimit) }
    close(answer.0)
    answer.0 = -1
    try Self.wait(for: child, option: option)
    return try output.get()
  }

  private static func wait(for child: pid_t, option: String) throws {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else { throw Failure.system(errno, "the command of \(option)") }
    }
    if let failure = Shell.failure(status) {
      throw Failure(.failed, kind: "key-command-failed", "the command of \(option) \(failure)")
    }
  }
}
