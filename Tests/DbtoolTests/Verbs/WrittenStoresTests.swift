import Foundation
import Testing

/// Tests the stores and folders in `Tests/Fixtures` that earlier versions wrote (`Tools/generators/make-fixtures`).
@Suite struct WrittenStoresTests {
  private static let fixtures = Sandbox.root.appending(path: "Tests/Fixtures")
  static let versions: [String] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: fixtures.path)) ?? []
    return names.filter { $0.first?.isNumber == true }.sorted()
  }()
  static let stores = versions.flatMap { version in
    [
      ("notes", "next.key"), ("clear", "next.key"), ("data", "primary.key"), ("customer", "identity.key"),
      ("device", "primary.key"), ("second", "primary.key"),
    ].map { Written(version: version, store: $0.0, key: $0.1) }
  }

  struct Written: Sendable, CustomTestStringConvertible {
    let version, store, key: String
    var testDescription: String { "\(version)/\(store)" }
  }

  /// Returns a sandbox with what a version wrote.
  private func sandbox(_ version: String, key: String) throws -> Sandbox {
    let sandbox = try Sandbox()
    let folder = Self.fixtures.appending(path: version)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try FileManager.default.copyItem(at: folder.appending(path: name), to: sandbox.directory.appending(path: name))
      if name.hasSuffix(".coffer") { try sandbox.setMode(name, 0o600) }
    }
    sandbox.environment["DBTOOL_KEY_FILE"] = key
    return sandbox
  }

  private func texts(_ sandbox: Sandbox, _ store: String) throws -> String {
    try sandbox.succeed("export", store, "--to", "csv", "--columns", "key,title,text").text
  }

  @Test func everyVersionIsThere() {
    #expect(Self.versions.contains("0.1"))
  }

  @Test(arguments: stores) func readsAndWrites(_ written: Written) throws {
    let sandbox = try sandbox(written.version, key: written.key)
    let store = "\(written.store).coffer"
    #expect(try sandbox.succeed("verify", store).text.contains("sound:"))
    let contents = try sandbox.text(of: "\(written.store).ndjson")
    #expect(try sandbox.succeed("export", store, "--to", "ndjson").text == contents)
    try sandbox.write("new.txt", "A new document.")
    try sandbox.succeed("put", store, "new.txt", "-c", "new")
    try sandbox.succeed("compact", store)
    #expect(try sandbox.succeed("verify", store).text.contains("sound:"))
    let lines = try sandbox.succeed("export", store, "--to", "ndjson").lines
    #expect(lines.count == contents.split(separator: "\n").count + 1)
  }

  @Test(arguments: versions) func usesIndexes(_ version: String) throws {
    let sandbox = try sandbox(version, key: "next.key")
    for store in ["notes.coffer", "clear.coffer"] {
      try sandbox.succeed("index", "check", store)
      #expect(try sandbox.succeed("search", store, "--ranked", "Köln", "-c", "notes", "--count").text == "1\n")
      #expect(
        try sandbox.succeed("query", store, "SELECT title FROM notes WHERE bytes > 10000", "--format", "tsv").text
          .contains("Long"))
    }
  }

  @Test(arguments: versions) func opensWithRecipient(_ version: String) throws {
    let sandbox = try sandbox(version, key: "identity.key")
    #expect(try sandbox.succeed("show", "notes.coffer", "Later").text == "After the rekey.")
  }

  @Test(arguments: versions) func updatesCopyOfRelease(_ version: String) throws {
    let sandbox = try sandbox(version, key: "identity.key")
    let line = try sandbox.text(of: "publisher.txt").split(separator: "\n").first { $0.hasPrefix("coffer-") }
    let source = ["public", "--customer", "anna", "--publisher", String(try #require(line))]
    try sandbox.succeed(["update", "customer.coffer"] + source)
    #expect(try sandbox.succeed("show", "customer.coffer", "Paris").text == "Four stations")
    #expect(try sandbox.succeed("show", "customer.coffer", "Berlin").text == "One airport, edited")
    #expect(try sandbox.run(["release", "diff", "customer.coffer"] + source).status == 4)
    try sandbox.succeed(["update", "--create", "new.coffer"] + source)
    let new = try texts(sandbox, "new.coffer")
    sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
    #expect(try texts(sandbox, "data.coffer") == new)
    #expect(try sandbox.succeed(["verify", "data.coffer"] + source.suffix(2)).text.contains("sound:"))
  }

  @Test(arguments: versions) func syncsByFolder(_ version: String) throws {
    let sandbox = try sandbox(version, key: "primary.key")
    #expect(try sandbox.succeed("show", "device.coffer", "Rome").text == "One tram")
    try sandbox.succeed("sync", "run", "device.coffer", "folder")
    #expect(try sandbox.succeed("show", "device.coffer", "Rome").text == "Two trams")
    try sandbox.succeed("sync", "join", "third.coffer", "folder", "--name", "third")
    #expect(try texts(sandbox, "third.coffer") == texts(sandbox, "second.coffer"))
  }
}
