import Testing

/// Parents, keys and columns that a repeated import changes.
struct ImportedPartsTests {
  private func parents(_ sandbox: Sandbox, _ store: String) throws -> [String] {
    try sandbox.succeed("query", store, "SELECT id || ':' || ifnull(parent, '') FROM documents ORDER BY id").lines
  }

  private func store(_ name: String, _ records: [String], _ sandbox: Sandbox) throws {
    let lines = records.map { $0 + "\n" }.joined()
    try sandbox.succeed("import", name, "-", "--create", "--keep-ids", "--from", "ndjson", input: lines)
  }

  private static let chain = [
    #"{"id":1,"text":"A"}"#, #"{"id":2,"text":"B","parent":1}"#, #"{"id":3,"text":"C","parent":2}"#,
  ]

  @Test(arguments: [["--sync"], ["--on-conflict", "update"]])
  func rejectsCycleOfParents(options: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", Self.chain, sandbox)
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(
      ["import", "s.coffer", "-", "--keep-ids", "--from", "ndjson"] + options,
      input: Array(#"{"id":1,"text":"A","parent":3}"#.utf8))
    #expect(result.status != 0 && result.errors.contains("can't be its parent"), "\(result.errors)")
    #expect(try sandbox.read("s.coffer") == before)
  }

  /// The new parent of a document is a descendant until it gets its own new parent.
  @Test(arguments: ["ndjson", "csv", "tsv", "db", "json"])
  func movesRootBelowFormerDescendant(format: String) throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", Self.chain, sandbox)
    try store(
      "new.coffer",
      [#"{"id":1,"text":"A","parent":2}"#, #"{"id":2,"text":"B","parent":3}"#, #"{"id":3,"text":"C"}"#], sandbox)
    try sandbox.succeed("export", "new.coffer", "-o", "out.\(format)")
    try sandbox.succeed("import", "s.coffer", "out.\(format)", "--keep-ids", "--sync", "--delete")
    #expect(try parents(sandbox, "s.coffer") == ["1:2", "2:3", "3:"])
  }

  @Test(arguments: ["ndjson", "csv", "tsv", "db", "json"])
  func removesParents(format: String) throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", Self.chain, sandbox)
    try store("new.coffer", Self.chain.map { $0.replacing(/,"parent":\d/, with: "") }, sandbox)
    try sandbox.succeed("export", "new.coffer", "-o", "out.\(format)")
    try sandbox.succeed("import", "s.coffer", "out.\(format)", "--keep-ids", "--sync", "--delete")
    #expect(try parents(sandbox, "s.coffer") == ["1:", "2:", "3:"])
  }

  @Test func tableOfChosenColumnsKeepsParents() throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", Self.chain, sandbox)
    try sandbox.succeed("export", "s.coffer", "--columns", "id,title,text,key", "-o", "out.csv")
    try sandbox.succeed("import", "s.coffer", "out.csv", "--keep-ids", "--sync")
    #expect(try parents(sandbox, "s.coffer") == ["1:", "2:1", "3:2"])
  }

  @Test(arguments: ["csv", "tsv"])
  func tableKeepsAttributesNamedLikeParts(format: String) throws {
    let sandbox = try Sandbox.withStore()
    let attributes = #"{"created":"a","id":"b","json":"settings","modified":"c","parent":"6","title":"d"}"#
    for (name, value) in [("all", attributes), ("json", #"{"json":"x"}"#), ("parent", #"{"parent":"Smith"}"#)] {
      try store("\(name).coffer", [#"{"id":5,"text":"abc","title":"t","attributes":\#(value)}"#], sandbox)
      try sandbox.succeed("export", "\(name).coffer", "-o", "out.\(format)", "--force")
      try sandbox.succeed("import", "\(name)2.coffer", "out.\(format)", "--create", "--keep-ids")
      let kept = try sandbox.succeed("query", "\(name)2.coffer", "SELECT attributes, parent FROM documents").lines
      #expect(kept == [value + "\t"], "\(name)")
    }
  }

  @Test func rejectsRecordsOfOneDocument() throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", [#"{"id":7,"key":"a","text":"old"}"#], sandbox)
    let before = try sandbox.read("s.coffer")
    let records = #"{"id":43,"key":"a","text":"first"}"# + "\n" + #"{"id":7,"key":"b","text":"second"}"# + "\n"
    let result = try sandbox.run(
      "import", "s.coffer", "-", "--keep-ids", "--on-conflict", "update", "--from", "ndjson", input: records)
    #expect(result.status != 0 && result.errors.contains("record 2: document 7 has the key of document 43"))
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed(
      "import", "s.coffer", "-", "--keep-ids", "--on-conflict", "skip", "--from", "ndjson", input: records)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func rejectsParentInOtherCollection() throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", Self.chain, sandbox)
    try sandbox.succeed("put", "s.coffer", "--text", "elsewhere", "-c", "other")
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(
      "import", "s.coffer", "-", "--keep-ids", "--on-conflict", "update", "--from", "ndjson",
      input: #"{"id":2,"text":"B","parent":4}"#)
    #expect(result.status != 0)
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func signedNumberIsKey() throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", [#"{"id":2,"text":"B"}"#, #"{"id":5,"key":"+2","text":"phone"}"#], sandbox)
    #expect(try sandbox.succeed("show", "s.coffer", "+2").text.contains("phone"))
    #expect(try sandbox.succeed("show", "s.coffer", "2").text.contains("B"))
    #expect(try sandbox.run("show", "s.coffer", "+1-+2").status != 0)
  }

  @Test func queryShowsKeyForItsHolderOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "p", "--key-name", "k1", "-c", "n")
    try sandbox.succeed("copy", "s.coffer", "b.coffer", "--editable")
    try sandbox.succeed("put", "b.coffer", "--text", "B", "--key-name", "k3", "-c", "n")
    try sandbox.succeed("put", "s.coffer", "--text", "A", "--key-name", "k3", "-c", "n")
    try sandbox.succeed("merge", "s.coffer", "b.coffer")
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT id FROM n WHERE key = 'k3'").lines.count == 1)
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT count(key) FROM n").lines == ["2"])
  }

  @Test func replacesOneOfSeveralAttachmentsByNumberOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "t")
    try sandbox.succeed("copy", "s.coffer", "b.coffer", "--editable")
    for store in ["s.coffer", "b.coffer"] {
      try sandbox.write("f.txt", store)
      try sandbox.succeed("attachment", "add", store, "1", "f.txt")
    }
    try sandbox.succeed("merge", "s.coffer", "b.coffer")
    let result = try sandbox.run("attachment", "add", "s.coffer", "1", "f.txt", "--replace")
    #expect(result.status == 64 && result.errors.contains("2 attachments of document 1 have the name f.txt: #1, #2"))
    try sandbox.succeed("attachment", "rm", "s.coffer", "1", "#2")
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "f.txt", "--replace")
  }

  @Test func rekeySucceedsBesideFirstIndex() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "t")
    let command = "\(Sandbox.dbtool) index add s.coffer substrings -k primary.key -q >&2; cat next.key"
    try sandbox.succeed("rekey", "s.coffer", "--new-key-command", command)
    #expect(try sandbox.succeed("ls", "s.coffer", "-k", "next.key").lines.count == 1)
  }

  /// As a shell gives it for `--title="$UNSET"`.
  @Test func emptyValueOfOptionDoesNotTakeNextWord() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("1.txt", "one")
    try sandbox.succeed("put", "s.coffer", "--title=", "1.txt")
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT text FROM documents").lines == ["one"])
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.run("import", "s.coffer", "--collection=", "1.txt").status != 0)
    #expect(try sandbox.run("export", "s.coffer", "--output=", "1").status != 0)
    #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("1"))
    try sandbox.succeed("put", "s.coffer", "--text", "two", "--title", "--x=y")
  }

  @Test func mappedCollectionBecomesAttributeInNamedCollection() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "text,Folder\na,F\n")
    try sandbox.write("in.ndjson", #"{"text":"b","Folder":"F"}"#)
    for input in ["in.csv", "in.ndjson"] {
      try sandbox.succeed("import", "s.coffer", input, "--map", "collection=Folder", "-c", "notes")
    }
    let query = "SELECT collection || ':' || (attributes ->> '$.Folder') FROM documents"
    #expect(try sandbox.succeed("query", "s.coffer", query).lines == ["notes:F", "notes:F"])
  }

  @Test func syncFollowsKeysThatChangeDocuments() throws {
    let sandbox = try Sandbox.withStore()
    let keys = "SELECT id || ':' || ifnull(key, '') FROM documents ORDER BY id"
    func sync(_ records: [String], _ options: String...) throws -> Int32 {
      try sandbox.run(
        ["import", "s.coffer", "-", "--keep-ids", "--sync", "--from", "ndjson"] + options,
        input: Array(records.map { $0 + "\n" }.joined().utf8)
      ).status
    }
    try store("s.coffer", [#"{"id":1,"key":"a","text":"1"}"#, #"{"id":2,"key":"b","text":"2"}"#], sandbox)
    #expect(try sync([#"{"id":1,"key":"b","text":"1"}"#, #"{"id":2,"key":"a","text":"2"}"#]) == 0)
    #expect(try sandbox.succeed("query", "s.coffer", keys).lines == ["1:b", "2:a"])
    let before = try sandbox.read("s.coffer")
    // Document 1 stays, so its key is taken.
    #expect(try sync([#"{"id":2,"key":"a","text":"2"}"#, #"{"id":3,"key":"b","text":"3"}"#]) != 0)
    #expect(try sandbox.read("s.coffer") == before)
    #expect(try sync([#"{"id":2,"key":"a","text":"2"}"#, #"{"id":3,"key":"b","text":"3"}"#], "--delete") == 0)
    #expect(try sandbox.succeed("query", "s.coffer", keys).lines == ["2:a", "3:b"])
  }

  /// A parent can come in a later transaction than its child, or be missing.
  @Test func keepsParentsOfLaterBatches() throws {
    let sandbox = try Sandbox.withStore()
    let lines = [
      #"{"id":2,"text":"B","parent":1}"#, #"{"id":3,"text":"C","parent":9}"#, #"{"id":1,"text":"A"}"#,
    ]
    let result = try sandbox.run(
      ["import", "s.coffer", "-", "--keep-ids", "--from", "ndjson", "--batch", "1"],
      input: Array(lines.map { $0 + "\n" }.joined().utf8))
    #expect(result.status == 0 && result.errors.contains("1 document without the parent"), "\(result.errors)")
    #expect(try parents(sandbox, "s.coffer") == ["1:", "2:1", "3:"])
    // The batches before a failure stay, with their parents.
    let failed = try sandbox.run(
      ["import", "s.coffer", "-", "--keep-ids", "--from", "ndjson", "--batch", "1"],
      input: Array((#"{"id":12,"text":"","parent":11}"# + "\n" + #"{"id":11,"text":""}"# + "\n" + lines[2]).utf8))
    #expect(failed.status != 0)
    #expect(try parents(sandbox, "s.coffer") == ["1:", "2:1", "3:", "11:", "12:11"])
    let report = try sandbox.run(
      ["import", "s.coffer", "-", "--keep-ids", "--from", "ndjson", "--json"],
      input: Array(#"{"id":5,"text":"E","parent":8}"#.utf8))
    #expect(report.text.contains(#""parents_dropped":1"#), "\(report.text)")
  }

  /// Names that differ only in how an accent is composed are different collections.
  @Test(arguments: ["ndjson", "json", "db"])
  func keepsCollectionsThatDifferInComposition(format: String) throws {
    let sandbox = try Sandbox.withStore()
    for (name, text) in [("Caf\u{E9}", "composed"), ("Cafe\u{301}", "decomposed")] {
      try sandbox.succeed("put", "s.coffer", "-c", name, "--key-name", "k", "--text", text)
    }
    try sandbox.succeed("export", "s.coffer", "-o", "out.\(format)")
    try sandbox.succeed("export", "s.coffer", "-c", "Caf\u{E9}", "-o", "one.\(format)")
    if format != "db" {
      try sandbox.succeed("import", "new.coffer", "out.\(format)", "--create")
      for store in ["s.coffer", "new.coffer"] {
        #expect(try sandbox.succeed("show", store, "-c", "Cafe\u{301}", "k").text == "decomposed")
        #expect(try sandbox.succeed("show", store, "-c", "Caf\u{E9}", "k").text == "composed")
      }
    }
  }

  @Test func repeatedCollectionIsExportedOnce() throws {
    let sandbox = try Sandbox.withStore()
    try store("s.coffer", Self.chain, sandbox)
    #expect(try sandbox.succeed("export", "s.coffer", "-c", "documents", "-c", "documents").lines.count == 3)
  }
}
