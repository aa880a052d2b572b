import Foundation
import Testing

/// Tests imports into a store that already contains some of the documents.
@Suite struct SyncTests {
  private struct Report: Decodable {
    struct Sync: Decodable {
      struct Invalid: Decodable {
        let record: Int
        let reason: String
      }
      let created: [Int]
      let updated: [Int]
      let removed: [Int]
      let stale: [Int]
      let invalid: [Invalid]
    }
    let created: Int
    let updated: Int
    let unchanged: Int
    let removed: Int
    let skipped: Int
    let rejected: Int
    let sync: Sync?
  }

  private func books(_ sandbox: Sandbox) throws {
    try sandbox.write("books.csv", "key,title,text\na,A,one\nb,B,two\nc,C,three\n")
    try sandbox.succeed("import", "s.coffer", "books.csv", "-c", "books", "--sync")
  }

  @Test func countsAndListsEveryOutcome() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("new.csv", "key,title,text\na,A,one\nb,B,changed\nd,D,four\n")
    let result = try sandbox.succeed(
      "import", "s.coffer", "new.csv", "-c", "books", "--sync", "--delete", "--json")
    let report = try result.json(Report.self)
    #expect((report.created, report.updated, report.unchanged, report.removed) == (1, 1, 1, 1))
    #expect(report.sync?.created == [4] && report.sync?.updated == [2] && report.sync?.removed == [3])
    #expect(!result.text.contains("four"))
    let again = try sandbox.succeed("import", "s.coffer", "new.csv", "-c", "books", "--sync")
    #expect(again.lines.last == "0 documents created, 0 updated, 3 unchanged, 0 removed")
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test func equalInputLeavesFileUnchanged() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    let before = try sandbox.read("s.coffer")
    for option in [["--sync"], ["--sync", "--delete"], ["--on-conflict", "update"], ["--on-conflict", "skip"]] {
      try sandbox.succeed(["import", "s.coffer", "books.csv", "-c", "books"] + option)
      #expect(try sandbox.read("s.coffer") == before, "\(option)")
    }
  }

  @Test func removingStaleDocumentsRequiresOption() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("one.csv", "key,title,text\na,A,one\n")
    let kept = try sandbox.succeed("import", "s.coffer", "one.csv", "-c", "books", "--sync")
    #expect(
      kept.lines.last
        == "0 documents created, 0 updated, 1 unchanged, 0 removed, 2 kept that are not in the input (--delete removes them)"
    )
    let listed = try sandbox.succeed("import", "s.coffer", "one.csv", "-c", "books", "--sync", "--verbose")
    #expect(listed.lines.last == "kept: 2-3")
    let before = try sandbox.read("s.coffer")
    let refused = try sandbox.run("import", "s.coffer", "one.csv", "-c", "books", "--sync", "--delete")
    #expect(refused.status == 1)
    #expect(refused.diagnostics.contains("2 of 3 documents would be removed, more than the allowed 50 %"))
    #expect(refused.diagnostics.contains("such as --max-delete 100"))
    #expect(try sandbox.read("s.coffer") == before)
    let removed = try sandbox.succeed(
      "import", "s.coffer", "one.csv", "-c", "books", "--sync", "--delete", "--max-delete", "70%", "-v")
    #expect(removed.lines.last == "removed: 2-3")
  }

  /// A table without a text column changes the parts that it gives, as --on-conflict update does.
  @Test func partialRecordsKeepOtherParts() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("t.csv", "key,title,text,stars,state\na,A,one,1,open\nb,B,two,2,open\n")
    try sandbox.succeed("import", "s.coffer", "t.csv", "-c", "books")
    try sandbox.write("u.csv", "key,stars\na,5\n")
    try sandbox.succeed("import", "s.coffer", "u.csv", "-c", "books", "--sync")
    let rows = try sandbox.succeed("export", "s.coffer", "--columns", "key,title,text,stars,state").lines
    #expect(rows == ["key,title,text,stars,state", "a,A,one,5,open", "b,B,two,2,open"])
    let again = try sandbox.succeed("import", "s.coffer", "u.csv", "-c", "books", "--sync")
    #expect(again.lines.last?.contains("0 updated, 1 unchanged") == true)
  }

  @Test func repeatedKeyWithholdsRemoval() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("twice.csv", "key,title,text\na,A,one\nb,B,two\na,C,three\n")
    let result = try sandbox.run(
      "import", "s.coffer", "twice.csv", "-c", "books", "--sync", "--delete", "--on-error", "skip")
    #expect(result.status == 3 && result.text.contains("1 kept that are not in the records that could be read"))
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "books").lines.count == 3)
  }

  @Test func emptyInputKeepsDocuments() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("none.csv", "key,title,text\n")
    #expect(
      try sandbox.run("import", "s.coffer", "none.csv", "-c", "books", "--sync", "--delete").status == 1)
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "books").lines.count == 3)
  }

  @Test func unreadableRecordKeepsStaleDocuments() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("bad.csv", "key,title,text\na,A,one\nb,B,two,ragged\nc,C,three\n")
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("import", "s.coffer", "bad.csv", "-c", "books", "--sync", "--delete").status == 22)
    #expect(try sandbox.read("s.coffer") == before)
    let result = try sandbox.run(
      "import", "s.coffer", "bad.csv", "-c", "books", "--sync", "--delete", "--on-error", "skip", "--json")
    #expect(result.status == 3)
    let report = try result.json(Report.self)
    #expect(report.removed == 0 && report.rejected == 1 && report.sync?.stale == [2])
  }

  @Test func rejectsRecordWithoutKey() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "key,text\na,1\n,2\na,3\n")
    #expect(try sandbox.run("import", "s.coffer", "in.csv", "--sync").status == 22)
    #expect(try sandbox.run("import", "s.coffer", "in.csv", "--sync").diagnostics.contains("record 2: "))
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--sync", "--on-error", "skip", "--json")
    #expect(result.status == 3)
    #expect(try result.json(Report.self).sync?.invalid.map(\.record) == [2, 3])
    #expect(
      result.diagnostics.contains(
        "dbtool: rejected: in.csv: record 3: an earlier record of the input has the same key\n"))
  }

  @Test func dryRunReportsWithoutChanges() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("new.csv", "key,title,text\na,A,new\nd,D,four\n")
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.succeed(
      "import", "s.coffer", "new.csv", "-c", "books", "--sync", "--delete", "--max-delete", "100%", "--dry-run")
    #expect(result.text.contains("1 document would be created, id 4, 1 updated, 0 unchanged, 2 removed\n"))
    #expect(try sandbox.read("s.coffer") == before)
  }

  /// A synchronization changes no collection but the one that its records name, or that of -c.
  @Test func syncsCollectionThatRecordsName() throws {
    let sandbox = try Sandbox.withStore()
    for key in ["k", "k2"] { try sandbox.succeed("put", "s.coffer", "-c", "A", "--key-name", key, "--text", "in A") }
    func sync(_ records: String, _ options: String...) throws -> Sandbox.Outcome {
      try sandbox.run(["import", "s.coffer", "-", "--sync", "--delete"] + options, input: Array(records.utf8))
    }
    let (a, b) = (
      #"{"collection":"A","key":"k","text":"a"}"# + "\n", #"{"collection":"B","key":"k","text":"b"}"# + "\n"
    )
    #expect(try sync(b).status == 0)
    #expect(try sandbox.succeed("collection", "list", "s.coffer").lines == ["#1\tA\t2", "#2\tB\t1"])
    let before = try sandbox.read("s.coffer")
    let mixed = try sync(b + a)
    #expect(mixed.status == 64 && mixed.errors.contains("record 2 names the collection A"))
    #expect(try sync(#"{"key":"k","text":"x"}"# + "\n").status == 64)
    #expect(try sandbox.read("s.coffer") == before)
    #expect(try sync(a, "-c", "B").status == 0)
    #expect(try sandbox.succeed("show", "s.coffer", "-c", "B", "k").text == "a")
  }

  @Test func rejectsConflictingOptions() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "key,text\na,1\n")
    for options in [
      ["--sync", "--on-conflict", "skip"], ["--delete"], ["--sync", "--max-delete", "50%"],
      ["--sync", "--batch", "1"],
      ["--sync", "--delete", "--max-delete", "101%"], ["--sync", "--delete", "--max-delete", "x"],
      ["--rejects", "r", "--on-error", "replace"], ["in.csv", "--rejects", "r"], ["--rejects", "-"],
    ] {
      #expect(try sandbox.run(["import", "s.coffer", "in.csv"] + options).status == 64, "\(options)")
    }
  }

  // MARK: Conflicts

  @Test func handlesExistingKeysByOption() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("more.csv", "key,title,text\nc,C,changed\ne,E,five\n")
    #expect(try sandbox.run("import", "s.coffer", "more.csv", "-c", "books").status == 1)
    let skipped = try sandbox.succeed("import", "s.coffer", "more.csv", "-c", "books", "--on-conflict", "skip")
    #expect(skipped.lines.last == "1 document created, id 4, 1 there already")
    let updated = try sandbox.succeed(
      "import", "s.coffer", "more.csv", "-c", "books", "--on-conflict", "update", "--json")
    let report = try updated.json(Report.self)
    #expect((report.created, report.updated, report.unchanged) == (0, 1, 1) && report.sync == nil)
    #expect(try sandbox.succeed("show", "s.coffer", "3").text == "changed")
  }

  @Test func handlesExistingIDsByOption() throws {
    let sandbox = try Sandbox.withStore()
    try books(sandbox)
    try sandbox.write("ids.csv", "id,text\n2,second\n9,ninth\n")
    let options = ["import", "s.coffer", "ids.csv", "-c", "books", "--keep-ids", "--on-conflict"]
    #expect(try sandbox.run(options + ["fail"]).status == 1)
    #expect(
      try sandbox.run(options + ["skip", "--batch", "1"]).lines.last == "1 document created, id 9, 1 there already")
    #expect(try sandbox.run(options + ["update"]).status == 0)
    #expect(try sandbox.succeed("show", "s.coffer", "2", "9").text == "secondninth")
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "books", "-l").text.contains("\tb\t"))
  }

  // MARK: Rejects

  @Test func importsCorrectedRejects() throws {
    let sandbox = try Sandbox.withStore()
    let bad = "b,\"2\"x\r\nd,4,5\r\n"
    let input = utf16("key,text\r\na,1\r\n\(bad)c,3\r\n")
    try sandbox.write("in.csv", bytes: input)
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--rejects", "bad.csv")
    #expect(result.status == 3)
    #expect(result.lines.last == "2 documents created, ids 1 to 2, 2 rejected")
    let rejects = try sandbox.read("bad.csv")
    #expect(rejects == utf16("key,text\r\n\(bad)"))
    #expect(try sandbox.mode(of: "bad.csv") == 0o600)
    #expect(try sandbox.run("import", "s.coffer", "bad.csv", "--rejects", "worse.csv").status == 3)
    #expect(try sandbox.read("worse.csv") == rejects)
  }

  /// Encodes a text as little-endian UTF-16 with a mark.
  private func utf16(_ text: String) -> [UInt8] {
    [0xFF, 0xFE] + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
  }

  @Test func writesRejectedLinesUnchanged() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "in.ndjson", bytes: Array("{\"text\":\"a\"}\n{\"text\":\n{\"text\":\"b\"}\n".utf8) + [0x22, 0xFF, 0x22, 0x0A])
    let result = try sandbox.run(
      "import", "s.coffer", "in.ndjson", "--from", "ndjson", "--encoding", "utf-8", "--rejects", "r")
    #expect(result.status == 3)
    #expect(try sandbox.read("r") == Array("{\"text\":\n".utf8) + [0x22, 0xFF, 0x22, 0x0A])
  }

  @Test func writesRejectsFileOnlyIfNeeded() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "text\na\n")
    try sandbox.succeed("import", "s.coffer", "in.csv", "--rejects", "r")
    #expect(!sandbox.exists("r"))
  }

  @Test func rejectsFileKeepsExistingFiles() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "text\na,b\n")
    try sandbox.write("r", "precious")
    let before = try sandbox.read("s.coffer")
    for name in ["r", "in.csv", "s.coffer"] {
      #expect(try sandbox.run("import", "s.coffer", "in.csv", "--rejects", name).status == 1)
    }
    #expect(try sandbox.text(of: "r") == "precious")
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func failedImportLeavesNoRejectsFile() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x", "--key-name", "k")
    try sandbox.write("in.csv", "key,text\na,b,c\nk,taken\n")
    let names = try sandbox.names()
    #expect(try sandbox.run("import", "s.coffer", "in.csv", "--rejects", "r").status == 1)
    #expect(try sandbox.names() == names)
  }
}
