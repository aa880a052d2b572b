import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests `--pin`, which requires a store with the given pin.
@Suite struct ExpectTests {
  private static let otherPin = "coffer-pin-3-" + String(repeating: "1", count: 128)

  private func pin(of store: String, in sandbox: Sandbox) throws -> String {
    struct Info: Decodable { var pin: String }
    return try sandbox.succeed("info", store, "--json").json(Info.self).pin
  }

  /// Every verb with a store argument, in a form that works on a store with a document.
  private static let verbs: [[String]] = [
    ["import", "s.coffer", "in.txt"], ["export", "s.coffer"],
    ["copy", "s.coffer", "n", "--new-key-file", "next.key"], ["ls", "s.coffer"],
    ["ls", "s.coffer", "--keyless"], ["collection", "list", "s.coffer"], ["collection", "create", "s.coffer", "c"],
    ["show", "s.coffer", "1"], ["put", "s.coffer", "--text", "x"], ["key", "list", "s.coffer"],
    ["key", "add", "s.coffer", "--new-key-file", "next.key"], ["key", "remove", "s.coffer", "2"],
    ["key", "passwd", "s.coffer", "--new-key-file", "next.key"],
    ["rekey", "s.coffer", "--keys-only", "--keep-recipient", "all"],
    ["rekey", "s.coffer", "--status"], ["info", "s.coffer"], ["verify", "--keyless", "s.coffer"],
    ["verify", "--anchor-only", "--save-anchor", "-", "s.coffer"],
    ["verify", "s.coffer"], ["copy", "s.coffer", "n", "--salvage", "--new-key-file", "next.key"],
    ["attachment", "ls", "s.coffer"], ["attachment", "add", "s.coffer", "1", "in.txt"],
    ["rm", "s.coffer", "1"],
    ["mv", "s.coffer", "1", "--to", "top"], ["collection", "sort", "s.coffer", "--by", "title"],
    ["collection", "clear", "s.coffer", "documents", "--force"], ["search", "s.coffer", "x"],
    ["query", "s.coffer", "SELECT count(*) FROM documents"],
    ["edit", "s.coffer", "1"], ["backup", "s.coffer", "n"], ["compact", "s.coffer"],
    ["restore", "s.coffer", "b.coffer", "--force"], ["copy", "s.coffer", "n", "--editable"],
    ["copy", "s.coffer", "n", "--editable", "--new-key-file", "next.key", "--test"],
    ["diff", "s.coffer", "b.coffer"], ["diff", "s.coffer", "b.coffer", "--keyless"],
    ["index", "list", "s.coffer"], ["index", "add", "s.coffer", "-c", "documents", "words"],
    ["index", "update", "s.coffer"],
    ["index", "check", "s.coffer"], ["merge", "s.coffer", "b.coffer"],
    ["restore", "s.coffer", "b.coffer", "1"], ["replica", "promote", "s.coffer", "--no-anchor"],
    ["replica", "tail", "s.coffer", "--since", "1"], ["replica", "adopt", "s.coffer", "copies"],
    ["sync", "init", "s.coffer", "carried"], ["release", "make", "s.coffer", "--signing", "signing.key"],
    ["release", "publish", "s.coffer", "n", "--signing", "signing.key", "--customers", "customers.txt"],
    ["update", "s.coffer", "public", "--customer", "anna", "--publisher", "PUBLISHER"],
    ["release", "diff", "s.coffer", "public", "--customer", "anna", "--publisher", "PUBLISHER", "-k", "identity.key"],
  ]

  @Test(.slow) func everyVerbChecksPin() throws {
    let sandbox = try Sandbox.withStore("--titles", "clear")
    func line(_ file: String) throws -> String {
      let lines = try sandbox.text(of: file).split(separator: "\n").map(String.init)
      return try #require(lines.first { $0.hasPrefix("coffer-") })
    }
    let (recipient, publisher) = (try line("recipient.txt"), try line("publisher.txt"))
    try sandbox.write("in.txt", "text")
    try sandbox.write("customers.txt", "anna \(recipient)\n")
    try FileManager.default.createDirectory(atPath: sandbox.path("copies"), withIntermediateDirectories: false)
    sandbox.environment["EDITOR"] = "true"
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.succeed("key", "add", "s.coffer", "--recipient", recipient)
    try sandbox.succeed("release", "make", "s.coffer", "--signing", "signing.key")
    try sandbox.succeed(
      "release", "publish", "s.coffer", "public", "--signing", "signing.key", "--customers", "customers.txt")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    let before = try sandbox.read("s.coffer")
    let pin = try pin(of: "s.coffer", in: sandbox)
    for verb in Self.verbs.map({ $0.map { $0 == "PUBLISHER" ? publisher : $0 } }) {
      let refused = try sandbox.run(verb + ["--pin", Self.otherPin])
      #expect(refused.status == 21, "\(verb): \(refused.errors)")
      #expect(refused.output.isEmpty, "\(verb)")
      #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("n"), "\(verb)")
      let taken = try sandbox.run(verb + ["--pin", pin])
      // Without an unfinished rekey, --status ends with 1.
      #expect(taken.status == (verb.contains("--status") ? 1 : 0), "\(verb): \(taken.errors)")
      try sandbox.write("s.coffer", bytes: before)
      try? FileManager.default.removeItem(atPath: sandbox.path("n"))
    }
  }

  @Test func coversEveryStoreVerb() throws {
    let sandbox = try Sandbox()
    let help = try sandbox.succeed("--help").text
    let listed = help.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix("  "), !line.hasPrefix("   "), let word = line.split(separator: " ").first,
        !line.contains("dbtool ")
      else { return nil }
      return String(word)
    }
    // browse requires a terminal, and opens its store like the other verbs.
    let withoutStore: Set = ["keygen", "recipient", "create", "convert", "help", "-h,", "--version", "browse"]
    let asked = Set(Self.verbs.map { $0[0] })
    for verb in Set(listed).subtracting(withoutStore) where verb.allSatisfy({ $0.isLetter }) {
      #expect(asked.contains(verb), "\(verb) is not held to --pin here")
    }
  }

  @Test(
    .slow, arguments: ["coffer-pin-3-", "coffer-pin-3-00", "pin", "coffer-pin-3-" + String(repeating: "G", count: 128)])
  func rejectsInvalidPin(_ text: String) throws {
    let sandbox = try Sandbox.withStore()
    #expect(try sandbox.run("ls", "s.coffer", "--pin", text).status == 64)
  }

  @Test(.slow) func rejectsForgedStoreForPublicKey() throws {
    let sandbox = try Sandbox()
    let line = try sandbox.text(of: "recipient.txt").split(separator: "\n").map(String.init)
      .first { $0.hasPrefix("coffer-") }
    let recipient = try #require(line)
    try sandbox.succeed("create", "real.coffer", "--recipient", recipient)
    let pin = try pin(of: "real.coffer", in: sandbox)
    // Anyone can create this store, and it opens without a pin.
    try sandbox.succeed("create", "forged.coffer", "--recipient", recipient)
    try sandbox.succeed("ls", "forged.coffer", "--key-file", "identity.key")
    let refused = try sandbox.run("ls", "forged.coffer", "--key-file", "identity.key", "--pin", pin)
    #expect(refused.status == 21 && refused.diagnostics.contains("its pin is another"))
    // The forged store doesn't open after the real pin's bytes are written to it.
    let database = try Database(sandbox.path("forged.coffer"))
    try database.execute(
      """
      ATTACH '\(sandbox.path("real.coffer"))' AS r;
      UPDATE coffer_header SET store_id = (SELECT store_id FROM r.coffer_header), rk_commit =
        (SELECT rk_commit FROM r.coffer_header)
      """)
    try database.close()
    let forged = try sandbox.run("ls", "forged.coffer", "--key-file", "identity.key", "--pin", pin)
    #expect(forged.status == 12)
    let salvaged = try sandbox.run(
      "copy", "forged.coffer", "n", "--salvage", "--key-file", "identity.key", "--pin", pin, "--new-key-file",
      "next.key"
    )
    #expect(salvaged.status == 12 && !sandbox.exists("n"))
  }
}
