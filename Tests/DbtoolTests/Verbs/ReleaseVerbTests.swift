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
    #expect(reading.status == 1 && reading.errors.contains("a publisher has 72 digits"))
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
}
