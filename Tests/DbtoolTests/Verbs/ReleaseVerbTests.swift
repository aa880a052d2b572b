import Foundation
import Testing

@Suite struct ReleaseVerbTests {
  private func publisher(_ sandbox: Sandbox) throws -> String {
    let text = try sandbox.text(of: "publisher.txt")
    return String(try #require(text.split(separator: "\n").first { $0.hasPrefix("coffer-") }))
  }

  private func released() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("books.csv", "key,title,text\na,A,one\nb,B,two\n")
    try sandbox.succeed("import", "s.coffer", "books.csv", "-c", "books")
    let result = try sandbox.succeed(
      "release", "make", "s.coffer", "--signing", "signing.key", "--expires", "9999-01-31")
    #expect(result.text.contains("expires:     9999-01-31T00:00:00.000Z\n"))
    return sandbox
  }

  @Test func readsReleaseOfPublisher() throws {
    let sandbox = try released()
    let publisher = try publisher(sandbox)
    #expect(try sandbox.succeed("show", "s.coffer", "a", "--publisher", publisher).text == "one")
    #expect(try sandbox.succeed("verify", "s.coffer", "--publisher", publisher).text.contains("sound:"))
    let other = try sandbox.succeed("keygen", "other.key", "--signing", "--test").text.dropLast()
    let result = try sandbox.run("show", "s.coffer", "a", "--publisher", String(other))
    #expect(result.status == 21 && result.output.isEmpty)
    #expect(result.errors.contains("not as released"))
  }

  @Test func exportKeepsItsProof() throws {
    let sandbox = try released()
    let words = ["export", "s.coffer", "--publisher", try publisher(sandbox), "--proof", "pf"]
    try sandbox.succeed(words)
    let refused = try sandbox.run(words + ["--to", "ndjson", "-o", "pf", "--force"])
    #expect(refused.status == 1 && refused.errors.contains("pf is what is being read"), "\(refused.errors)")
    #expect(try sandbox.read("pf").starts(with: "coffer-proof-1\n".utf8))
  }

  @Test func reportsEditedStore() throws {
    let sandbox = try released()
    let publisher = try publisher(sandbox)
    try sandbox.write("new.txt", "forged")
    try sandbox.succeed("put", "s.coffer", "new.txt", "--id", "1")
    for verb in [
      ["show", "s.coffer", "a"], ["ls", "s.coffer"], ["verify", "s.coffer"], ["search", "s.coffer", "one"],
    ] {
      let result = try sandbox.run(verb + ["--publisher", publisher])
      #expect(result.status == 21 && result.output.isEmpty, "\(verb)")
    }
    #expect(
      try sandbox.succeed("release", "make", "s.coffer", "--signing", "signing.key").text.contains("number:      2"))
    #expect(try sandbox.succeed("show", "s.coffer", "a", "--publisher", publisher).text == "forged")
  }

  @Test func listsReleasesWithoutKey() throws {
    let sandbox = try released()
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    let info = try sandbox.succeed("info", "s.coffer").text
    #expect(info.contains("releases 1.number:       1\n") && info.contains("releases 1.documents:    2\n"))
  }

  @Test func rejectsKeyOfAnotherKind() throws {
    let sandbox = try released()
    let result = try sandbox.run("release", "make", "s.coffer", "--signing", "primary.key")
    #expect(result.status == 1 && result.errors.contains("primary.key holds a key, not a signing key"))
    let reading = try sandbox.run("ls", "s.coffer", "--publisher", "coffer-publisher-1-00")
    #expect(reading.status == 1 && reading.errors.contains("--publisher: a publisher has 72 digits"))
    #expect(reading.errors.contains("hint: 'dbtool keygen -y' prints the publisher of a signing key"))
    #expect(
      try sandbox.run("release", "make", "s.coffer", "--signing", "signing.key", "--expires", "soon").status == 64)
  }

  @Test func rejectsWriteToRelease() throws {
    let sandbox = try released()
    let result = try sandbox.run("rm", "s.coffer", "a", "--publisher", try publisher(sandbox))
    #expect(result.status == 1 && result.errors.contains("read only"), "\(result.errors)")
  }

  @Test func salvageRejectsPublisher() throws {
    let sandbox = try released()
    let result = try sandbox.run(
      "copy", "s.coffer", "new.coffer", "--salvage", "--publisher", try publisher(sandbox))
    #expect(result.status == 64 && !sandbox.exists("new.coffer"))
  }

  // MARK: Updates

  /// Returns a sandbox with a folder of releases, and a customer's copy of the first.
  private func published() throws -> Sandbox {
    let sandbox = try released()
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast()
    try sandbox.write("customers.txt", "# customers\n\nanna \(recipient)\n")
    let first = try publish(sandbox)
    #expect(first.contains("release:   1\n") && first.contains("0-1.update"), "\(first)")
    return sandbox
  }

  private func publish(_ sandbox: Sandbox) throws -> String {
    try sandbox.succeed(
      "release", "publish", "s.coffer", "public", "--signing", "signing.key", "--customers", "customers.txt"
    ).text
  }

  @Test func hintNamesRecipientOfIdentity() throws {
    let sandbox = try published()
    try sandbox.write("customers.txt", "anna coffer-test-recipient-1-00\n")
    let result = try sandbox.run(
      "release", "publish", "s.coffer", "public", "--signing", "signing.key", "--customers", "customers.txt")
    #expect(result.status == 64)
    #expect(
      result.errors.contains("hint: 'dbtool keygen -y' prints the recipient of an identity"), "\(result.errors)")
  }

  @Test func makesAndUpdatesCopy() throws {
    let sandbox = try published()
    let (publisher, creator) = (try publisher(sandbox), sandbox.environment["DBTOOL_KEY_FILE"])
    let words = ["update", "copy.coffer", "public", "--customer", "anna", "--publisher", publisher]
    sandbox.environment["DBTOOL_KEY_FILE"] = "identity.key"
    let new = try sandbox.succeed(words + ["--create", "--dry-run"])
    #expect(new.text.hasPrefix("1.anna.key\t262\ttrue\n0-1.update\t") && new.text.hasSuffix("\ttrue\n"))
    #expect(!sandbox.exists("copy.coffer"))
    let made = try sandbox.succeed(words + ["--create", "--json"])
    #expect(made.errors.contains("made copy.coffer with release 1") && made.text.hasPrefix("["), "\(made.text)")
    #expect(try sandbox.run(words + ["--create"]).status == 1)
    sandbox.environment["DBTOOL_KEY_FILE"] = creator
    try sandbox.write("new.txt", "second")
    try sandbox.succeed("put", "s.coffer", "new.txt", "--id", "1")
    try sandbox.succeed("release", "make", "s.coffer", "--signing", "signing.key")
    _ = try publish(sandbox)
    sandbox.environment["DBTOOL_KEY_FILE"] = "identity.key"
    let before = try sandbox.read("copy.coffer")
    #expect(try sandbox.succeed(words + ["--dry-run", "--json"]).text.contains("update"))
    #expect(try sandbox.read("copy.coffer") == before)
    let result = try sandbox.succeed(words)
    #expect(result.errors.contains("updated copy.coffer from release 1 to 2 (changes: 1, conflicts: 0)"))
    #expect(try sandbox.succeed("show", "copy.coffer", "a", "--publisher", publisher).text == "second")
    let same = "copy.coffer has release 2 already, and the folder has no newer release"
    #expect(try sandbox.succeed(words).errors.contains(same))
    sandbox.environment["DBTOOL_STORE"] = "copy.coffer"
    try sandbox.succeed("update", "public", "--customer", "anna", "--publisher", publisher)
  }

  @Test func listsEditsSinceRelease() throws {
    let sandbox = try published()
    let source = ["public", "--customer", "anna", "--publisher", try publisher(sandbox)]
    sandbox.environment["DBTOOL_KEY_FILE"] = "identity.key"
    try sandbox.succeed(["update", "--create", "copy.coffer"] + source)
    let words = ["release", "diff", "copy.coffer"] + source
    #expect(try sandbox.succeed(words).text.isEmpty)
    try sandbox.write("new.txt", "mine")
    try sandbox.succeed("put", "copy.coffer", "new.txt", "--id", "1")
    let before = try sandbox.read("copy.coffer")
    let result = try sandbox.run(words)
    #expect(result.status == 4 && result.text == "changed\t1\t1\tA\ttext dates\n")
    #expect(try sandbox.read("copy.coffer") == before)
    #expect(try sandbox.run("release", "diff", "copy.coffer", "public", "--customer", "anna").status == 64)
  }

  @Test func refusesUpdates() throws {
    let sandbox = try published()
    let publisher = try publisher(sandbox)
    sandbox.environment["DBTOOL_KEY_FILE"] = "identity.key"
    func status(_ words: String...) throws -> Int32 {
      let result = try sandbox.run(["update", "copy.coffer", "public", "--create"] + words)
      #expect(result.output.isEmpty && !sandbox.exists("copy.coffer"))
      return result.status
    }
    #expect(try status("--customer", "anna") == 64)
    #expect(try status("--customer", "bert", "--publisher", publisher) == 13)
    let other = try sandbox.succeed("keygen", "other.key", "--signing", "--test").text.dropLast()
    #expect(try status("--customer", "anna", "--publisher", String(other)) == 21)
    var bytes = try sandbox.read("public/0-1.update")
    bytes[bytes.count / 2] ^= 1
    try sandbox.write("public/0-1.update", bytes: bytes)
    #expect(try status("--customer", "anna", "--publisher", publisher) == 21)
  }

  @Test func namesPlaceInListOfCustomers() throws {
    let sandbox = try published()
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").text.dropLast()
    for (text, place) in [
      ("anna \(recipient)\n\nanna \(recipient)\n", "line 3"), ("# customers\nAnna \(recipient)\n", "line 2"),
      ("# nobody\n", "no customers"),
    ] {
      try sandbox.write("customers.txt", text)
      let result = try sandbox.run(
        "release", "publish", "s.coffer", "other", "--signing", "signing.key", "--customers", "customers.txt")
      #expect(result.status == 64 && result.errors.contains(place) && !sandbox.exists("other"), "\(result.errors)")
    }
  }

  @Test(arguments: ["anna", "anna recipient", "anna coffer-recipient-1-00 more"])
  func rejectsLineOfCustomers(_ line: String) throws {
    let sandbox = try published()
    try sandbox.write("customers.txt", line)
    let result = try sandbox.run(
      "release", "publish", "s.coffer", "other", "--signing", "signing.key", "--customers", "customers.txt")
    #expect(result.status == 64 && !result.errors.contains(line) && !sandbox.exists("other"))
  }
}
