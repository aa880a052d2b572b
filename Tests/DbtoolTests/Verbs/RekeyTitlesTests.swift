import Foundation
import Testing

/// Tests rekey --titles.
@Suite struct RekeyTitlesTests {
  private func filled(_ mode: String) throws -> Sandbox {
    let sandbox = try Sandbox.withStore("--titles", mode)
    for number in 1...5 { try sandbox.succeed("put", "s.coffer", "--title", "Klartitel \(number)", "--text", "text") }
    return sandbox
  }

  private func contains(_ text: String, _ sandbox: Sandbox) throws -> Bool {
    try Data(sandbox.read("s.coffer")).range(of: Data(text.utf8)) != nil
  }

  @Test func clearsAndResealsTitles() throws {
    let sandbox = try filled("sealed")
    #expect(try !contains("Klartitel", sandbox))
    #expect(try sandbox.run("ls", "s.coffer", "--keyless").status == 13)
    try sandbox.succeed("rekey", "s.coffer", "--titles", "clear")
    #expect(try sandbox.succeed("info", "s.coffer", "--json").text.contains("\"titles\":\"clear\""))
    #expect(try sandbox.succeed("ls", "s.coffer", "--keyless").lines.last == "5\tKlartitel 5\t#1")
    try sandbox.succeed("rekey", "s.coffer", "--titles", "sealed", "--batch", "2")
    #expect(try !contains("Klartitel", sandbox))
    #expect(try sandbox.succeed("show", "s.coffer", "5", "--json").text.contains("\"title\":\"Klartitel 5\""))
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func dropsTitlesPermanently() throws {
    let sandbox = try filled("clear")
    try sandbox.succeed("rekey", "s.coffer", "--titles", "none")
    #expect(try !contains("Klartitel", sandbox))
    try sandbox.succeed("rekey", "s.coffer", "--titles", "sealed")
    #expect(try !sandbox.succeed("export", "s.coffer").text.contains("title"))
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test(arguments: ["--keys-only", "--resume", "--status"])
  func titlesOptionRequiresFullRekey(_ option: String) throws {
    let sandbox = try filled("sealed")
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("rekey", "s.coffer", "--titles", "clear", option).status == 64)
    #expect(try sandbox.run("rekey", "s.coffer", "--titles", "bold").status == 64)
    #expect(try sandbox.read("s.coffer") == before)
  }
}
