import Coffer
import CofferEngine
import CofferSealing
import Foundation
import Testing

/// A temporary folder in which an example program runs.
final class Workshop {
  let folder: URL
  private let program: String

  /// - Parameter program: The name of an example, built next to the test bundle.
  init(_ program: String) throws {
    let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let beside = URL(filePath: bundle).deletingLastPathComponent().appending(path: program).path
    let root = URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let usual = root.appending(path: ".build/debug/\(program)").path
    self.program = FileManager.default.isExecutableFile(atPath: beside) ? beside : usual
    folder = FileManager.default.temporaryDirectory.appending(path: "examples-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Files

  func url(_ name: String) -> URL { folder.appending(path: name) }

  func write(_ name: String, _ text: String) throws {
    try FileManager.default.createDirectory(
      at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url(name), options: .atomic)
  }

  func read(_ name: String) throws -> Data { try Data(contentsOf: url(name)) }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: url(name).path) }

  /// Returns whether a file contains a text, which must be long enough not to occur in ciphertext by chance.
  func holds(_ name: String, _ text: String) throws -> Bool {
    try #require(text.utf8.count >= 5)
    return try read(name).range(of: Data(text.utf8)) != nil
  }

  func makeKey(_ name: String) throws {
    _ = try StoreKey.generate(at: url(name))
  }

  /// Creates an identity, and a file `NAME.pub` with its recipient.
  func makeIdentity(_ name: String) throws {
    let identity = try KeyLine.generate(.identity)
    try identity.write(toNewFile: url(name).path)
    try write("\(name).pub", identity.recipient() + "\n")
  }

  // MARK: Running

  struct Outcome {
    let status: Int32
    let text: String
    let errors: String

    var lines: [String] { text.split(separator: "\n").map(String.init) }
  }

  /// Runs the program until it exits. Its streams are files, which other tests can't keep open.
  @discardableResult
  func run(_ words: String..., input: String = "") throws -> Outcome {
    try run(words, input: Data(input.utf8))
  }

  @discardableResult
  func run(_ words: [String], input: Data) throws -> Outcome {
    let stem = ".run-\(UUID().uuidString)"
    let names = ["in", "out", "err"].map { "\(stem)-\($0)" }
    for name in names { try (name == names[0] ? input : Data()).write(to: url(name)) }
    defer { for name in names { try? FileManager.default.removeItem(at: url(name)) } }
    let process = self.process(words)
    process.standardInput = try FileHandle(forReadingFrom: url(names[0]))
    process.standardOutput = try FileHandle(forWritingTo: url(names[1]))
    process.standardError = try FileHandle(forWritingTo: url(names[2]))
    try process.run()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, text: String(decoding: try read(names[1]), as: UTF8.self),
      errors: String(decoding: try read(names[2]), as: UTF8.self))
  }

  /// Runs the program and requires success.
  @discardableResult
  func succeed(
    _ words: String..., input: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Outcome {
    let outcome = try run(words, input: Data(input.utf8))
    try #require(outcome.status == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
    return outcome
  }

  /// Returns a process for the program without starting it.
  func process(_ words: [String], under prefix: [String] = []) -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = prefix + [program] + words
    process.currentDirectoryURL = folder
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("NOTES_") }
    return process
  }

  /// Starts the program with a pipe as standard output, which the test reads line by line.
  func start(_ words: String...) throws -> Running {
    try Running(process(words))
  }
}

/// A running example.
final class Running {
  let process: Process
  private let output = Pipe()
  private var bytes = Data()

  init(_ process: Process) throws {
    self.process = process
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Waits for the next line and returns it, or `nil` at the end of the output.
  func line() -> String? {
    while true {
      if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        defer { bytes.removeSubrange(...end) }
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { return nil }
      bytes += more
    }
  }

  func end(by signal: Int32) {
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
  }
}
