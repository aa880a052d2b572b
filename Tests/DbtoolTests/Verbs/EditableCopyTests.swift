import CofferPlatform
import Foundation
import Testing

/// Tests copy --editable, and merge with the original.
@Suite struct EditableCopyTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: (1...50).map { "text \($0)\n" }.joined())
    return sandbox
  }

  private func texts(_ sandbox: Sandbox, _ store: String) throws -> String {
    try sandbox.succeed("export", store).text
  }

  /// One of several copies to one name is made, and the others leave it as it is.
  @Test func concurrentCopiesMakeOneStore() throws {
    let sandbox = try filled()
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let children = try (0..<8).map { _ in
      try Child(
        ["copy", "s.coffer", "c.coffer", "--editable"], in: sandbox,
        streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    }
    #expect(children.map { $0.wait() }.sorted() == [0] + Array(repeating: 1, count: 7))
    #expect(try texts(sandbox, "c.coffer") == texts(sandbox, "s.coffer"))
    try sandbox.succeed("verify", "c.coffer")
    #expect(try sandbox.names().filter { $0.contains("coffer") } == ["c.coffer", "s.coffer"])
  }

  @Test func copiesDocumentsAndSeparatesNewIDs() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable", "--json")
    #expect(result.text.hasPrefix(#"{"path":"c.coffer","documents":50,"store_id":""#))
    #expect(try texts(sandbox, "c.coffer") == texts(sandbox, "s.coffer"))
    #expect(try sandbox.mode(of: "c.coffer") == 0o600)
    #expect(try sandbox.read("s.coffer") == before)
    let put = try sandbox.succeed("put", "c.coffer", "--text", "mine", "--json")
    struct Put: Decodable { let id: Int }
    #expect(try put.json(Put.self).id >= 1 << 40, "\(put.text)")
    try sandbox.succeed("verify", "c.coffer")
    let names = try sandbox.names()
    let again = try sandbox.run("copy", "s.coffer", "c.coffer", "--editable")
    #expect(again.status == 1 && again.errors.contains("c.coffer exists already"))
    #expect(try sandbox.names() == names)
  }

  @Test func hintForExistingCopyMergesOriginal() throws {
    let sandbox = try filled()
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable")
    try sandbox.succeed("put", "c.coffer", "--text", "mine")
    try sandbox.succeed("put", "s.coffer", "--text", "theirs")
    let again = try sandbox.run("copy", "s.coffer", "c.coffer", "--editable")
    #expect(again.errors.contains("'dbtool merge --store c.coffer s.coffer'"))
    // A variable that names another store doesn't matter.
    sandbox.environment["DBTOOL_STORE"] = "s.coffer"
    try sandbox.succeed("merge", "--store", "c.coffer", "s.coffer")
    sandbox.environment["DBTOOL_STORE"] = nil
    let texts = try texts(sandbox, "c.coffer")
    #expect(texts.contains("mine") && texts.contains("theirs"))
  }

  @Test func rejectsWrongOriginals() throws {
    let sandbox = try filled()
    try FileManager.default.copyItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("older.coffer"))
    try sandbox.succeed("put", "s.coffer", "--text", "more")
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable")
    let copy = try sandbox.read("c.coffer")
    // An older file has nothing new.
    #expect(try sandbox.succeed("merge", "c.coffer", "older.coffer").text.isEmpty)
    #expect(try sandbox.read("c.coffer") == copy)
    try sandbox.succeed("put", "older.coffer", "--text", "another")
    #expect(try sandbox.run("merge", "c.coffer", "older.coffer", "--prefer", "theirs").status == 21)
    try sandbox.succeed("create", "other.coffer", "--test")
    #expect(try sandbox.run("merge", "c.coffer", "other.coffer").status != 0)
    #expect(try sandbox.run("copy", "missing.coffer", "new.coffer", "--editable").status == 10)
    #expect(!sandbox.exists("new.coffer"))
    #expect(try sandbox.read("c.coffer") == copy)
  }

  @Test func acceptsOtherKeysForCopy() throws {
    let sandbox = try filled()
    try sandbox.succeed("keygen", "hers.key", "--test")
    let before = try texts(sandbox, "s.coffer")
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable", "--new-key-file", "hers.key", "--test")
    #expect(try sandbox.run("ls", "c.coffer").status == 12)
    #expect(try sandbox.succeed("export", "c.coffer", "--key-file", "hers.key").text == before)
    #expect(try sandbox.run("copy", "s.coffer", "c.coffer", "--editable", "--new-key-file", "hers.key").status == 1)
  }

  @Test func keepsOriginalInReadOnlyFolder() throws {
    let sandbox = try filled()
    try FileManager.default.createDirectory(atPath: sandbox.path("bundle"), withIntermediateDirectories: false)
    try FileManager.default.moveItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("bundle/s.coffer"))
    let before = try sandbox.read("bundle/s.coffer")
    chmod(sandbox.path("bundle"), 0o555)
    defer { chmod(sandbox.path("bundle"), 0o755) }
    try sandbox.succeed("copy", "bundle/s.coffer", "c.coffer", "--editable")
    try sandbox.succeed("merge", "c.coffer", "bundle/s.coffer")
    #expect(try sandbox.read("bundle/s.coffer") == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("bundle")) == ["s.coffer"])
  }
}
