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
