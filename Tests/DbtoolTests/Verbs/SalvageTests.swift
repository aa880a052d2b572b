import CofferSQLite
import Foundation
import Testing

/// Tests `salvage`, which recovers the readable documents of a damaged store.
@Suite struct SalvageTests {
  private struct Report: Decodable {
    struct Left: Decodable {
      var id: Int
      var reason: String
    }

    var path: String
    var documents: Int
    var expected: Int?
    var set: String
    var left: [Left]
    var namedByNumber: [String]
    var problems: [String]
    var storeId: String
    var pin: String
  }

  /// Creates a store with five documents, and damages it with SQL.
  private func damaged(_ sql: String...) throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "lines", input: "one\ntwo\nthree\nfour\nfive\n")
    let database = try Database(sandbox.path("s.coffer"))
    for sql in sql { try database.execute(sql) }
    try database.close()
    return sandbox
  }

  private let saving = ["copy", "s.coffer", "n.coffer", "--salvage", "--new-key-file", "next.key"]

  @Test func salvagesIntactStoreCompletely() throws {
    let sandbox = try damaged()
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(saving + ["--json"])
    #expect(result.status == 0, "\(result.errors)")
    let report = try result.json(Report.self)
    #expect(report.documents == 5 && report.expected == 5 && report.set == "matches" && report.left.isEmpty)
    #expect(try sandbox.read("s.coffer") == before)
    let saved = try sandbox.succeed("show", "n.coffer", "5", "--key-file", "next.key", "--pin", report.pin)
    #expect(saved.text == "five")
    #expect(try sandbox.succeed("verify", "n.coffer", "--key-file", "next.key").text.contains("sound:     true"))
  }

  @Test func listsUnreadableDocuments() throws {
    let sandbox = try damaged(
      "UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 2", "DELETE FROM coffer_record WHERE id = 4")
    let result = try sandbox.run(saving + ["--json"])
    #expect(result.status == 3)
    let report = try result.json(Report.self)
    #expect(
      report.documents == 3 && report.expected == 5 && report.left.map(\.id) == [2] && report.set == "differs")
    #expect(
      result.errors.contains("dbtool: left behind: document 2 is damaged: its text is not the one that was written"))
    #expect(result.errors.contains("3 documents of 5 salvaged"))
    #expect(result.errors.contains("\"code\":3"))
    #expect(try sandbox.succeed("ls", "n.coffer", "--key-file", "next.key").lines.count == 3)
  }

  @Test func namesLostAttachments() throws {
    let sandbox = try damaged()
    try sandbox.write("a.bin", "attached")
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "a.bin")
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("DELETE FROM coffer_chunk")
    try database.close()
    let result = try sandbox.run(saving + ["--json"])
    #expect(result.status == 3)
    #expect(
      result.errors.contains(#""message":"5 documents of 5 salvaged, without 1 attachment""#), "\(result.errors)")
  }

  @Test func suggestsComparingIfNoDocumentIsMissing() throws {
    let sandbox = try damaged("UPDATE coffer_collection SET sealed = zeroblob(length(sealed))")
    let result = try sandbox.run(saving)
    #expect(result.status == 3 && result.errors.contains("5 documents of 5 salvaged"), "\(result.errors)")
    #expect(result.errors.contains("hint: compare the new store with a backup"), "\(result.errors)")
  }

  @Test func reportsMissingState() throws {
    let sandbox = try damaged("DELETE FROM coffer_state")
    #expect(try sandbox.run("ls", "s.coffer").status == 20)
    let result = try sandbox.run(saving + ["--json"])
    #expect(result.status == 3)
    let report = try result.json(Report.self)
    #expect(report.documents == 5 && report.expected == nil && report.set == "unknown" && report.problems.count == 1)
  }

  @Test func salvagesStoreWithoutFirstPage() throws {
    let sandbox = try damaged()
    let bytes = try sandbox.read("s.coffer")
    try Data([UInt8](repeating: 0, count: 8192) + bytes.dropFirst(8192)).write(
      to: URL(filePath: sandbox.path("s.coffer")))
    #expect(try sandbox.run("ls", "s.coffer").status == 10)
    let result = try sandbox.run(saving + ["--json"])
    #expect(result.status == 0, "\(result.errors)")
    let report = try result.json(Report.self)
    #expect(report.documents == 5 && report.expected == 5 && report.set == "matches" && report.left.isEmpty)
    #expect(result.errors.contains("dbtool: its first pages can't be read: every page was searched"))
  }

  @Test func reportsUnrecoverableOrWrongKey() throws {
    let sandbox = try damaged(
      "UPDATE coffer_header SET keyring = zeroblob(length(keyring))", "UPDATE coffer_spare SET copy = x'00'")
    let result = try sandbox.run(saving)
    #expect(
      result.status == 20 && result.diagnostics.contains("nothing can be salvaged")
        && result.diagnostics.contains("backup"))
    let wrong = try sandbox.run(saving + ["--key-file", "wrong.key"])
    #expect(wrong.status == 12 && wrong.diagnostics.contains("no slot opens with this key"))
    #expect(!sandbox.exists("n.coffer"))
  }

  @Test func existingOutputExitsWith1() throws {
    let sandbox = try damaged()
    try sandbox.write("n.coffer", "mine")
    let result = try sandbox.run(saving)
    #expect(result.status == 1 && result.output.isEmpty)
    #expect(try sandbox.text(of: "n.coffer") == "mine")
    #expect(try sandbox.run("copy", "s.coffer", "s.coffer", "--salvage", "--new-key-file", "next.key").status == 1)
  }

  @Test func requiresOutputAndNewKey() throws {
    let sandbox = try damaged()
    #expect(try sandbox.run("salvage", "s.coffer").status == 64)
    #expect(try sandbox.run("copy", "s.coffer", "n.coffer", "--salvage", "--no-input").status == 13)
    #expect(try sandbox.run("copy", "none", "n.coffer", "--salvage", "--new-key-file", "next.key").status == 10)
    #expect(!sandbox.exists("n.coffer") && !sandbox.exists("none"))
  }

  @Test func rejectsDisallowedTestStore() throws {
    let sandbox = try damaged()
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
    #expect(try sandbox.run(saving).status == 16)
    try sandbox.succeed("keygen", "real.key")
    sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = "1"
    try sandbox.succeed("copy", "s.coffer", "n.coffer", "--salvage", "--new-key-file", "real.key")
    #expect(try sandbox.succeed("ls", "n.coffer", "--key-file", "real.key").errors.isEmpty)
  }

  @Test func keepsTitlesUnlessOptionIsGiven() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear", "--no-padding")
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--title", "t")
    try sandbox.succeed("copy", "s.coffer", "a", "--salvage", "--new-key-file", "next.key", "--label", "x")
    try sandbox.succeed("copy", "s.coffer", "b", "--salvage", "--new-key-file", "next.key", "--titles", "sealed")
    let (first, second) = (try sandbox.succeed("info", "a").text, try sandbox.succeed("info", "b").text)
    #expect(first.contains("titles:                  clear") && first.contains("padded:                  false"))
    #expect(second.contains("titles:                  sealed") && second.contains("padded:                  false"))
  }
}
