import Foundation
import Testing

/// Key lines and texts in other encodings where the command reads a passphrase, a key or recipients.
@Suite struct SecretFormTests {
  /// Files with a line in the wrong place, the form that the error names, and the option that its hint names.
  private static let files: [(name: String, line: String, wrapped: @Sendable (String) -> [UInt8], form: String)] = [
    ("key", "primary.key", { Array($0.utf8) }, "a key"),
    ("identity", "identity.key", { Array("\n\($0)\n".utf8) }, "an identity"),
    ("recipient", "recipient.txt", { Array($0.utf8) }, "a recipient"),
    ("bom", "primary.key", { Array("\u{FEFF}\($0)\n".utf8) }, "a key, and begins with a byte order mark"),
    ("quoted", "primary.key", { Array("\"\($0)\"\n".utf8) }, "a key"),
    ("crlf", "identity.key", { Array("\r\n\r\n\($0)\r\n".utf8) }, "an identity"),
    (
      "utf16", "primary.key", { Array("\u{FEFF}\($0)".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }) },
      "a key, and is saved as UTF-16"
    ),
    ("inside", "recipient.txt", { Array("the public half is \($0).\n".utf8) }, "a recipient"),
  ]

  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for file in Self.files {
      let line = try #require(try sandbox.text(of: file.line).split(separator: "\n").last)
      try sandbox.write(file.name, bytes: file.wrapped(String(line)))
      try sandbox.setMode(file.name, 0o600)
    }
    return sandbox
  }

  /// Checks that no run of eight digits of a published secret is printed.
  private func expectHidden(_ result: Sandbox.Outcome, in sandbox: Sandbox) throws {
    for name in ["primary.key", "identity.key"] {
      let digits = Array(try #require(try sandbox.text(of: name).split(separator: "\n").last).suffix(72))
      for start in 0..<digits.count - 8 {
        #expect(!(result.errors + result.text).contains(String(digits[start..<start + 8])))
      }
    }
  }

  @Test func refusesKeyLineAsPassphrase() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    for (name, _, _, form) in Self.files {
      for command in [
        ["create", "t.coffer", "--test", "--passphrase-file", name], ["ls", "s.coffer", "--passphrase-file", name],
        ["key", "add", "s.coffer", "--new-passphrase-file", name],
        ["key", "passwd", "s.coffer", "--new-passphrase-file", name],
        ["rekey", "s.coffer", "--new-passphrase-file", name],
        ["copy", "s.coffer", "t.coffer", "--editable", "--new-passphrase-file", name],
      ] {
        let result = try sandbox.run(command)
        #expect(result.status == 1, "\(command): \(result.errors)")
        #expect(result.diagnostics.contains("\(name) holds \(form)"), "\(result.errors)")
        #expect(result.diagnostics.contains(": that is no passphrase\nhint: "), "\(result.errors)")
        try expectHidden(result, in: sandbox)
      }
    }
    sandbox.environment["DBTOOL_KEY_FILE"] = nil
    sandbox.environment["DBTOOL_PASSPHRASE_FILE"] = "quoted"
    let variable = try sandbox.run("ls", "s.coffer")
    #expect(variable.status == 1 && variable.errors.contains("quoted holds a key"))
    #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("t.coffer"))
  }

  /// Each hint names an option of the verb that takes the file.
  @Test func hintsCureMisplacedFiles() throws {
    let sandbox = try sandbox()
    for (name, verb, options) in [
      ("key", ["create", "a.coffer", "--test"], "--key-file"),
      ("identity", ["create", "b.coffer", "--test"], "--key-file"),
      ("recipient", ["create", "c.coffer", "--test"], "--recipients-file"),
      ("identity", ["key", "add", "s.coffer"], "--new-key-file"),
      ("recipient", ["copy", "s.coffer", "d.coffer", "--editable"], "--recipients-file"),
    ] {
      let prefix = options == "--new-key-file" || verb[0] == "copy" ? "new-" : ""
      let refused = try sandbox.run(verb + ["--\(prefix)passphrase-file", name])
      #expect(refused.errors.hasSuffix("hint: use \(options) \(name)\n"), "\(refused.errors)")
      try sandbox.succeed(verb + [options, name])
    }
    let added = try sandbox.run("key", "passwd", "s.coffer", "--new-passphrase-file", "recipient")
    #expect(added.errors.hasSuffix("hint: use dbtool key add STORE --recipients-file recipient\n"))
    try sandbox.succeed("create", "e.coffer", "--test", "--key-file", "primary.key")
    try sandbox.succeed("key", "add", "e.coffer", "--recipients-file", "recipient")
    try sandbox.succeed("collection", "list", "e.coffer", "--key-file", "identity.key")
    let opened = try sandbox.run("ls", "s.coffer", "--passphrase-file", "key")
    #expect(opened.errors.hasSuffix("hint: use --key-file key\n"))
    try sandbox.succeed("collection", "list", "s.coffer", "--key-file", "key")
    // A file that isn't a key file either is to be corrected first.
    for name in ["bom", "quoted", "utf16", "inside"] {
      let result = try sandbox.run("create", "f.coffer", "--test", "--passphrase-file", name)
      #expect(result.errors.contains("hint: copy the line alone into a file, without a byte order mark"))
    }
  }

  @Test func refusesMalformedKeyMaterial() throws {
    let sandbox = try sandbox()
    for (name, fault) in [
      ("bom", "begins with a byte order mark"), ("quoted", "line 1 holds a key"), ("utf16", "is saved as UTF-16"),
      ("inside", "line 1 holds a recipient"), ("recipient", "a recipient was delivered as a key"),
    ] {
      for options in [
        ["--key-command", "cat \(name)"], ["--key-file", "/dev/stdin"], ["--key-file", name],
      ] where !(name == "recipient" && options[0] == "--key-file") {
        for verb in [["create", "t.coffer", "--test"], ["ls", "s.coffer"]] {
          let result = try sandbox.run(verb + options, input: sandbox.read(name))
          #expect(result.status == 1 && result.diagnostics.contains(fault), "\(verb + options): \(result.errors)")
          try expectHidden(result, in: sandbox)
        }
      }
    }
    #expect(!sandbox.exists("t.coffer"))
    for name in ["key", "identity", "crlf"] {
      try sandbox.succeed("create", "\(name).coffer", "--test", "--key-command", "cat \(name)")
      try sandbox.succeed("collection", "list", "\(name).coffer", "--key-file", name)
    }
  }

  @Test func namesEncodingOfPassphraseFile() throws {
    let sandbox = try Sandbox()
    let text = "some words"
    for (bytes, fault) in [
      (Array("\u{FEFF}\(text)\n".utf8), "begins with a byte order mark (U+FEFF)"),
      (("\u{FEFF}" + text).utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }, "is saved as UTF-16"),
      (text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }, "is saved as UTF-16"),
    ] {
      try sandbox.write("words.txt", bytes: bytes)
      try sandbox.setMode("words.txt", 0o600)
      let result = try sandbox.run("create", "s.coffer", "--test", "--passphrase-file", "words.txt")
      #expect(result.status == 1 && result.diagnostics.contains("words.txt \(fault)"), "\(result.errors)")
      #expect(result.diagnostics.hasSuffix("hint: save it as UTF-8 without a byte order mark\n"))
      #expect(!result.errors.contains("words,") && !sandbox.exists("s.coffer"))
      let command = try sandbox.run("create", "s.coffer", "--test", "--key-command", "cat words.txt")
      #expect(command.status == 1 && command.diagnostics.contains("the passphrase \(fault)"), "\(command.errors)")
    }
    try sandbox.write("words.txt", text)
    try sandbox.succeed("create", "s.coffer", "--test", "--passphrase-file", "words.txt")
  }

  @Test func namesFormOfRecipientsFile() throws {
    let sandbox = try sandbox()
    let line = try #require(try sandbox.text(of: "recipient.txt").split(separator: "\n").last)
    for (bytes, status, fault) in [
      (Array("\u{FEFF}\(line)\n".utf8), 1, "list begins with a byte order mark"),
      (Array(line.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }), 1, "list is saved as UTF-16"),
      (Array("# ours\n\"\(line)\"\n".utf8), 64, "list, line 2 holds a recipient, but not alone"),
      (try sandbox.read("identity.key"), 64, "holds an identity, not a recipient"),
      (Array("hello\n".utf8), 64, "list, line 1 is no recipient"),
    ] as [([UInt8], Int32, String)] {
      try sandbox.write("list", bytes: bytes)
      for verb in [["create", "t.coffer", "--test"], ["key", "add", "s.coffer"]] {
        let result = try sandbox.run(verb + ["--recipients-file", "list"])
        #expect(result.status == status && result.diagnostics.contains(fault), "\(result.errors)")
        try expectHidden(result, in: sandbox)
      }
    }
    try sandbox.write("list", "\(line)\n\(line)\n")
    let two = try sandbox.run("key", "add", "s.coffer", "--recipients-file", "list")
    #expect(two.status == 64 && two.errors.contains("list has 2 recipients"))
  }
}
