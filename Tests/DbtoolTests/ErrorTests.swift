import Testing

@Suite struct ErrorTests {
  @Test func usageErrorsSayWhatIsWrongAndWhereHelpIs() throws {
    let result = try Sandbox().run("ls", "s.coffer", "--bogus")
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors == "dbtool: error: unknown option '--bogus'\nhint: see 'dbtool ls --help'\n")
  }

  @Test func hintNamesTheSecondWordOfAVerb() throws {
    let result = try Sandbox().run("key", "list", "--bogus")
    #expect(result.errors.hasSuffix("hint: see 'dbtool key list --help'\n"))
  }

  @Test func jsonErrorIsTheLastLine() throws {
    let result = try Sandbox().run("info", "none.coffer", "--json")
    #expect(result.status == 10)
    #expect(result.output.isEmpty)
    let last = result.errors.split(separator: "\n").last
    #expect(last?.hasPrefix(#"{"error":{"code":10,"kind":"no-such-file","message":""#) == true)
  }

  @Test func usageErrorsAreJSONToo() throws {
    let result = try Sandbox().run("ls", "--json")
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.hasPrefix(#"{"error":{"code":64,"kind":"usage","message":""#))
  }

  @Test func passphraseInTheWrongPlaceIsNotRepeated() throws {
    for arguments in [["--passphrase", "hunter2"], ["--passphrase=hunter2"]] {
      let result = try Sandbox().run(["ls", "s.coffer"] + arguments)
      #expect(result.status == 64)
      #expect(!result.errors.contains("hunter2"))
    }
  }

  @Test func keyInPlaceOfItsPathIsNotRepeated() throws {
    let sandbox = try Sandbox()
    let key = try sandbox.text(of: "primary.key").split(separator: "\n").last.map(String.init) ?? ""
    let result = try sandbox.run("ls", "s.coffer", "--key-file", key)
    #expect(result.status == 64)
    #expect(!result.errors.contains(key.dropFirst(20)))
  }

  @Test(
    .slow,
    arguments: [
      ["import", "s.coffer", "x", "--encoding", "foo"], ["import", "s.coffer", "x", "--from", "foo"],
      ["convert", "x", "--to", "auto"], ["create", "s.coffer", "--titles", "foo"], ["ls", "-cl"], ["ls"], ["nonsense"],
      ["ls", "s.coffer", "--wait", "a\nb"], ["--generate-completion-script=foo"],
    ])
  func usageErrorIsOneLineAndAtMostOneHint(arguments: [String]) throws {
    let result = try Sandbox().run(arguments)
    #expect(result.status == 64)
    let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 3 && lines[2].isEmpty, "\(result.errors)")
    #expect(lines[0].hasPrefix("dbtool: error: "))
    #expect(lines[1].hasPrefix("hint: "))
  }

  @Test func valuesThatAnOptionTakesAreTheHint() throws {
    let result = try Sandbox().run("import", "s.coffer", "x", "--from", "foo")
    #expect(
      result.errors == """
        dbtool: error: the value 'foo' is invalid for '--from <format>'
        hint: choose auto, text, lines, csv, tsv, json, ndjson, plist, keyed-archive or sqlite

        """)
  }

  @Test func lineEndInANameDoesNotBeginANewMessage() throws {
    let result = try Sandbox().run("info", "a\ndbtool: error: b\u{1B}")
    #expect(result.status == 10)
    #expect(result.errors.contains("/a\\ndbtool: error: b\\u{1B}: no such file\n"))
    #expect(result.errors.split(separator: "\n").count == 2)
  }

  @Test(.slow) func keyInPlaceOfAnythingIsNotRepeated() throws {
    let digits = String(repeating: "5e", count: 36)
    for kind in ["key", "identity", "test-key", "test-identity"] {
      let key = "coffer-\(kind)-1-\(digits)"
      for arguments in [["ls", key], ["ls", "s.coffer", key], ["recipient", key], ["ls", "--\(key)"]] {
        let result = try Sandbox().run(arguments + ["--json"])
        #expect(result.status != 0)
        #expect(!result.errors.contains("5e5e"), "\(result.errors)")
      }
    }
  }

  @Test(
    .slow,
    arguments: [
      ["put", "s.coffer", "--title", "my", "private", "title"],
      ["put", "s.coffer", "--title=my", "private", "title", "of", "mine"],
      ["ls", "s.coffer", "--key-command", "echo", "private"], ["show", "s.coffer", "--key-command", "echo", "private"],
      ["key", "add", "s.coffer", "--new-provider", "vault=ask", "private", "--label", "a", "b"],
    ])
  func wordsOfAValueWithoutQuotesAreNotRepeated(arguments: [String]) throws {
    let result = try Sandbox().run(arguments)
    #expect(result.status == 64)
    #expect(!result.errors.contains("private") && !result.errors.contains("mine"), "\(result.errors)")
    #expect(result.errors.contains("quotes"))
  }
}
