import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests what `restore --force` says, keeps and refuses.
@Suite struct RestoreTests {
  /// Creates `s.coffer`, its backup `b.coffer` with document 1, and then document 2.
  private func sandbox(_ options: String...) throws -> Sandbox {
    let sandbox = try Sandbox()
    sandbox.environment["DBTOOL_KEY_FILE"] = "primary.key"
    try sandbox.succeed(["create", "s.coffer"] + options)
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    try sandbox.succeed("put", "s.coffer", "--text", "two")
    return sandbox
  }

  @Test(arguments: ["rollback", "wal"])
  func namesGenerationsAndKeepsReplacedStore(_ journal: String) throws {
    let sandbox = try journal == "wal" ? sandbox("--wal") : sandbox()
    let old = try sandbox.read("s.coffer")
    let result = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.diagnostics.contains("dbtool: s.coffer: generation 3\n"), "\(result.errors)")
    #expect(result.diagnostics.contains("dbtool: b.coffer: generation 2\n"))
    #expect(
      result.diagnostics.contains(
        "warning: b.coffer is older: generation 2, and the store that it replaces has 3\n"))
    #expect(
      result.diagnostics.hasSuffix(
        "to go back: dbtool restore --store s.coffer s.coffer.replaced --force\n"))
    #expect(try sandbox.read("s.coffer.replaced") == old)
    try sandbox.succeed("diff", "s.coffer", "b.coffer")
    let new = try sandbox.read("s.coffer")
    // The printed command goes back, and keeps the store that it replaces.
    let back = try sandbox.succeed("restore", "s.coffer", "s.coffer.replaced", "--force", "--json")
    #expect(back.text.contains(#""generation":3,"replaced_generation":2,"replaced":""#), "\(back.text)")
    #expect(!back.diagnostics.contains("older"))
    #expect(try sandbox.read("s.coffer.replaced") == old && sandbox.read("s.coffer.replaced-2") == new)
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "onetwo")
  }

  @Test func namesReplacedStoreBehindLink() throws {
    let sandbox = try sandbox()
    try FileManager.default.createDirectory(atPath: sandbox.path("d"), withIntermediateDirectories: false)
    try sandbox.succeed("backup", "s.coffer", "d/r.coffer")
    try FileManager.default.createSymbolicLink(atPath: sandbox.path("l.coffer"), withDestinationPath: "d/r.coffer")
    let result = try sandbox.succeed("restore", "l.coffer", "b.coffer", "--force")
    #expect(try sandbox.run("show", "l.coffer", "2").status == 14)
    let back = try #require(result.errors.firstMatch(of: /to go back: dbtool (restore .+ --force)/))
    try sandbox.succeed(back.1.split(separator: " ").map(String.init))
    #expect(try sandbox.succeed("show", "l.coffer", "1", "2").text == "onetwo")
    // In the folder of the store's path, the path of the replaced store is as short.
    let beside = try sandbox.succeed("restore", "d/r.coffer", "b.coffer", "--force")
    #expect(beside.errors.contains("restore --store d/r.coffer d/r.coffer.replaced-3 --force\n"), "\(beside.errors)")
  }

  /// The message escapes such characters, so the command in it does as well, in a form that a shell reads.
  @Test func wayBackNamesPathWithInvisibleCharacters() throws {
    let sandbox = try sandbox()
    let path = "new\nlin'e\\\u{202E}ü.coffer"
    try sandbox.succeed("backup", "s.coffer", path)
    let result = try sandbox.succeed("restore", path, "b.coffer", "--force")
    #expect(try sandbox.run("show", path, "2").status == 14)
    let back = try #require(result.errors.firstMatch(of: /to go back: dbtool (restore .+ --force)/))
    let run = try sandbox.run([String(back.1)], under: ["bash", "-c", #"eval "\"\$0\" $1""#])
    #expect(run.status == 0, "\(back.1): \(run.errors)")
    #expect(try sandbox.succeed("show", path, "1", "2").text == "onetwo")
  }

  @Test func namesGenerationsWithoutKey() throws {
    let sandbox = try sandbox()
    sandbox.environment = [:]
    let result = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.errors.contains("s.coffer: generation 3 or later, not proved without a key\n"))
    #expect(result.errors.contains("b.coffer: generation 2 or later, not proved without a key\n"))
    #expect(result.errors.contains("warning: b.coffer is older"))
  }

  /// A file beside the backup isn't followed or applied, also if a private copy of both would be.
  @Test(arguments: verbsWithOther + [["copy", "b.coffer", "n.coffer", "--editable"]])
  func refusesPlantedFilesBesideBackup(_ words: [String]) throws {
    for suffix in ["-journal", "-wal"] {
      let sandbox = try sandbox()
      let name = "b.coffer" + suffix
      try sandbox.write("x", "planted")
      for plant in [symlink, link] {
        #expect(plant(sandbox.path("x"), sandbox.path(name)) == 0)
        let before = try sandbox.read("s.coffer")
        let result = try sandbox.run(words)
        #expect(result.status == 20 && result.errors.contains("error: \(name) "), "\(result.errors)")
        #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("n.coffer"))
        try sandbox.remove(name)
      }
    }
  }

  /// A row that is missing is damage of the backup, before a name is missing.
  @Test func provesBackupBeforeItReportsMissingNames() throws {
    let sandbox = try sandbox()
    let missing = try sandbox.run("restore", "s.coffer", "b.coffer", "99")
    #expect(missing.status == 14 && missing.errors.contains("b.coffer: "), "\(missing.errors)")
    let raw = try Database(sandbox.path("b.coffer"))
    try raw.execute("DELETE FROM coffer_record WHERE id = 1")
    try raw.close()
    let result = try sandbox.run("restore", "s.coffer", "b.coffer", "1")
    #expect(result.status == 21 && result.errors.contains("b.coffer: "), "\(result.errors)")
    #expect(try sandbox.run("restore", "s.coffer", "b.coffer", "-c", "documents").status == 64)
  }

  /// Errors of the library have the paths that were given.
  @Test func namesFilesAsGiven() throws {
    let sandbox = try sandbox()
    let raw = try Database(sandbox.path("b.coffer"))
    try raw.execute("DELETE FROM coffer_record WHERE id = 1")
    try raw.close()
    for words in Self.verbsWithOther.prefix(2) {
      let result = try sandbox.run(words)
      #expect(result.status == 21 && result.errors.contains("error: b.coffer: "), "\(result.errors)")
      let absolute = try sandbox.run(words.map { $0 == "b.coffer" ? sandbox.path($0) : $0 })
      #expect(absolute.errors.contains("error: \(sandbox.path("b.coffer")): "), "\(absolute.errors)")
    }
    let root = String(repeating: "../", count: 40)
    let other = try sandbox.run("import", sandbox.path("n.coffer"), root)
    #expect(other.errors.contains("error: \(sandbox.path("n.coffer")): "), "\(other.errors)")
    let pin = "coffer-pin-3-" + String(repeating: "1", count: 128)
    let result = try sandbox.run("restore", "n.coffer", "b.coffer", "--pin", pin)
    #expect(result.status == 21 && result.errors.contains("error: b.coffer is not the store"), "\(result.errors)")
  }

  /// The verbs that read a second store.
  private static let verbsWithOther = [
    ["restore", "s.coffer", "b.coffer", "1"], ["diff", "s.coffer", "b.coffer"], ["merge", "s.coffer", "b.coffer"],
  ]

  @Test(arguments: verbsWithOther)
  func requiresConsentForFileFromBeforeRekey(_ words: [String]) throws {
    let sandbox = try sandbox()
    try sandbox.succeed("rekey", "s.coffer")
    let old = try sandbox.read("s.coffer")
    for given in [words, [words[0], words[2], words[1]] + words.dropFirst(3)] {
      let refused = try sandbox.run(given)
      #expect(refused.status == 21 && refused.errors.contains("files of one store with different root keys"))
    }
    #expect(try sandbox.read("s.coffer") == old)
    let accepted = try sandbox.run(words + ["--allow-rekey"])
    #expect(accepted.status == (words[0] == "diff" ? 4 : 0), "\(accepted.errors)")
  }

  @Test(arguments: verbsWithOther)
  func comparesOtherStoreWithPinAndAnchor(_ words: [String]) throws {
    let sandbox = try sandbox()
    func pin(_ path: String) throws -> String {
      try sandbox.succeed("info", path).text.split(whereSeparator: \.isWhitespace)
        .first { $0.hasPrefix("coffer-pin-") }.map(String.init)!
    }
    let expected: Int32 = words[0] == "diff" ? 4 : 0
    try sandbox.succeed("verify", "b.coffer", "--save-anchor", "b.anchor")
    try sandbox.succeed("verify", "s.coffer", "--save-anchor", "s.anchor")
    try sandbox.succeed("create", "t.coffer")
    #expect(
      try sandbox.run(words + ["--other-pin", pin("b.coffer"), "--other-anchor", "b.anchor"]).status == expected)
    let older = try sandbox.run(words + ["--other-anchor", "s.anchor"])
    #expect(older.status == 21 && older.errors.contains("older than its anchor"), "\(older.errors)")
    #expect(try sandbox.run(words + ["--other-pin", pin("t.coffer")]).status == 21)
    #expect(try sandbox.run(words + ["--other-pin", "x"]).status == 64)
  }

  /// Verbs with two stores name the damaged one, also if a log makes them read a private copy of it.
  @Test func namesDamagedStoreOfTwo() throws {
    let damages = [
      "head": "UPDATE coffer_record SET head = CAST(substr(head, 1, length(head) - 1) || x'00' AS BLOB) WHERE id = 1",
      "text": "UPDATE coffer_record SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB) WHERE id = 1",
      "collection":
        "UPDATE coffer_collection SET sealed = CAST(substr(sealed, 1, length(sealed) - 1) || x'00' AS BLOB)",
      "replicas": "UPDATE coffer_replica SET sealed = CAST(substr(sealed, 1, length(sealed) - 1) || x'00' AS BLOB)",
    ]
    for journal in ["rollback", "wal"] {
      for (name, sql) in damages {
        let sandbox = try journal == "wal" ? sandbox("--wal") : sandbox()
        try sandbox.succeed("put", "b.coffer", "--id", "1", "--text", "another")
        // With a log, the open connection keeps it beside the store.
        let database = try Database(sandbox.path("b.coffer"))
        try database.execute(sql)
        for words in [
          ["restore", "s.coffer", "b.coffer", "1"], ["restore", "s.coffer", "b.coffer", "1", "--allow-damage"],
          ["diff", "s.coffer", "b.coffer", "--text"], ["diff", "b.coffer", "s.coffer"],
        ] {
          let result = try sandbox.run(words)
          guard result.status != 0, result.status != 4 else { continue }
          #expect(
            result.errors.contains("b.coffer: ") || words[1] == "b.coffer",
            "\(journal), \(name), \(words): \(result.errors)")
          #expect(!result.errors.contains("/copy"), "\(journal), \(name), \(words): \(result.errors)")
        }
      }
    }
  }

  @Test func discardsReplacedStoreOnRequest() throws {
    let sandbox = try sandbox()
    let result = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force", "--discard-replaced")
    #expect(!result.diagnostics.contains("go back") && !sandbox.exists("s.coffer.replaced"))
    try sandbox.succeed("diff", "s.coffer", "b.coffer")
    #expect(try sandbox.run("restore", "t.coffer", "b.coffer", "--discard-replaced").status == 64)
  }

  @Test func warnsAboutRekeyAndOtherStore() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("rekey", "s.coffer", "--new-key-file", "next.key")
    let result = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.diagnostics.contains("warning: b.coffer is from before a rekey"), "\(result.errors)")
    let newer = try sandbox.succeed("restore", "s.coffer", "s.coffer.replaced", "--force")
    #expect(!newer.diagnostics.contains("warning"), "\(newer.errors)")
    try sandbox.succeed("create", "other.coffer")
    let other = try sandbox.succeed("restore", "s.coffer", "other.coffer", "--force")
    #expect(other.diagnostics.contains("warning: other.coffer is another store than the one that it replaces"))
  }

  @Test(arguments: ["text", "", "SQLite format 3\u{0}"])
  func refusesToReplaceOtherFile(_ contents: String) throws {
    let sandbox = try sandbox()
    try sandbox.write("s.coffer", contents)
    let names = try sandbox.names()
    let result = try sandbox.run("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.status == 1 && result.errors.contains("s.coffer is no store, and was left as it is"))
    #expect(result.errors.contains("hint: move it away, and try again"))
    #expect(try sandbox.text(of: "s.coffer") == contents && sandbox.names() == names)
    try FileManager.default.moveItem(atPath: sandbox.path("s.coffer"), toPath: sandbox.path("away"))
    try sandbox.succeed("restore", "s.coffer", "b.coffer")
  }

  @Test func refusesToReplaceOtherDatabase() throws {
    let sandbox = try sandbox()
    let database = try Database(sandbox.path("app.db"), mode: .create)
    try database.execute("CREATE TABLE t(a)")
    try database.close()
    let before = try sandbox.read("app.db")
    #expect(try sandbox.run("restore", "app.db", "b.coffer", "--force").status == 1)
    #expect(try sandbox.read("app.db") == before)
  }

  @Test func replacesDamagedStore() throws {
    let sandbox = try sandbox()
    var bytes = try sandbox.read("s.coffer")
    for index in 100..<bytes.count { bytes[index] = 0xFF }
    try sandbox.write("s.coffer", bytes: bytes)
    let result = try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
    #expect(result.diagnostics.contains("s.coffer: its generation can't be read: "), "\(result.errors)")
    #expect(try sandbox.read("s.coffer.replaced") == bytes)
    try sandbox.succeed("diff", "s.coffer", "b.coffer")
  }

  /// A killed writer's log has the newest commits, so it's kept with the store.
  @Test func keepsLogOfReplacedStore() throws {
    let sandbox = try sandbox("--wal")
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    // Another connection keeps the log of a put.
    let database = try Database(sandbox.path("s.coffer"))
    _ = try database.query("SELECT count(*) FROM coffer_record")
    try sandbox.succeed("put", "s.coffer", "--text", "three")
    for suffix in ["", "-wal"] { try sandbox.write("k.coffer\(suffix)", bytes: sandbox.read("s.coffer\(suffix)")) }
    try database.close()
    let result = try sandbox.succeed("restore", "k.coffer", "b.coffer", "--force")
    #expect(result.diagnostics.contains("k.coffer: generation 4\n"), "\(result.errors)")
    #expect(sandbox.exists("k.coffer.replaced-wal") && !sandbox.exists("k.coffer-wal"))
    #expect(try sandbox.succeed("show", "k.coffer.replaced", "1-3").text == "onetwothree")
    #expect(try sandbox.succeed("ls", "k.coffer").lines.count == 1)
    try sandbox.succeed("verify", "k.coffer")
  }

  /// Kills the command before each step that changes names. The store is always whole, as before or as in the backup.
  @Test(.slow, .enabled(if: KilledRun.isPossible, "strace can't run here"), arguments: KilledRun.calls)
  func killLeavesOneOfBothStores(_ call: String) throws {
    let sandbox = try sandbox()
    try sandbox.succeed("restore", "n.coffer", "b.coffer")
    let (old, new) = (try sandbox.read("s.coffer"), try sandbox.read("n.coffer"))
    for number in 1... {
      try sandbox.write("s.coffer", bytes: old)
      let wasKilled = try KilledRun.run(
        "restore", "s.coffer", "b.coffer", "--force", at: call, number, in: sandbox)
      let found = try sandbox.read("s.coffer")
      #expect(found == old || found == new, "\(call) \(number)")
      if found == new { #expect(try sandbox.read("s.coffer.replaced") == old) }
      try sandbox.succeed("verify", "s.coffer")
      try sandbox.succeed("restore", "s.coffer", "b.coffer", "--force")
      #expect(try sandbox.read("s.coffer") == new)
      let names = try sandbox.names()
      #expect(!names.contains { $0.hasSuffix(".new") }, "\(call) \(number): \(names)")
      for name in names where name.contains(".replaced") { try sandbox.remove(name) }
      guard wasKilled else { break }
    }
  }

  /// Copies can have one document under different ids: here, after a device was restored and synced.
  @Test func restoresDocumentByIdentity() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("sync", "init", "s.coffer", "folder", "--name", "A")
    try sandbox.succeed("backup", "s.coffer", "monday.coffer")
    try sandbox.succeed("put", "s.coffer", "--text", "important")
    try sandbox.succeed("sync", "run", "s.coffer", "folder")
    try sandbox.succeed("restore", "s.coffer", "monday.coffer", "--force")
    try sandbox.succeed("put", "s.coffer", "--text", "afterwards")
    try sandbox.succeed("sync", "run", "s.coffer", "folder")
    let texts = "SELECT id || ' ' || text FROM documents ORDER BY id"
    #expect(try sandbox.succeed("query", "s.coffer", texts).lines == ["1 one", "2 afterwards", "3 important"])
    try sandbox.succeed("put", "s.coffer", "--id", "3", "--text", "changed")
    try sandbox.succeed("rm", "s.coffer", "2")
    try sandbox.succeed("restore", "s.coffer", "s.coffer.replaced", "2")
    #expect(try sandbox.succeed("query", "s.coffer", texts).lines == ["1 one", "3 important"])
    try sandbox.succeed("verify", "s.coffer")
  }
}
