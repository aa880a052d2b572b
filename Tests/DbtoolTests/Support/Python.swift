import Foundation
import Testing

/// Python's sqlite3 and plistlib, which write and read the files of the old systems independently.
enum Python {
  static let isPresent = (try? run("import sqlite3, plistlib", in: FileManager.default.temporaryDirectory)) != nil

  struct Failure: Error {
    let errors: String
  }

  /// Runs a script in a folder, and returns its output.
  @discardableResult
  static func run(_ script: String, in folder: URL) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script]
    process.currentDirectoryURL = folder
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(errors: complaint) }
    return text
  }
}

extension Sandbox {
  @discardableResult
  func python(_ script: String) throws -> String {
    try Python.run(script, in: directory)
  }
}
