import Foundation
import Testing

/// The reader in Tools/read_store.py, and for release folders in Tools/read_release.py.
enum SecondReader {
  struct Failure: Error, Equatable {
    let status: Int32
  }

  static let project = PublishedKeys.folder.deletingLastPathComponent()

  static let isPresent: Bool = (try? run(["python3", "-c", "import cryptography"]).status) == 0
  static let absence: Comment = "python3 with its cryptography package is absent"

  static func read(_ store: URL, _ arguments: [String]) throws -> JSON {
    try read("Tools/read_store.py", store, arguments)
  }

  static func readRelease(_ folder: URL, _ arguments: [String]) throws -> JSON {
    try read("Tools/read_release.py", folder, arguments)
  }

  private static func read(_ script: String, _ place: URL, _ arguments: [String]) throws -> JSON {
    let (status, output) = try run(
      ["python3", project.appending(path: script).path, place.path, "--allow-test"] + arguments)
    guard status == 0 else { throw Failure(status: status) }
    return JSON(try JSONSerialization.jsonObject(with: output))
  }

  static func run(_ command: [String]) throws -> (status: Int32, output: Data) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, output)
  }
}
