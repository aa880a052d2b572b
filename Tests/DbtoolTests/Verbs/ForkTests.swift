import Foundation
import Glibc
import Testing

/// Tests fork, which creates editable copies.
@Suite struct ForkTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: (1...50).map { "text \($0)\n" }.joined())
    return sandbox
  }

  private func texts(_ sandbox: Sandbox, _ store: String) throws -> String {
    try sandbox.succeed("export", store).text
  }

  @Test func copiesDocumentsAndSeparatesNewIDs() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.succeed("fork", "s.coffer", "c.coffer", "--json")
    #expect(result.text.hasPrefix(#"{"path":"c.coffer","original":"copied","documents":50,"store_id":""#))
    #expect(try texts(sandbox, "c.coffer") == texts(sandbox, "s.coffer"))
    #expect(try sandbox.mode(of: "c.coffer") == 0o600)
    #expect(try sandbox.read("s.coffer") == before)
    let put = try sandbox.succeed("put", "c.coffer", "--text", "mine", "--json")
    #expect(put.text.contains("1099511627827"), "\(put.text)")
    try sandbox.succeed("verify", "c.coffer")
    let names = try sandbox.names()
    let again = try sandbox.succeed("fork", "s.coffer", "c.coffer", "--json")
    #expect(again.text.contains(#""original":"unchanged","documents":51"#))
    #expect(try sandbox.names() == names)
  }

  @Test func replacesCopyByNewerOriginalOnRequest() throws {
    let sandbox = try filled()
    try sandbox.succeed("fork", "s.coffer", "c.coffer")
    try sandbox.succeed("put", "c.coffer", "--text", "mine")
    try sandbox.succeed("put", "s.coffer", "--text", "theirs")
    let kept = try sandbox.succeed("fork", "s.coffer", "c.coffer")
    #expect(kept.errors.contains("s.coffer is newer than the state that c.coffer was made from"))
    #expect(try texts(sandbox, "c.coffer").contains("mine"))
    let replaced = try sandbox.succeed("fork", "s.coffer", "c.coffer", "--on-newer", "replace", "--json")
    #expect(replaced.text.contains(#""original":"replaced","documents":51"#))
    #expect(try texts(sandbox, "c.coffer") == texts(sandbox, "s.coffer"))
  }

  @Test func rejectsWrongOriginals() throws {
    let sandbox = try filled()
    try FileManager.default.copyItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("older.coffer"))
    try sandbox.succeed("put", "s.coffer", "--text", "more")
    try sandbox.succeed("fork", "s.coffer", "c.coffer")
    let copy = try sandbox.read("c.coffer")
    let older = try sandbox.run("fork", "older.coffer", "c.coffer")
    #expect(older.status == 21 && older.errors.contains("older.coffer is older than the state that"))
    try sandbox.succeed("put", "older.coffer", "--text", "another")
    let fork = try sandbox.run("fork", "older.coffer", "c.coffer", "--on-newer", "replace")
    #expect(fork.status == 21 && fork.errors.contains("does not descend"))
    try sandbox.succeed("create", "other.coffer", "--test")
    #expect(try sandbox.run("fork", "other.coffer", "c.coffer").status == 21)
    let none = try sandbox.run("fork", "c.coffer", "s.coffer")
    #expect(none.status != 0 && none.errors.contains("no editable copy"))
    #expect(try sandbox.run("fork", "missing.coffer", "new.coffer").status == 10)
    #expect(!sandbox.exists("new.coffer"))
    #expect(try sandbox.read("c.coffer") == copy)
  }

  @Test func acceptsOtherKeysForCopy() throws {
    let sandbox = try filled()
    try sandbox.succeed("keygen", "hers.key", "--test")
    let before = try texts(sandbox, "s.coffer")
    try sandbox.succeed("fork", "s.coffer", "c.coffer", "--new-key-file", "hers.key", "--test")
    #expect(try sandbox.run("ls", "c.coffer").status == 12)
    #expect(try sandbox.succeed("export", "c.coffer", "--key-file", "hers.key").text == before)
    #expect(try sandbox.run("fork", "s.coffer", "c.coffer", "--new-key-file", "hers.key").status == 64)
  }

  @Test func keepsOriginalInReadOnlyFolder() throws {
    let sandbox = try filled()
    try FileManager.default.createDirectory(atPath: sandbox.path("bundle"), withIntermediateDirectories: false)
    try FileManager.default.moveItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("bundle/s.coffer"))
    let before = try sandbox.read("bundle/s.coffer")
    chmod(sandbox.path("bundle"), 0o555)
    defer { chmod(sandbox.path("bundle"), 0o755) }
    try sandbox.succeed("fork", "bundle/s.coffer", "c.coffer")
    try sandbox.succeed("fork", "bundle/s.coffer", "c.coffer")
    #expect(try sandbox.read("bundle/s.coffer") == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("bundle")) == ["s.coffer"])
  }
}
