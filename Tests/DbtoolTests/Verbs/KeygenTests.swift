import CofferTestSupport
import Testing

@Suite struct KeygenTests {
  @Test func restrictsKeyFileToOwner() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run("keygen", "my.key")
    #expect(result.status == 0)
    #expect(result.text == "my.key\n")
    #expect(result.errors.isEmpty)
    #expect(try sandbox.mode(of: "my.key") == 0o600)
    #expect(try sandbox.text(of: "my.key").hasPrefix("coffer-key-1-"))
  }

  @Test func keepsExistingFile() throws {
    let sandbox = try Sandbox()
    try sandbox.write("my.key", "precious")
    let result = try sandbox.run("keygen", "my.key")
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
    #expect(try sandbox.text(of: "my.key") == "precious")
  }

  @Test func printsRecipientOfIdentity() throws {
    let sandbox = try Sandbox()
    let made = try sandbox.succeed("keygen", "me.identity", "--identity")
    #expect(made.text.hasPrefix("coffer-recipient-1-"))
    let asked = try sandbox.succeed("keygen", "-y", "me.identity")
    #expect(asked.text == made.text)
  }

  @Test func printsPublisherOfSigningKey() throws {
    let sandbox = try Sandbox()
    let made = try sandbox.succeed("keygen", "release.key", "--signing")
    #expect(made.text.hasPrefix("coffer-publisher-1-"))
    #expect(try sandbox.text(of: "release.key").hasPrefix("coffer-signing-1-"))
    #expect(try sandbox.mode(of: "release.key") == 0o600)
    #expect(try sandbox.succeed("keygen", "-y", "release.key").text == made.text)
    #expect(try sandbox.run("keygen", "other.key", "--signing", "--identity").status == 64)
  }

  @Test func printsKeyWithoutFile() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run("keygen")
    #expect(result.status == 0)
    #expect(result.text.hasPrefix("coffer-key-1-"))
    #expect(result.errors.isEmpty)
  }

  @Test func hidesKeyOnTerminal() throws {
    let sandbox = try Sandbox()
    let terminal = try PseudoTerminal()
    let child = try Child(["keygen"], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 64)
    #expect(!terminal.shown.contains("coffer-key-1-"))
  }

  @Test func createsTestKeysWithoutAllowance() throws {
    let sandbox = try Sandbox()
    sandbox.environment = [:]
    try sandbox.succeed("keygen", "test.key", "--test")
    #expect(try sandbox.text(of: "test.key").hasPrefix("coffer-test-key-1-"))
  }

  @Test func derivesPublishedRecipient() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.succeed("keygen", "-y", "identity.key")
    #expect(try sandbox.text(of: "recipient.txt").contains(result.text.dropLast()))
  }

  @Test func rejectsRecipientOfKey() throws {
    let result = try Sandbox().run("keygen", "-y", "primary.key")
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
  }
}
