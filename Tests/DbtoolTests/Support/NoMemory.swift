import Foundation

/// Runs the command without an in-memory file system, by mounting /proc over /dev/shm in a new mount namespace.
enum NoMemory {
  static let isPossible = (try? run(["true"], in: nil).status) == 0

  private static let hiding = ["unshare", "-m", "sh", "-c", "mount --bind /proc /dev/shm && exec \"$@\"", "sh"]

  static func run(_ arguments: [String], in sandbox: Sandbox) throws -> (status: Int32, errors: String) {
    try run([Sandbox.dbtool] + arguments, in: Optional(sandbox))
  }

  private static func run(_ command: [String], in sandbox: Sandbox?) throws -> (status: Int32, errors: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = hiding + command
    process.currentDirectoryURL = sandbox?.directory
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DBTOOL_") }
    environment["XDG_RUNTIME_DIR"] = nil
    process.environment = environment.merging(sandbox?.environment ?? [:]) { $1 }
    let errors = Pipe()
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}
