import CofferSQLite
import Foundation
import Testing

/// Tests info, check, verify and anchor.
@Suite struct MaintenanceTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for text in ["one", "two", "three"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    return sandbox
  }

  private func damage(_ sandbox: Sandbox, _ statements: String...) throws {
    let database = try Database(sandbox.path("s.coffer"))
    for statement in statements { try database.execute(statement) }
    try database.close()
  }

  @Test func infoWorksWithoutKey() throws {
    let sandbox = try filled()
    sandbox.environment = [:]
    let result = try sandbox.succeed("info", "s.coffer", "--json")
    struct Info: Decodable {
      struct Slot: Decodable {
        let slot: Int
        let kind: String
      }
      let storeId: String
      let pin: String
      let size: Int
      let format: Int
      let journal: String
      let documents: Int
      let titles: String
      let test: Bool
      let slots: [Slot]
      let sqlite: String
    }
    let info = try result.json(Info.self)
    #expect(info.documents == 3 && info.format == 3 && info.test && info.titles == "sealed")
    #expect(info.journal == "rollback")
    #expect(info.size == (try sandbox.read("s.coffer").count))
    #expect(info.slots.map(\.kind) == ["key-file"])
    #expect(result.errors.isEmpty)
  }

  @Test func checkReportsFaultWithoutKey() throws {
    let sandbox = try filled()
    sandbox.environment = [:]
    #expect(try sandbox.succeed("verify", "--keyless", "s.coffer").text == "structure: sound\n")
    try damage(sandbox, "UPDATE coffer_record SET body = NULL WHERE id = 2")
    let result = try sandbox.run("verify", "--keyless", "s.coffer")
    #expect(result.status == 20)
    #expect(result.text == "the text of document 2 is missing\n")
  }

  /// Puts the old version of document 2 in place of the current one, without a key. The row authenticates.
  private func replay(_ sandbox: Sandbox, _ statements: String...) throws {
    try FileManager.default.copyItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("old.coffer"))
    try sandbox.succeed("put", "s.coffer", "--id", "2", "--text", "changed")
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("ATTACH '\(sandbox.path("old.coffer"))' AS old")
    try database.execute("DELETE FROM coffer_record WHERE id = 2")
    try database.execute("INSERT INTO coffer_record SELECT * FROM old.coffer_record WHERE id = 2")
    for statement in statements { try database.execute(statement) }
    try database.close()
  }

  @Test func walksDetectReplayedAndDeletedRows() throws {
    let sandbox = try filled()
    try replay(sandbox, "DELETE FROM coffer_record WHERE id = 1")
    for words in [
      ["ls"], ["search", "t"], ["query", "SELECT count(*) FROM documents"], ["query", "SELECT title FROM documents"],
      ["verify", "--anchor-only", "--save-anchor", "-"], ["verify"], ["export"], ["export", "-c", "documents"],
      ["export", "-o", "all.ndjson"],
      ["export", "-c", "documents", "-o", "all.csv"],
    ] {
      let result = try sandbox.run(words + ["--store", "s.coffer"])
      #expect(result.status == 21, "\(words)")
      #expect(result.errors.contains("not the set that was written"), "\(words)")
    }
    // The documents that are there have been written.
    let lines = try sandbox.run("export", "s.coffer").text.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(try sandbox.text(of: "all.ndjson").split(separator: "\n").count == 2)
    #expect(try sandbox.text(of: "all.csv").split(separator: "\n").count == 3)
    try sandbox.succeed("export", "s.coffer", "--unverified", "-c", "documents", "-o", "unverified.csv")
    #expect(try sandbox.succeed("export", "s.coffer", "--unverified").text.split(separator: "\n") == lines)
  }

  /// A row of no collection is in no list.
  @Test func walksDetectRowOfUnknownCollection() throws {
    let sandbox = try filled()
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("UPDATE coffer_record SET coll = 77 WHERE id = 1")
    try database.close()
    for words in [
      ["ls"], ["search", "nothing"], ["query", "SELECT count(*) FROM documents"],
      ["verify", "--anchor-only", "--save-anchor", "-"], ["export"],
    ] {
      let result = try sandbox.run(words + ["--store", "s.coffer"])
      #expect(result.status == 21, "\(words): \(result.errors)")
    }
  }

  @Test func exportDetectsReplayedRow() throws {
    let sandbox = try filled()
    try replay(sandbox)
    let result = try sandbox.run("export", "s.coffer")
    #expect(result.status == 21)
    #expect(result.text.contains("two"))
  }

  @Test func verifiesIntactStore() throws {
    let result = try filled().succeed("verify", "s.coffer", "--json")
    let text = result.text.replacing(/coffer-pin-3-[0-9a-f]{128}/, with: "PIN")
    #expect(
      text == #"{"sound":true,"documents":3,"set":"matches","count":"matches","pin":"PIN","damaged":[],"problems":[]}"#
        + "\n")
  }

  @Test func verifyDetectsMissingDocument() throws {
    let sandbox = try filled()
    try damage(sandbox, "DELETE FROM coffer_body WHERE id = 2", "DELETE FROM coffer_record WHERE id = 2")
    for options in [[], ["--quick"]] {
      let result = try sandbox.run(["verify", "s.coffer"] + options)
      #expect(result.status == 21)
      #expect(result.text.hasPrefix("sound:     false\n"))
    }
  }

  @Test func removingListsDocumentWithDamagedHead() throws {
    struct Listed: Decodable { var id: Int }
    let sandbox = try filled()
    try damage(sandbox, "UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = 2")
    let removed = try sandbox.succeed("rm", "s.coffer", "2", "3", "--dry-run", "--json")
    #expect(try removed.json([Listed].self).map(\.id) == [3, 2])
  }

  @Test func verifyListsDamagedText() throws {
    let sandbox = try filled()
    try damage(sandbox, "UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 2")
    let result = try sandbox.run("verify", "s.coffer", "--json")
    #expect(result.status == 20)
    #expect(result.text.contains(#""damaged":[{"id":2,"#))
    #expect(result.errors.contains("hint: "))
    #expect(try sandbox.run("show", "s.coffer", "2").status == 20)
    #expect(try sandbox.succeed("show", "s.coffer", "1", "3").text == "onethree")
    #expect(try sandbox.run("export", "s.coffer", "-o", "out.csv").status == 20)
    #expect(!sandbox.exists("out.csv"))
  }

  @Test func anchorDetectsOlderFile() throws {
    let sandbox = try filled()
    let old = try sandbox.read("s.coffer")
    try sandbox.succeed("put", "s.coffer", "--text", "four")
    let anchor = try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").text
    #expect(anchor.hasPrefix("coffer3:"))
    try sandbox.write("anchor.txt", "# kept\n" + anchor)
    #expect(
      try sandbox.succeed("verify", "s.coffer", "--anchor-only", "--anchor", "anchor.txt").text == "anchor: same\n")
    try sandbox.write("s.coffer", bytes: old)
    #expect(try sandbox.run("verify", "s.coffer", "--anchor-only", "--anchor", String(anchor.dropLast())).status == 21)
    #expect(try sandbox.run("verify", "s.coffer", "--anchor", "anchor.txt").status == 21)
    #expect(try sandbox.run("verify", "s.coffer").status == 0)
  }

  @Test func anchorAcceptsNewerStoreUnlessExact() throws {
    let sandbox = try filled()
    let anchor = String(
      try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").text.dropLast())
    try sandbox.succeed("put", "s.coffer", "--text", "four")
    #expect(
      try sandbox.succeed("verify", "s.coffer", "--anchor-only", "--anchor", anchor).text == "anchor: newer by 1\n")
    #expect(
      try sandbox.run("verify", "s.coffer", "--anchor-only", "--anchor", anchor, "--require", "same").status == 21)
  }

  @Test func rejectsInvalidAnchor() throws {
    let sandbox = try filled()
    #expect(try sandbox.run("verify", "s.coffer", "--anchor-only", "--anchor", "coffer3:x").status == 64)
    try sandbox.write("empty.txt", "")
    #expect(try sandbox.run("verify", "s.coffer", "--anchor-only", "--anchor", "empty.txt").status == 64)
  }
}
