import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// The hints that name a command or an option of another verb: the command is run as the hint says, and cures the error.
@Suite struct CureTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    /// Makes what the error needs.
    var prepare: @Sendable (Sandbox) throws -> Void = { _ in }
    let fails: [String]
    /// A part of the hint.
    let hint: String
    /// What the hint tells to run, one after the other; all succeed.
    let cures: [[String]]

    var testDescription: String { name }
  }

  private static func damage(_ sandbox: Sandbox, _ statement: String) throws {
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute(statement)
    try database.close()
  }

  private static let two: @Sendable (Sandbox) throws -> Void = { sandbox in
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "y", "--title", "one")
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "z", "--title", "one")
  }

  private static let cases: [Case] = [
    Case(
      name: "table of several collections", prepare: two, fails: ["export", "s.coffer", "--to", "csv"],
      hint: "choose one with -c, or use ndjson",
      cures: [["export", "s.coffer", "--to", "csv", "-c", "notes"], ["export", "s.coffer", "--to", "ndjson"]]),
    Case(
      name: "several collections to write to", prepare: two, fails: ["put", "s.coffer", "--text", "a"],
      hint: "choose one with -c", cures: [["put", "s.coffer", "--text", "a", "-c", "notes"]]),
    Case(
      name: "pattern of many documents", prepare: two, fails: ["rm", "s.coffer", "o*"],
      hint: "-f deletes them; -n lists them",
      cures: [["rm", "s.coffer", "o*", "-n"], ["rm", "s.coffer", "o*", "-f"]]),
    Case(
      name: "collection with documents", prepare: two, fails: ["collection", "drop", "s.coffer", "notes"],
      hint: "--force deletes them; --dry-run only counts them",
      cures: [
        ["collection", "drop", "s.coffer", "notes", "--dry-run"],
        ["collection", "drop", "s.coffer", "notes", "--force"],
      ]),
    Case(
      name: "title of two documents", prepare: two, fails: ["show", "s.coffer", "one"], hint: "name one by its id",
      cures: [["show", "s.coffer", "2"]]),
    Case(
      name: "store without titles", prepare: { try $0.succeed("rekey", "s.coffer", "--titles", "none") },
      fails: ["put", "s.coffer", "--text", "a", "--title", "b"], hint: "'rekey --titles sealed' makes it keep them",
      cures: [["rekey", "s.coffer", "--titles", "sealed"], ["put", "s.coffer", "--text", "a", "--title", "b"]]),
    Case(
      name: "store as an export", fails: ["export", "s.coffer", "-o", "n.coffer"], hint: "'copy' makes a new store",
      cures: [["copy", "s.coffer", "n.coffer", "--new-key-file", "next.key"]]),
    Case(
      name: "many texts in a file", prepare: two, fails: ["export", "s.coffer", "-o", "x.txt"],
      hint: "name a folder (-o texts/), or one document",
      cures: [["export", "s.coffer", "--to", "text", "-o", "texts/"], ["export", "s.coffer", "1", "-o", "x.txt"]]),
    Case(
      name: "damaged document",
      prepare: { try damage($0, "UPDATE coffer_record SET body = zeroblob(length(body))") },
      fails: ["verify", "s.coffer"], hint: "bring the others into a new store with copy --salvage",
      cures: []),
    Case(
      name: "search without an index", fails: ["search", "s.coffer", "--ranked", "x"], hint: "index add",
      cures: [["index", "add", "s.coffer", "words"], ["search", "s.coffer", "--ranked", "x"]]),
    Case(
      name: "damaged index",
      prepare: { sandbox in
        try sandbox.succeed("index", "add", "s.coffer", "words")
        try damage(sandbox, "UPDATE coffer_x_index_page SET sealed = zeroblob(length(sealed))")
      },
      fails: ["index", "check", "s.coffer"], hint: "'index drop' and 'index add' make an index again",
      cures: [["index", "drop", "s.coffer"], ["index", "add", "s.coffer", "words"], ["index", "check", "s.coffer"]]),
    Case(
      name: "several recipients for one slot",
      prepare: { sandbox in
        let line = try sandbox.succeed("keygen", "-y", "identity.key").text
        try sandbox.write("both.txt", line + line)
      },
      fails: ["key", "add", "s.coffer", "-R", "both.txt"], hint: "use --recipient with one line at a time", cures: []),
    Case(
      name: "identity in place of a recipient",
      fails: ["key", "add", "s.coffer", "-R", "identity.key"], hint: "'dbtool keygen -y' prints the one of an identity",
      cures: [["keygen", "-y", "identity.key"]]),
    Case(
      name: "anchor over another file", fails: ["verify", "s.coffer", "--save-anchor", "primary.key"],
      hint: "choose another file",
      cures: [
        ["verify", "s.coffer", "--save-anchor", "a"], ["verify", "s.coffer", "--anchor", "a", "--save-anchor", "a"],
      ]),
    Case(
      name: "missing collection", fails: ["ls", "s.coffer", "-c", "nots"], hint: "there are: documents",
      cures: [["ls", "s.coffer", "-c", "documents"]]),
    Case(
      name: "existing store", prepare: { try $0.succeed("backup", "s.coffer", "b.coffer") },
      fails: ["restore", "s.coffer", "b.coffer"], hint: "--force replaces it",
      cures: [["restore", "s.coffer", "b.coffer", "--force"]]),
    Case(
      name: "existing backup", prepare: { try $0.succeed("backup", "s.coffer", "b.coffer") },
      fails: ["backup", "s.coffer", "b.coffer"], hint: "--force replaces it",
      cures: [["backup", "s.coffer", "b.coffer", "--force"]]),
    Case(
      name: "existing copy", prepare: { try $0.succeed("copy", "s.coffer", "b.coffer", "--new-key-file", "next.key") },
      fails: ["copy", "s.coffer", "b.coffer", "--new-key-file", "next.key"], hint: "--force replaces it",
      cures: [["copy", "s.coffer", "b.coffer", "--new-key-file", "next.key", "--force"]]),
    Case(
      name: "many removals",
      prepare: { sandbox in
        try sandbox.write("a.csv", "key,text\na,1\nb,2\nc,3\n")
        try sandbox.write("b.csv", "key,text\na,1\n")
        try sandbox.succeed("import", "s.coffer", "a.csv", "-c", "books")
      },
      fails: ["import", "s.coffer", "b.csv", "-c", "books", "--sync", "--delete"], hint: "--max-delete allows more",
      cures: [["import", "s.coffer", "b.csv", "-c", "books", "--sync", "--delete", "--max-delete", "70%"]]),
    Case(
      name: "store in front of the verb of a group", fails: ["index", "s.coffer"],
      hint: "as in 'dbtool index list --store s.coffer'", cures: [["index", "list", "--store", "s.coffer"]]),
    Case(
      name: "store behind another word", fails: ["show", "one", "s.coffer"],
      hint: "the store is the first word behind the verb: dbtool show s.coffer", cures: [["show", "s.coffer", "one"]]),
    Case(
      name: "taken key",
      prepare: { sandbox in
        try sandbox.write("k.csv", "key,text\na,1\n")
        try sandbox.succeed("import", "s.coffer", "k.csv")
      },
      fails: ["import", "s.coffer", "k.csv"], hint: "--on-conflict update changes such documents, --on-conflict skip",
      cures: [
        ["import", "s.coffer", "k.csv", "--on-conflict", "update"],
        ["import", "s.coffer", "k.csv", "--on-conflict", "skip"],
      ]),
    Case(
      name: "text in place of a file", fails: ["put", "s.coffer", "a secret text"], hint: "--text TEXT stores a text",
      cures: [["put", "s.coffer", "--text", "a secret text"]]),
    Case(
      name: "store as an input beside the variable",
      prepare: { $0.environment["DBTOOL_STORE"] = "none.coffer" },
      fails: ["import", "--create", "new.coffer", "primary.key"],
      hint: "DBTOOL_STORE names the store, none.coffer: every word is an input",
      cures: [["import", "--create", "recipient.txt", "--from", "text"]]),
    Case(
      name: "backup over another file", prepare: { try $0.write("b.txt", "mine") },
      fails: ["backup", "s.coffer", "b.txt", "--force"], hint: "move it away, and try again", cures: []),
    Case(
      name: "rejects over a file",
      prepare: { sandbox in
        try sandbox.write("bad.ndjson", "{\n")
        try sandbox.write("r.txt", "mine")
      },
      fails: ["import", "s.coffer", "bad.ndjson", "--rejects", "r.txt"], hint: "name another for --rejects", cures: []),
    Case(
      name: "damaged structure", prepare: { try damage($0, "UPDATE coffer_record SET body = x'00'") },
      fails: ["verify", "s.coffer", "--keyless"], hint: "'copy --salvage'", cures: []),
    Case(
      name: "document left behind by a rekey",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "--text", "y")
        try damage(sandbox, "UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 1")
      },
      fails: ["rekey", "s.coffer"], hint: "restore or remove them, then rekey --resume",
      cures: [["rm", "s.coffer", "1"], ["rekey", "s.coffer", "--resume"], ["verify", "s.coffer"]]),
    Case(
      name: "query of a collection with a number",
      prepare: { try $0.succeed("put", "s.coffer", "-c", "05", "--text", "y") },
      fails: ["query", "s.coffer", "SELECT count(*) FROM documents WHERE collection = 5"],
      hint: "quote it: collection = '5'",
      cures: [["query", "s.coffer", "SELECT count(*) FROM documents WHERE collection = '05'"]]),
    Case(
      name: "match without words",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "y")
        try sandbox.succeed("index", "add", "s.coffer", "-c", "notes", "words")
      },
      fails: ["query", "s.coffer", #"SELECT id FROM "notes.match""#],
      hint: #"write FROM "NAME.match"('the words')"#,
      cures: [["query", "s.coffer", #"SELECT id FROM "notes.match"('y')"#]]),
    Case(
      name: "unknown field of the header", fails: ["index", "add", "s.coffer", "f=@made:date"],
      hint: "the header's fields are @created", cures: [["index", "add", "s.coffer", "f=@created:date"]]),
    Case(
      name: "original with a newer root key",
      prepare: { sandbox in
        try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable")
        try sandbox.succeed("rekey", "s.coffer")
      },
      fails: ["merge", "c.coffer", "s.coffer"], hint: "or --allow-rekey",
      cures: [["merge", "c.coffer", "s.coffer", "--allow-rekey"]]),
    Case(
      name: "missing slot", fails: ["key", "remove", "s.coffer", "9"], hint: "key list lists the slots",
      cures: [["key", "list", "s.coffer"]]),
    Case(
      name: "real key for a TEST store", prepare: { try $0.succeed("keygen", "real.key") },
      fails: ["key", "add", "s.coffer", "--new-key-file", "real.key"], hint: "made by create without --test takes it",
      cures: [["create", "n.coffer", "--key-file", "real.key"]]),
    Case(
      name: "recipient without a slot", prepare: { try $0.succeed("key", "add", "s.coffer", "-R", "recipient.txt") },
      fails: ["rekey", "s.coffer", "--keep-recipient", "9"], hint: "key list shows the slots and their recipients",
      cures: [["key", "list", "s.coffer"], ["rekey", "s.coffer", "--keep-recipient", "2"]]),
    Case(
      name: "recipient neither kept nor dropped",
      prepare: { try $0.succeed("key", "add", "s.coffer", "-R", "recipient.txt") }, fails: ["rekey", "s.coffer"],
      hint: "--keep-recipient SLOT, or drop the slots with --drop-slots",
      cures: [["rekey", "s.coffer", "--keep-recipient", "2"], ["rekey", "s.coffer", "--drop-slots"]]),
    Case(
      name: "key with a slot", fails: ["key", "add", "s.coffer", "--new-key-file", "primary.key"],
      hint: "key list shows the slots", cures: [["key", "list", "s.coffer"]]),
    Case(
      name: "damaged source of a backup", prepare: { try damage($0, "UPDATE coffer_record SET body = x'00'") },
      fails: ["backup", "s.coffer", "b.coffer"], hint: "verify --keyless lists all that is damaged", cures: []),
    Case(
      name: "line that is no key", prepare: { try $0.write("bad.key", "coffer-key-1-00") },
      fails: ["ls", "s.coffer", "--key-file", "bad.key"], hint: "take the file that keygen made, or a copy of it",
      cures: [["ls", "s.coffer", "--key-file", "primary.key"]]),
  ]

  @Test(.slow, arguments: cases) func hintCuresError(_ example: Case) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--title", "one")
    try example.prepare(sandbox)
    let failed = try sandbox.run(example.fails)
    #expect(failed.status != 0)
    let hint = failed.diagnostics.split(separator: "\n").first { $0.hasPrefix("hint: ") }
    #expect(hint?.contains(example.hint) == true, "\(failed.errors)")
    for cure in example.cures { try sandbox.succeed(cure) }
  }

  @Test func compactionEndsOnceReadersAreClosed() throws {
    let sandbox = try Sandbox.withStore("--wal")
    for number in 1...20 { try sandbox.succeed("put", "s.coffer", "--text", "x\(number)") }
    try sandbox.succeed("rm", "s.coffer", "1-19", "-f")
    let reader = try Database(sandbox.path("s.coffer"))
    try reader.execute("BEGIN; SELECT count(*) FROM coffer_record")
    let blocked = try sandbox.run("compact", "s.coffer", "--wait", "0")
    #expect(blocked.status == 11, "\(blocked.errors)")
    #expect(blocked.errors.contains("close the readers, and call compact once more"), "\(blocked.errors)")
    try reader.close()
    try sandbox.succeed("compact", "s.coffer", "--wait", "0")
  }

  /// A second store is in its place, so the order of the words isn't the fault.
  @Test func hintOfOrderRequiresSingleStore() throws {
    let sandbox = try Sandbox.withStore()
    for verb in ["diff", "merge"] {
      let failed = try sandbox.run(verb, "missing.coffer", "s.coffer")
      #expect(failed.status == 10 && !failed.errors.contains("first word"), "\(failed.errors)")
    }
  }

  /// A salvage of the damaged store reads the other documents.
  @Test func salvageFollowsHintOfDamage() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["a", "b"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    try Self.damage(sandbox, "UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 1")
    #expect(try sandbox.run("verify", "s.coffer").errors.contains("copy --salvage"))
    #expect(try sandbox.run("copy", "s.coffer", "n.coffer", "--salvage", "--new-key-file", "next.key").status == 3)
    #expect(try sandbox.succeed("show", "n.coffer", "2", "--key-file", "next.key").text == "b")
  }
}
