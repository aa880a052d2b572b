import Foundation

/// Runs the command and kills it right before a system call, which strace counts.
enum KilledRun {
  static let isPossible = (try? run(["true"], "close", 1, in: nil)) == true

  /// The calls that change or confirm files and their names.
  static let calls = [
    "flock", "fchmod", "fsync", "rename", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir",
  ]

  /// - Returns: Whether the command was killed, or `false` if it has fewer such calls.
  @discardableResult
  static func run(_ arguments: String..., at call: String, _ number: Int, in sandbox: Sandbox) throws -> Bool {
    try run(arguments, at: call, number, in: sandbox)
  }

  @discardableResult
  static func run(_ arguments: [String], at call: String, _ number: Int, in sandbox: Sandbox) throws -> Bool {
    try run([Sandbox.dbtool] + arguments, call, number, in: sandbox)
  }

  private static func run(_ command: [String], _ call: String, _ number: Int, in sandbox: Sandbox?) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
        "inject=\(call):error=EINTR:signal=KILL:when=\(number)",
      ] + command
    process.currentDirectoryURL = sandbox?.directory
    let variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DBTOOL_") }
    process.environment = variables.merging(sandbox?.environment ?? [:]) { $1 }
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    // strace ends as the command did.
    return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }
}
