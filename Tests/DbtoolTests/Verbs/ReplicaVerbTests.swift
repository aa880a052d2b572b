import CofferTestSupport
import Foundation
import Testing

/// Tests anchor --confirmed, adopt, promote and tail.
@Suite struct ReplicaVerbTests {
  private struct Promotion: Decodable {
    var documents: Int, confirmed: String?, base: String, pin: String, anchor: String
  }
  private struct Adoption: Decodable { var adopted: Bool, path: String, generation: Int, confirmed: String? }

  /// Creates a store with three documents, its anchor in `a`, and a followed copy.
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore("--wal")
    for number in 1...3 { try sandbox.succeed("put", "s.coffer", "--text", "text \(number)") }
    try sandbox.write("a", try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").text)
    try sandbox.succeed("backup", "s.coffer", "f.coffer")
    try FileManager.default.createDirectory(atPath: sandbox.path("copies"), withIntermediateDirectories: false)
    return sandbox
  }

  // MARK: - anchor --confirmed

  @Test func printsConfirmedAnchor() throws {
    let sandbox = try filled()
    // The path of the test folder can contain a link.
    let path = sandbox.directory.resolvingSymlinksInPath().appending(path: "s.coffer").path
    let answer = #"{"status":"synced","path":"\#(path)","txid":4,"replicated_txid":4}"#
    let lagging = #"{"status":"synced","path":"\#(path)","txid":4,"replicated_txid":3}"#
    let socket = try AnsweringSocket(
      at: sandbox.directory.appending(path: "l"), [.json(200, answer), .json(200, lagging), .json(200, answer)])
    let confirmed = try sandbox.succeed("replica", "confirm", "s.coffer", "l")
    #expect(try confirmed.text == sandbox.text(of: "a"))
    let refused = try sandbox.run("replica", "confirm", "s.coffer", socket.url.path)
    #expect(refused.status == 24 && refused.output.isEmpty)
    #expect(refused.diagnostics.hasPrefix("dbtool: error: Litestream did not confirm the commits: the replica has"))
    #expect(
      try sandbox.succeed("replica", "confirm", "s.coffer", "l", "--json").text.hasPrefix(#"{"anchor":"coffer3:"#))
    let dead = try sandbox.run("replica", "confirm", "s.coffer", "none", "--json")
    #expect(dead.status == 24 && dead.output.isEmpty && dead.errors.contains(#""kind":"not-confirmed""#))
  }

  @Test(arguments: [
    ["verify", "--anchor-only"], ["verify", "--require", "same"], ["verify", "--allow-rekey"],
    ["verify", "--keyless", "--save-anchor", "a"], ["verify", "--anchor-only", "--quick", "--save-anchor", "-"],
    ["replica", "confirm", "l", "--timeout", "0"], ["replica", "confirm"],
  ])
  func rejectsConflictingOptions(_ words: [String]) throws {
    #expect(try Sandbox.withStore().run(words + ["--store", "s.coffer"]).status == 64)
  }

  // MARK: - adopt

  @Test func adoptsEachStateOnce() throws {
    let sandbox = try filled()
    let adopt = ["replica", "adopt", "f.coffer", "copies", "--anchor", "a", "--wait", "0"]
    let first = try sandbox.succeed(adopt + ["--json"]).json(Adoption.self)
    #expect(first.adopted && first.generation == 4 && first.confirmed == "same")
    #expect(first.path.hasSuffix("/copies/0000000001.coffer"))
    #expect(try !sandbox.succeed(adopt + ["--json"]).json(Adoption.self).adopted)
    #expect(try sandbox.succeed("ls", "copies/current").lines.count == 3)
    #expect(try sandbox.run("put", "copies/current", "--text", "x").status == (getuid() == 0 ? 0 : 1))
  }

  @Test func missingFolderIsToBeMade() throws {
    let sandbox = try filled()
    let result = try sandbox.run("replica", "adopt", "f.coffer", "missing")
    #expect(result.status == 1)
    #expect(result.errors.hasSuffix("error: there is no folder missing\nhint: make it first\n"), "\(result.errors)")
  }

  @Test func rejectsOutdatedOrDamagedFile() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "--text", "later")
    try sandbox.write("a", try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").text)
    let behind = try sandbox.run("replica", "adopt", "f.coffer", "copies", "--anchor", "a", "--wait", "0")
    #expect(
      behind.status == 21
        && behind.errors.contains("error: f.coffer was not adopted: the store is older than its anchor"))
    var bytes = try sandbox.read("f.coffer")
    for index in bytes.count / 2..<bytes.count { bytes[index] = 0 }
    try sandbox.write("f.coffer", bytes: bytes)
    let damaged = try sandbox.run("replica", "adopt", "f.coffer", "copies", "--wait", "0")
    #expect([20, 21].contains(damaged.status), "\(damaged.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("copies")).isEmpty)
    #expect(try sandbox.run("replica", "adopt", "none.coffer", "copies").status == 10)
    #expect(try sandbox.run("replica", "adopt", "s.coffer", "none").status == 1)
    #expect(try sandbox.run("replica", "adopt", "s.coffer", "copies", "--keep", "0").status == 64)
    #expect(try sandbox.run("replica", "adopt", "s.coffer", "copies", "--require", "descent").status == 64)
    #expect(try sandbox.run("replica", "adopt", "s.coffer", "copies", "--key-file", "wrong.key").status == 12)
  }

  @Test func adoptsUntilSignal() throws {
    let sandbox = try filled()
    let output = sandbox.path("out")
    let child = try Child(
      ["replica", "adopt", "f.coffer", "copies", "--every", "0.05", "--wait", "0"], in: sandbox,
      streams: .files(input: "/dev/null", output: output, errors: sandbox.path("err")))
    func lines() throws -> Int { try sandbox.text(of: "out").split(separator: "\n").count }
    // By rename, because `backup` replaces no store that another process has open at that moment.
    func putAndReceive(_ text: String) throws {
      try sandbox.succeed("put", "s.coffer", "--text", text)
      try sandbox.succeed("backup", "s.coffer", "n.coffer")
      try #require(rename(sandbox.path("n.coffer"), sandbox.path("f.coffer")) == 0)
    }
    try waitUntil { try sandbox.exists("out") && lines() == 1 }
    try putAndReceive("another")
    try waitUntil { try lines() == 2 }
    // A possibly temporary problem causes a single warning.
    try sandbox.write("f.coffer", "no store")
    try waitUntil { try sandbox.text(of: "err").contains("warning: ") }
    try putAndReceive("third")
    try waitUntil { try lines() == 3 }
    kill(child.process, SIGTERM)
    #expect(child.wait() == 0)
    #expect(try sandbox.text(of: "err").split(separator: "\n").last == "dbtool: stopped")
  }

  // MARK: - promote and tail

  @Test func promotedCopyHasNewPin() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "--text", "lost")
    let promoted = try sandbox.succeed("replica", "promote", "f.coffer", "--anchor", "a", "--json")
    let facts = try promoted.json(Promotion.self)
    #expect(facts.documents == 3 && facts.confirmed == "same")
    #expect(try facts.base + "\n" == sandbox.text(of: "a"))
    #expect(
      try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "f.coffer").text == facts.anchor + "\n")
    try sandbox.succeed("info", "f.coffer", "--pin", facts.pin)
    #expect(try sandbox.run("info", "s.coffer", "--pin", facts.pin).status == 21)
    #expect(try sandbox.run("ls", "s.coffer", "--pin", facts.pin).status == 21)
    let tail = try sandbox.succeed("replica", "tail", "s.coffer", "--since", facts.base)
    #expect(tail.lines.count == 1)
    #expect(tail.text.hasPrefix(#"{"change":["inserted"],"id":4,"document":{"collection":"documents","id":4,"#))
    // Import can read the printed documents.
    try sandbox.write("lost.ndjson", #"{"# + tail.text.split(separator: #""document":{"#)[1].dropLast(2))
    try sandbox.succeed("import", "f.coffer", "lost.ndjson")
    #expect(try sandbox.succeed("show", "f.coffer", "4").text == "lost")
    #expect(try sandbox.run("replica", "tail", "f.coffer", "--since", facts.anchor).lines.count == 1)
    #expect(try sandbox.run("replica", "tail", "s.coffer", "--since", facts.anchor).status == 21)
  }

  @Test func promotingRequiresAnchorOrOption() throws {
    let sandbox = try filled()
    let before = try sandbox.read("f.coffer")
    #expect(try sandbox.run("replica", "promote", "f.coffer").status == 64)
    #expect(try sandbox.run("replica", "promote", "f.coffer", "--no-anchor", "--anchor", "a").status == 64)
    #expect(try sandbox.run("replica", "promote", "f.coffer", "--no-anchor", "--require", "descent").status == 64)
    try sandbox.succeed("put", "s.coffer", "--text", "confirmed")
    try sandbox.write("a", try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").text)
    #expect(try sandbox.run("replica", "promote", "f.coffer", "--anchor", "a").status == 21)
    try sandbox.succeed("rekey", "s.coffer", "--keys-only", "--keep-recipient", "all")
    #expect(try sandbox.run("replica", "promote", "s.coffer", "--no-anchor").status == 23)
    #expect(try sandbox.read("f.coffer") == before)
    #expect(
      try sandbox.succeed("replica", "promote", "f.coffer", "--no-anchor", "--quick").text.hasPrefix(
        "documents: 3\nbase: "))
  }

  @Test func tailKeepsItsAnchor() throws {
    let sandbox = try filled()
    let anchor = try sandbox.read("a")
    let refused = try sandbox.run("replica", "tail", "s.coffer", "--since", "a", "-o", "a", "--force")
    #expect(refused.status == 1 && refused.errors.contains("a is what is being read"), "\(refused.errors)")
    #expect(try sandbox.read("a") == anchor)
  }

  @Test(.slow) func longTailReportsUnknownDeletions() throws {
    let sandbox = try filled()
    try sandbox.succeed("rm", "s.coffer", "1")
    #expect(try sandbox.succeed("replica", "tail", "s.coffer", "--since", "a").text == deleted(1))
    try sandbox.succeed("put", "s.coffer", "--id", "2", "--text", "changed")
    try sandbox.fillCommitList(from: 4)
    let long = try sandbox.run("replica", "tail", "s.coffer", "--since", "a", "-o", "t.ndjson")
    #expect(long.status == 3 && long.errors.contains("deleted documents are not known"))
    #expect(try sandbox.text(of: "t.ndjson").hasPrefix(#"{"change":["changed"],"id":2,"#))
    #expect(try sandbox.mode(of: "t.ndjson") == 0o600)
    #expect(try sandbox.run("replica", "tail", "s.coffer", "--since", "4", "-o", "t.ndjson").status == 1)
    for words in [
      ["--since", "coffer3:x"], ["--since", "-1"], [], ["--since", "4", "--format", "csv"],
    ] {
      #expect(try sandbox.run(["replica", "tail", "s.coffer"] + words).status == 64, "\(words)")
    }
    #expect(try sandbox.run("replica", "tail", "s.coffer", "--since", "nofile").status == 1)
    #expect(try sandbox.run("replica", "tail", "s.coffer", "--since", "4000").status == 21)
  }

  private func deleted(_ id: Int) -> String { #"{"change":["deleted"],"id":\#(id),"collection":"documents"}"# + "\n" }

  @Test func listsPartialTailOfDamagedFile() throws {
    let sandbox = try filled()
    try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect("f.coffer")
      database.execute("UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = 2")
      database.commit()
      """)
    #expect(try sandbox.run("replica", "tail", "f.coffer", "--since", "1").status == 20)
    let part = try sandbox.run("replica", "tail", "f.coffer", "--since", "1", "--skip-damaged")
    #expect(part.status == 3 && part.lines.count == 2 && part.errors.contains("document 2 was left out: "))
    try sandbox.succeed("backup", "s.coffer", "t.coffer")
    try sandbox.python(
      """
      import sqlite3
      database = sqlite3.connect("t.coffer")
      database.execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 2")
      database.commit()
      """)
    #expect(try sandbox.run("replica", "tail", "t.coffer", "--since", "1").status == 20)
    let texts = try sandbox.run("replica", "tail", "t.coffer", "--since", "1", "--skip-damaged", "-o", "out.ndjson")
    #expect(texts.status == 3 && texts.errors.contains("document 2 was left out: "))
    #expect(try sandbox.text(of: "out.ndjson").split(separator: "\n").count == 2)
  }
}
