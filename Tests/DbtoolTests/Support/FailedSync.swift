import CofferPlatform
import Foundation

/// Runs the command with a failing call, which strace injects.
enum FailedSync {
  static let isPossible = (try? run(["true"], "fsync", "1", "EIO", in: nil).status) == 0

  /// - Parameters:
  ///   - call: `fsync`, `syncfs` or `unlinkat`, which only the command calls, because SQLite calls `fdatasync` and
  ///     `unlink`.
  ///   - number: The number of the failing call in a thread, starting at 1.
  ///   - isLasting: Whether later calls also fail.
  static func run(
    _ arguments: String..., failing call: String = "fsync", at number: Int, fromThenOn isLasting: Bool = false,
    with error: String = "EIO", in sandbox: Sandbox
  ) throws -> (status: Int32, errors: String) {
    try run([Sandbox.dbtool] + arguments, call, "\(number)\(isLasting ? "+" : "")", error, in: sandbox)
  }

  /// Runs the command, which gets a signal during a call for a file.
  ///
  /// - Parameters:
  ///   - call: `unlink`, with which SQLite deletes the journal when it commits, or `write`.
  ///   - file: The file in the sandbox.
  ///   - output: The file in the sandbox for standard output.
  static func run(
    _ arguments: [String], signaling call: String, of file: String, output: String, in sandbox: Sandbox
  ) throws -> (status: Int32, errors: String) {
    let strace = [
      "strace", "-f", "-qq", "-o", "/dev/null", "-P", sandbox.path(file), "-e", "trace=\(call)", "-e",
      "inject=\(call):signal=SIGTERM:when=1",
    ]
    try sandbox.write(output, "")
    let errors = open(sandbox.path(output + ".errors"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let written = open(sandbox.path(output), O_WRONLY | O_CLOEXEC)
    defer { for file in [errors, written] { close(file) } }
    let child = try Child(
      arguments, in: sandbox, under: strace, streams: .descriptors(input: nil, output: written, errors: errors))
    return (child.wait(), try sandbox.text(of: output + ".errors"))
  }

  private static func run(
    _ command: [String], _ call: String, _ when: String, _ error: String, in sandbox: Sandbox?
  ) throws -> (status: Int32, errors: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
        "inject=\(call):error=\(error):when=\(when)",
      ] + command
    process.currentDirectoryURL = sandbox?.directory
    let variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DBTOOL_") }
    process.environment = variables.merging(sandbox?.environment ?? [:]) { $1 }
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}
