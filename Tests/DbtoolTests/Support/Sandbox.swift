import Foundation
import Testing

/// A temporary working directory for the command, with the published test keys.
final class Sandbox {
  let directory: URL
  /// The environment of every run, except `PATH`.
  var environment = ["DBTOOL_ALLOW_TEST_KEYS": "1"]

  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The path of the command, from `COFFER_DBTOOL` or next to the test bundle.
  ///
  /// `Tools/test` uses a release build, which starts in about 0.015 s of processor time. A debug build takes 0.6 s.
  static let dbtool: String = {
    if let given = ProcessInfo.processInfo.environment["COFFER_DBTOOL"] { return given }
    let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let beside = URL(filePath: bundle).deletingLastPathComponent().appending(path: "dbtool").path
    let usual = root.appending(path: ".build/debug/dbtool").path
    return FileManager.default.isExecutableFile(atPath: beside) ? beside : usual
  }()

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "dbtool-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let keys = Self.root.appending(path: "Keys")
    for name in [
      "primary.key", "next.key", "wrong.key", "identity.key", "recipient.txt", "passphrase.txt", "signing.key",
      "publisher.txt",
    ] {
      try FileManager.default.copyItem(at: keys.appending(path: name), to: directory.appending(path: name))
      try setMode(name, 0o600)
    }
  }

  deinit {
    try? FileManager.default.removeItem(at: directory)
  }

  /// Creates a sandbox with an empty TEST store `s.coffer`, and makes its key `primary.key` the default of later runs.
  static func withStore(_ options: String...) throws -> Sandbox {
    let sandbox = try Sandbox()
    sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
    let made = try sandbox.run(["create", "s.coffer"] + options)
    try #require(made.status == 0, "\(made.errors)")
    return sandbox
  }

  /// - Parameter journal: `rollback` or `wal`.
  static func withStore(journal: String) throws -> Sandbox {
    try journal == "wal" ? withStore("--wal") : withStore()
  }

  func path(_ name: String) -> String { directory.appending(path: name).path }

  func write(_ name: String, _ text: String) throws {
    try write(name, bytes: Array(text.utf8))
  }

  func write(_ name: String, bytes: [UInt8]) throws {
    try Data(bytes).write(to: directory.appending(path: name))
  }

  func read(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: directory.appending(path: name)))
  }

  func text(of name: String) throws -> String {
    String(decoding: try read(name), as: UTF8.self)
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: path(name))
  }

  func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: path(name))
  }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
  }

  func setMode(_ name: String, _ mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
  }

  func mode(of name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
  }
}

// MARK: - Running

extension Sandbox {
  /// The result of a run.
  struct Outcome {
    let status: Int32
    let output: [UInt8]
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// Standard error without the TEST store reminder.
    var diagnostics: String {
      errors.split(separator: "\n", omittingEmptySubsequences: false)
        .filter { !$0.hasSuffix("is a TEST store: its keys may be published") }
        .joined(separator: "\n")
    }

    /// Decodes standard output as JSON.
    func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return try decoder.decode(type, from: Data(output))
    }
  }

  @discardableResult
  func run(_ arguments: String..., input: String = "", without variables: String...) throws -> Outcome {
    try run(arguments, input: Array(input.utf8), without: variables)
  }

  @discardableResult
  func run(
    _ arguments: [String], input: [UInt8] = [], under prefix: [String] = [], without variables: [String] = []
  ) throws -> Outcome {
    let number = UUID().uuidString
    try write(".in-\(number)", bytes: input)
    defer {
      for stream in ["in", "out", "err"] { try? FileManager.default.removeItem(atPath: path(".\(stream)-\(number)")) }
    }
    let child = try Child(
      arguments, in: self, under: prefix, without: variables,
      streams: .files(input: path(".in-\(number)"), output: path(".out-\(number)"), errors: path(".err-\(number)")))
    let status = child.wait()
    let outcome = Outcome(
      status: status, output: try read(".out-\(number)"), errors: try text(of: ".err-\(number)"))
    if outcome.errors.contains("hint: ") {
      let unknown = try HintWords.unknown(in: outcome.errors, of: arguments, self)
      #expect(unknown.isEmpty, "options of the hint that the verb hasn't: \(arguments): \(outcome.errors)")
    }
    return outcome
  }

  /// Returns the help of a verb with all its options.
  func help(_ command: [String]) throws -> String {
    try run(command + ["--help-hidden"]).text
  }

  /// Runs the command and requires success.
  @discardableResult
  func succeed(_ arguments: String..., input: String = "") throws -> Outcome {
    try succeed(arguments, input: input)
  }

  @discardableResult
  func succeed(_ arguments: [String], input: String = "") throws -> Outcome {
    let outcome = try run(arguments, input: Array(input.utf8))
    try #require(outcome.status == 0, "\(arguments.joined(separator: " ")): \(outcome.errors)")
    return outcome
  }
}
