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
      prepare: { sandbox in
        try sandbox.succeed("backup", "s.coffer", "b.coffer")
        try damage(sandbox, "UPDATE coffer_record SET body = zeroblob(length(body))")
      },
      fails: ["verify", "s.coffer"],
      hint: "restore them from a backup, or bring the others into a new store with copy --salvage",
      cures: [["restore", "s.coffer", "b.coffer", "1"], ["verify", "s.coffer"]]),
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
      hint: "name the store first, or with --store: dbtool show --store s.coffer …",
      cures: [["show", "s.coffer", "one"], ["show", "--store", "s.coffer", "one"]]),
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
        try sandbox.write("in.txt", "text")
        try sandbox.write("r.txt", "mine")
      },
      fails: ["import", "s.coffer", "in.txt", "--rejects", "r.txt"],
      hint: "remove it, or name another for --rejects",
      cures: [["import", "s.coffer", "in.txt", "--rejects", "other.txt"]]),
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
      name: "anchor of an older root key",
      prepare: { sandbox in
        try sandbox.succeed("verify", "s.coffer", "--save-anchor", "a.anchor")
        try sandbox.succeed("rekey", "s.coffer")
      },
      fails: ["verify", "s.coffer", "--anchor", "a.anchor"],
      hint: "if you know of the rekey, accept it with --allow-rekey",
      cures: [["verify", "s.coffer", "--anchor", "a.anchor", "--allow-rekey"]]),
    Case(
      name: "key taken since the backup",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "-c", "notes", "--key-name", "k", "--text", "y")
        try sandbox.succeed("backup", "s.coffer", "b.coffer")
        try sandbox.succeed("rm", "s.coffer", "k")
        try sandbox.succeed("put", "s.coffer", "-c", "notes", "--key-name", "k", "--text", "z")
      },
      fails: ["restore", "s.coffer", "b.coffer", "k"], hint: "update document 3 instead, or delete it first",
      cures: [
        ["put", "s.coffer", "--id", "3", "--text", "a"], ["rm", "s.coffer", "3"],
        ["restore", "s.coffer", "b.coffer", "k"],
      ]),
    Case(
      name: "collection that exists",
      prepare: { try $0.succeed("collection", "create", "s.coffer", "notes") },
      fails: ["collection", "create", "s.coffer", "notes"],
      hint: "choose another name: collection list has the names", cures: [["collection", "list", "s.coffer"]]),
    Case(
      name: "backup from before a rekey",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "--text", "y")
        try sandbox.succeed("backup", "s.coffer", "b.coffer")
        try sandbox.succeed("rekey", "s.coffer")
      },
      fails: ["restore", "s.coffer", "b.coffer", "1"],
      hint: "if you know where both files were since, accept them with --allow-rekey",
      cures: [
        ["restore", "s.coffer", "b.coffer", "1", "--allow-rekey"], ["diff", "s.coffer", "b.coffer", "--allow-rekey"],
        ["merge", "s.coffer", "b.coffer", "--allow-rekey"],
      ]),
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
      hint: "--keep-recipient SLOT, or drop the slots with rekey --drop-slots",
      cures: [["rekey", "s.coffer", "--keep-recipient", "2"], ["rekey", "s.coffer", "--drop-slots"]]),
    Case(
      name: "key with a slot", fails: ["key", "add", "s.coffer", "--new-key-file", "primary.key"],
      hint: "key list shows the slots", cures: [["key", "list", "s.coffer"]]),
    Case(
      name: "line that is no key", prepare: { try $0.write("bad.key", "coffer-key-1-00") },
      fails: ["ls", "s.coffer", "--key-file", "bad.key"], hint: "take the file that keygen made, or a copy of it",
      cures: [["ls", "s.coffer", "--key-file", "primary.key"]]),
    Case(
      name: "test key for a real store",
      prepare: { sandbox in
        try sandbox.succeed("keygen", "real.key")
        try sandbox.succeed("create", "r.coffer", "-k", "real.key")
      },
      fails: ["key", "add", "r.coffer", "-k", "real.key", "--new-key-file", "next.key"],
      hint: "make another key with keygen",
      cures: [["keygen", "n.key"], ["key", "add", "r.coffer", "-k", "real.key", "--new-key-file", "n.key"]]),
    Case(
      name: "document of a missing collection", fails: ["rm", "s.coffer", "-c", "nots", "1"],
      hint: "collection list lists the collections", cures: [["collection", "list", "s.coffer"]]),
    Case(
      name: "text emptied in the editor", prepare: { $0.environment["EDITOR"] = "truncate -s 0" },
      fails: ["edit", "s.coffer", "1"], hint: "rm deletes the document, put --allow-empty stores this",
      cures: [["put", "s.coffer", "--id", "1", "--text", "", "--allow-empty"], ["rm", "s.coffer", "1"]]),
  ]

  private static let danglingLink: @Sendable (Sandbox) throws -> Void = { sandbox in
    try FileManager.default.createSymbolicLink(atPath: sandbox.path("link"), withDestinationPath: "missing")
  }

  /// Errors about words of the command line, such as paths.
  private static let words: [Case] = [
    Case(
      name: "several collections to sort", prepare: two, fails: ["collection", "sort", "s.coffer", "--by", "title"],
      hint: "name one behind the store", cures: [["collection", "sort", "s.coffer", "notes", "--by", "title"]]),
    Case(
      name: "records of two collections",
      prepare: { sandbox in
        let records = ["my notes", "more"].map { #"{"collection":"\#($0)","key":"k","text":"\#($0)"}"# + "\n" }
        try sandbox.write("in.ndjson", records[0])
        try sandbox.write("more.ndjson", records[1])
      },
      fails: ["import", "s.coffer", "in.ndjson", "more.ndjson", "--sync"],
      hint: "-c 'my notes' takes all records for it",
      cures: [["import", "s.coffer", "in.ndjson", "--sync", "-c", "my notes"]]),
    Case(
      name: "key of another document",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "--key-name", "a", "--text", "y")
        try sandbox.write("in.csv", "id,key,text\n1,a,z\n")
      },
      fails: ["import", "s.coffer", "in.csv", "--keep-ids", "--on-conflict", "update"],
      hint: "update document 2 instead, or delete it first",
      cures: [
        ["rm", "s.coffer", "2"], ["import", "s.coffer", "in.csv", "--keep-ids", "--on-conflict", "update"],
      ]),
    Case(
      name: "file in the place of a folder",
      prepare: { sandbox in
        try sandbox.succeed("attachment", "add", "s.coffer", "1", "primary.key")
        try sandbox.write("g", "mine")
      },
      fails: ["attachment", "get", "s.coffer", "1", "-o", "g"], hint: "name another folder",
      cures: [["attachment", "get", "s.coffer", "1", "-o", "h"]]),
    Case(
      name: "link to a missing file", prepare: danglingLink, fails: ["export", "s.coffer", "-o", "link"],
      hint: "--force replaces it", cures: [["export", "s.coffer", "-o", "link", "--force"]]),
    Case(
      name: "rejects to a link",
      prepare: { sandbox in
        try danglingLink(sandbox)
        try sandbox.write("in.txt", "text")
      },
      fails: ["import", "s.coffer", "in.txt", "--rejects", "link"], hint: "remove it, or name another for --rejects",
      cures: [["import", "s.coffer", "in.txt", "--rejects", "other.txt"]]),
    Case(
      name: "backup of a store over itself", fails: ["backup", "s.coffer", "."], hint: "name another file",
      cures: [["backup", "s.coffer", "b.coffer"]]),
    Case(
      name: "restore of a store from itself", fails: ["restore", "s.coffer", "./s.coffer"], hint: "name another file",
      cures: [["restore", "n.coffer", "./s.coffer"]]),
    Case(
      name: "editable copy over its original", fails: ["copy", "s.coffer", "./s.coffer", "--editable"],
      hint: "name another file", cures: [["copy", "s.coffer", "./c.coffer", "--editable"]]),
    Case(
      name: "name with a dash",
      prepare: { try $0.write("-u.txt", bytes: [0x61, 0, 0x62, 0]) }, fails: ["put", "--", "s.coffer", "-u.txt"],
      hint: "dbtool convert --from utf-16le --to utf-8-bom ./-u.txt",
      cures: [["convert", "--from", "utf-16le", "--to", "utf-8-bom", "./-u.txt"]]),
  ]

  private static let restoring = ["restore", "s.coffer", "b.coffer", "--force"]
  private static let salvaging = ["copy", "s.coffer", "n.coffer", "--salvage", "--new-key-file", "next.key"]

  /// Damages the store after a backup.
  private static func damageAfterBackup(_ sandbox: Sandbox, _ statement: String) throws {
    try sandbox.succeed("backup", "s.coffer", "b.coffer")
    try damage(sandbox, statement)
  }

  private static let damages: [Case] = [
    Case(
      name: "table of another program", prepare: { try damageAfterBackup($0, "CREATE TABLE extra(a)") },
      fails: ["ls", "s.coffer"],
      hint: "restore it from a backup, or bring what can be read into a new store with copy --salvage",
      cures: [salvaging, restoring, ["ls", "s.coffer"]]),
    Case(
      name: "pages in disorder",
      prepare: { sandbox in
        try sandbox.succeed("backup", "s.coffer", "b.coffer")
        var bytes = try sandbox.read("s.coffer")
        // The seventh page is the root of the documents.
        bytes.replaceSubrange(6 * 8192..<7 * 8192, with: repeatElement(0xFF, count: 8192))
        try sandbox.write("s.coffer", bytes: bytes)
      },
      fails: ["ls", "s.coffer"],
      hint: "restore it from a backup, or bring what can be read into a new store with copy --salvage",
      cures: [restoring, ["ls", "s.coffer"]]),
    Case(
      name: "document newer than the state",
      prepare: { sandbox in
        let columns = "coll, epoch, rev, x'ff01', parent, flags, lookup, title, head, body_nt, body"
        try damageAfterBackup(sandbox, "INSERT INTO coffer_record SELECT 2, \(columns) FROM coffer_record")
      },
      fails: ["put", "s.coffer", "--text", "y"],
      hint: "restore it from a backup, or bring what can be read into a new store with copy --salvage",
      cures: [restoring, ["put", "s.coffer", "--text", "y"], ["verify", "s.coffer"]]),
    Case(
      name: "text in the place of a new one",
      prepare: { sandbox in
        try damageAfterBackup(sandbox, "INSERT INTO coffer_body VALUES(2, x'00')")
        try sandbox.write("long.txt", String(repeating: "x", count: 40_000))
      },
      fails: ["put", "s.coffer", "long.txt"], hint: "verify lists all damage; restore it from a backup",
      cures: [restoring, ["put", "s.coffer", "long.txt"], ["verify", "s.coffer"]]),
    Case(
      name: "damaged structure", prepare: { try damageAfterBackup($0, "UPDATE coffer_record SET body = x'00'") },
      fails: ["verify", "s.coffer", "--keyless"], hint: "restore it from a backup, or 'copy --salvage'",
      cures: [restoring, ["verify", "s.coffer", "--keyless"]]),
    Case(
      name: "damaged page of an index",
      prepare: { sandbox in
        try sandbox.succeed("index", "add", "s.coffer", "words")
        try damage(sandbox, "UPDATE coffer_x_index_page SET sealed = zeroblob(length(sealed))")
      },
      fails: ["verify", "s.coffer"], hint: "the documents are sound; index update makes the index again, or removes it",
      cures: [["index", "update", "s.coffer"], ["verify", "s.coffer"]]),
    Case(
      name: "damaged root of an index",
      prepare: { sandbox in
        try sandbox.succeed("index", "add", "s.coffer", "words")
        try damage(sandbox, "UPDATE coffer_x_index SET sealed = zeroblob(length(sealed))")
      },
      fails: ["index", "update", "s.coffer"], hint: "declare its indexes again with index add",
      cures: [["index", "add", "s.coffer", "words"], ["verify", "s.coffer"]]),
    Case(
      name: "salvage with a key of no slot",
      prepare: { try $0.succeed("key", "add", "s.coffer", "--new-key-file", "next.key") },
      fails: salvaging + ["-k", "wrong.key"],
      hint: "try the key of each slot that info shows: one sound slot is enough",
      cures: [["info", "s.coffer"], salvaging + ["-k", "next.key"]]),
  ]

  private static let changing = ["rekey", "s.coffer", "--keys-only"]
  private static let resuming = ["rekey", "s.coffer", "--resume"]

  private static let rekeys: [Case] = [
    Case(
      name: "merge into an unfinished rekey",
      prepare: { sandbox in
        try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable")
        try sandbox.succeed("rekey", "c.coffer", "--keys-only")
      },
      fails: ["merge", "c.coffer", "s.coffer"], hint: "finish it with rekey --resume",
      cures: [["rekey", "c.coffer", "--resume"], ["merge", "c.coffer", "s.coffer"]]),
    Case(
      name: "promotion of an unfinished rekey", prepare: { try $0.succeed(changing) },
      fails: ["replica", "promote", "s.coffer", "--no-anchor"],
      hint: "finish it with rekey --resume, then promote the store",
      cures: [resuming, ["replica", "promote", "s.coffer", "--no-anchor"]]),
    Case(
      name: "old id in an unfinished rekey",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "--text", "y")
        try sandbox.succeed("rm", "s.coffer", "1")
        try sandbox.succeed(changing)
      },
      fails: ["put", "s.coffer", "--id", "1", "--text", "z"], hint: "finish it with rekey --resume",
      cures: [resuming, ["put", "s.coffer", "--id", "1", "--text", "z"]]),
    Case(
      name: "restart of ids in an unfinished rekey", prepare: { try $0.succeed(changing) },
      fails: ["collection", "clear", "s.coffer", "documents", "--force", "--restart-ids"],
      hint: "finish it with rekey --resume",
      cures: [resuming, ["collection", "clear", "s.coffer", "documents", "--force", "--restart-ids"]]),
    Case(
      name: "document left behind by a rekey",
      prepare: { sandbox in
        try sandbox.succeed("put", "s.coffer", "--text", "y")
        try damageAfterBackup(sandbox, "UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id = 1")
      },
      fails: ["rekey", "s.coffer"],
      hint: "remove them, finish with rekey --resume, and restore them from a backup with restore --allow-rekey",
      cures: [
        ["rm", "s.coffer", "1"], resuming, ["restore", "s.coffer", "b.coffer", "1", "--allow-rekey"],
        ["verify", "s.coffer"],
      ]),
  ]

  @Test(.slow, arguments: cases + words + damages + rekeys + replicas) func hintCuresError(_ example: Case) throws {
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

  @Test func keyChangeEndsOnceReadersAreClosed() throws {
    let changes = [
      (["rekey", "s.coffer"], "the store opens with the new key; go on with rekey --resume"),
      (["key", "add", "s.coffer", "--new-key-file", "next.key"], "close the readers and go on with rekey --resume"),
    ]
    for (change, hint) in changes {
      let sandbox = try Sandbox.withStore("--wal")
      try sandbox.succeed("put", "s.coffer", "--text", "x")
      let reader = try Database(sandbox.path("s.coffer"))
      try reader.execute("BEGIN; SELECT count(*) FROM coffer_record")
      let blocked = try sandbox.run(change + ["--wait", "0"])
      #expect(blocked.status == 11 && blocked.errors.contains("hint: \(hint)"), "\(blocked.errors)")
      try reader.close()
      try sandbox.succeed(Self.resuming)
    }
  }

  @Test(.slow) func resumedRekeyAllowsNextOne() throws {
    let sandbox = try Sandbox.withStore()
    for _ in 1..<64 { try sandbox.succeed(Self.changing) }
    let refused = try sandbox.run(Self.changing)
    #expect(refused.status == 23 && refused.errors.contains("hint: finish with rekey --resume"), "\(refused.errors)")
    try sandbox.succeed(Self.resuming)
    try sandbox.succeed(Self.changing)
  }

  @Test func finalPinMatchesFinishedRekey() throws {
    struct Rekey: Decodable { var pin: String, finalPin: String }
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    let report = try sandbox.succeed(Self.changing + ["--json"]).json(Rekey.self)
    let refused = try sandbox.run("ls", "s.coffer", "--pin", report.finalPin)
    let hint = "finish it with rekey --resume, or compare the pin that the store has until then"
    #expect(refused.status == 21 && refused.errors.contains("hint: \(hint)"), "\(refused.errors)")
    try sandbox.succeed("ls", "s.coffer", "--pin", report.pin)
    try sandbox.succeed(Self.resuming + ["--pin", report.finalPin])
    try sandbox.succeed("ls", "s.coffer", "--pin", report.finalPin)
  }

  @Test func variableAllowsTestKeys() throws {
    let sandbox = try Sandbox.withStore()
    for words in [["ls", "s.coffer"], ["create", "n.coffer"]] {
      let refused = try sandbox.run(words, without: ["DBTOOL_ALLOW_TEST_KEYS"])
      let hint = "hint: allow it only in tests (DBTOOL_ALLOW_TEST_KEYS=1)"
      #expect(refused.status == 16 && refused.errors.contains(hint), "\(refused.errors)")
      try sandbox.succeed(words)
    }
  }

  @Test func commandRunsUnderRaisedLimit() throws {
    let sandbox = try Sandbox.withStore()
    func run(limit: Int) throws -> Sandbox.Outcome {
      try sandbox.run(["ls", "s.coffer"], under: ["bash", "-c", #"ulimit -n \#(limit); exec "$@""#, "bash"])
    }
    #expect(try run(limit: 8).errors.contains("hint: raise the limit (ulimit -n)"))
    #expect(try run(limit: 64).status == 0)
  }

  @Test func baseOfTwoFilesIsGiven() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "first")
    for copy in ["older.coffer", "other.coffer"] { try sandbox.succeed("backup", "s.coffer", copy) }
    try sandbox.succeed("put", "other.coffer", "--text", "there")
    try sandbox.succeed("put", "s.coffer", "--text", "here")
    let refused = try sandbox.run("merge", "s.coffer", "other.coffer")
    let hint = "or give the file that both were copied from with --base"
    #expect(refused.status == 21 && refused.errors.contains(hint), "\(refused.errors)")
    try sandbox.succeed("merge", "s.coffer", "other.coffer", "--base", "older.coffer")
    #expect(try sandbox.succeed("search", "s.coffer", "there").text.contains("there"))
  }

  /// A second store is in its place, so the order of the words isn't the fault.
  @Test func hintOfOrderRequiresSingleStore() throws {
    let sandbox = try Sandbox.withStore()
    for verb in ["diff", "merge"] {
      let failed = try sandbox.run(verb, "missing.coffer", "s.coffer")
      #expect(failed.status == 10 && !failed.errors.contains("name the store first"), "\(failed.errors)")
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

  /// The check lists the damage that a backup refused to copy, and `verify` names the damaged documents.
  @Test func checksListDamage() throws {
    let sandbox = try Sandbox.withStore()
    for text in ["a", "b"] { try sandbox.succeed("put", "s.coffer", "--text", text) }
    try Self.damage(sandbox, "UPDATE coffer_record SET body = x'00' WHERE id = 1")
    let refused = try sandbox.run("backup", "s.coffer", "b.coffer")
    #expect(refused.errors.contains("hint: verify --keyless lists all that is damaged; keep older backups"))
    let listed = try sandbox.run("verify", "s.coffer", "--keyless")
    #expect(listed.status == 20 && listed.text.contains("document 1 is damaged"), "\(listed.errors)")
    #expect(listed.errors.contains("'copy --salvage' what can be read; 'verify' says which documents can be trusted"))
    let report = try sandbox.run("verify", "s.coffer").text
    #expect(report.contains("damaged 1.id:") && !report.contains("damaged 2.id:"), "\(report)")
    #expect(try sandbox.run(Self.salvaging).status == 3)
    #expect(try sandbox.succeed("show", "n.coffer", "2", "--key-file", "next.key").text == "b")
  }
}
