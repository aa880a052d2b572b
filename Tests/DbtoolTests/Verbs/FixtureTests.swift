import CofferSQLite
import Foundation
import Testing

/// Tests that every verb rejects a store of another format and leaves it unchanged.
struct FixtureTests {
  private static let verbs: [[String]] = [
    ["info"], ["verify", "--keyless"], ["ls"], ["show", "1"], ["verify"],
    ["verify", "--anchor-only", "--save-anchor", "-"], ["export"], ["put", "--text", "x"],
    ["rm", "1"],
    ["rekey"], ["copy", "new.coffer", "--salvage"], ["backup", "copy.coffer"], ["compact"], ["collection", "list"],
  ]

  private func newerStore(_ changes: String) throws -> Sandbox {
    let sandbox = try Sandbox()
    sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
    let fixture = Sandbox.root.appending(path: "Tests/Fixtures/format-3/clear.coffer")
    try sandbox.write("s.coffer", bytes: [UInt8](try Data(contentsOf: fixture)))
    try sandbox.setMode("s.coffer", 0o600)
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute(changes)
    try database.close()
    return sandbox
  }

  @Test(arguments: verbs)
  func rejectsNewerFormat(_ verb: [String]) throws {
    let sandbox = try newerStore("PRAGMA user_version = 4; UPDATE coffer_header SET format = 4")
    let before = try sandbox.read("s.coffer")
    let names = try sandbox.names()
    let result = try sandbox.run(verb + ["--store", "s.coffer"])
    #expect(result.status == 15)
    #expect(result.output.isEmpty)
    #expect(
      result.errors.hasSuffix(
        "s.coffer: made by a later version of this program (format 4)\nhint: update this program\n"), "\(result.errors)"
    )
    #expect(try sandbox.read("s.coffer") == before)
    #expect(try sandbox.names() == names)
  }

  @Test func rejectsNewerHeaderInOlderFile() throws {
    let sandbox = try newerStore("UPDATE coffer_header SET format = 4")
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run("verify", "s.coffer")
    #expect(result.status == 15)
    #expect(result.errors.contains("made by a later version of this program"))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test(arguments: verbs)
  func rejectsFormat1(_ verb: [String]) throws {
    let sandbox = try Sandbox()
    sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
    let fixture = Sandbox.root.appending(path: "Tests/Fixtures/format-1.coffer")
    try sandbox.write("s.coffer", bytes: [UInt8](try Data(contentsOf: fixture)))
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(verb + ["--store", "s.coffer"])
    #expect(result.status == 15 && result.output.isEmpty)
    #expect(result.errors.contains("made before the first release"), "\(result.errors)")
    #expect(try sandbox.read("s.coffer") == before)
  }

  /// A document that only a later version can read is named, and can be deleted.
  @Test func namesAndDeletesNewerDocument() throws {
    let sandbox = try Sandbox.withStore()
    let fixture = Sandbox.root.appending(path: "Tests/Fixtures/format-3/newer-document.coffer")
    try sandbox.write("n.coffer", bytes: Array(Data(contentsOf: fixture)))
    let refused = try sandbox.run("show", "n.coffer", "2")
    #expect(refused.status == 15 && refused.errors.contains("document 2 was written by a later version"))
    #expect(try sandbox.succeed("show", "n.coffer", "3").text == "Behind it.")
    try sandbox.succeed("rm", "n.coffer", "2")
    #expect(try sandbox.succeed("verify", "n.coffer").text.contains("sound"))
    #expect(try sandbox.succeed("ls", "n.coffer").lines.count == 3)
  }
}
