import CofferSQLite
import Foundation
import Testing

@Suite struct IndexVerbTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for (title, text) in [
      ("pear", #"{"price": 2.5, "day": "2026-01-02T10:00:00Z"}"#), ("apple", #"{"price": 12, "day": "soon"}"#),
      ("Öl und Pech", "sealed store, sealed page"), ("harbour", "a sealed harbour"),
    ] {
      try sandbox.succeed("put", "s.coffer", "-c", "notes", "--title", title, "--text", text)
    }
    return sandbox
  }

  @Test func declaresListsAndDropsIndexes() throws {
    let sandbox = try filled()
    #expect(try sandbox.succeed("index", "list", "s.coffer").text == "")
    let added = try sandbox.succeed(
      "index", "add", "s.coffer", "-c", "notes", "words", "titles", "price=$.price:number",
      "day=$.day:date")
    #expect(added.output.isEmpty, "\(added.output)")
    #expect(
      added.diagnostics
        == "dbtool: price: 2 of 4 documents have a value of that kind there\n"
        + "dbtool: day: 1 of 4 documents have a value of that kind there\n")
    #expect(
      try sandbox.succeed("index", "list", "s.coffer").lines == [
        "notes\twords\t\t\t", "notes\ttitles\t\t\t", "notes\tfield\tprice\t$.price\tnumber",
        "notes\tfield\tday\t$.day\tdate",
      ])
    #expect(
      try sandbox.succeed("query", "s.coffer", "SELECT title, price FROM notes WHERE price > ?", "3").text
        == "apple\t12\n")
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT title FROM notes WHERE day < '2027'").text == "pear\n")
    let plan = try sandbox.succeed("query", "s.coffer", "EXPLAIN QUERY PLAN SELECT title FROM notes WHERE price < 3")
      .text
    #expect(plan.contains("INDEX fields_"))
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "notes", "--format", "csv").lines.count == 5)
    #expect(try sandbox.succeed("index", "check", "s.coffer").text == "")
    let missing = try sandbox.run("index", "drop", "s.coffer", "-c", "notes", "price", "none")
    #expect(missing.status == 14 && missing.errors.contains("hint: there are: words, titles, price, day"))
    try sandbox.succeed("index", "drop", "s.coffer", "-c", "notes", "price", "titles")
    #expect(
      try sandbox.succeed("index", "list", "s.coffer").lines.map { $0.split(separator: "\t")[1] } == ["words", "field"])
    try sandbox.succeed("index", "drop", "s.coffer", "-c", "notes")
    #expect(try sandbox.succeed("index", "list", "s.coffer").text == "")
    #expect(try sandbox.succeed("verify", "s.coffer").status == 0)
  }

  @Test func indexesFieldsTogether() throws {
    let sandbox = try filled()
    let undeclared = try sandbox.run("index", "add", "s.coffer", "-c", "notes", "price,day")
    #expect(undeclared.status == 64 && undeclared.errors.contains("hint: declare it"), "\(undeclared.errors)")
    try sandbox.succeed(
      "index", "add", "s.coffer", "-c", "notes", "price,day", "price=$.price:number", "day=$.day:date")
    #expect(
      try sandbox.succeed("index", "list", "s.coffer").lines.last == "notes\tfields\tprice,day\t\t")
    let plan = try sandbox.succeed(
      "query", "s.coffer", "EXPLAIN QUERY PLAN SELECT text FROM notes WHERE price = 2.5 AND day < '2027' ORDER BY day")
    #expect(plan.text.contains("_0_1 (f0=? AND f1<?)"), "\(plan.text)")
    let needed = try sandbox.run("index", "drop", "s.coffer", "-c", "notes", "day")
    #expect(needed.status == 64, "\(needed.errors)")
    #expect(needed.errors.contains("hint: drop the index of several fields too"), "\(needed.errors)")
    try sandbox.succeed("index", "drop", "s.coffer", "-c", "notes", "day", "price,day")
    #expect(try sandbox.succeed("index", "list", "s.coffer").lines.count == 1)
  }

  @Test func ranksBestDocumentsFirst() throws {
    let sandbox = try filled()
    let without = try sandbox.run("search", "s.coffer", "-c", "notes", "--ranked", "sealed")
    #expect(without.status == 14 && without.errors.contains("index add"), "\(without.errors)")
    try sandbox.succeed("index", "add", "s.coffer", "-c", "notes", "words")
    let found = try sandbox.succeed("search", "s.coffer", "-c", "notes", "--ranked", "sealed NOT apple")
    #expect(found.lines.map { $0.split(separator: "\t")[1] } == ["3", "4"])
    // This document is newer than the index in the file.
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "sealed sealed sealed")
    let before = try sandbox.read("s.coffer")
    #expect(try sandbox.succeed("search", "s.coffer", "-c", "notes", "--ranked", "sealed", "--count").text == "3\n")
    #expect(try sandbox.read("s.coffer") == before)
    #expect(try sandbox.succeed("index", "update", "s.coffer", "--json").text == "{\"changed\":true}\n")
    #expect(try sandbox.read("s.coffer") != before)
    #expect(try sandbox.run("search", "s.coffer", "-c", "notes", "--ranked", "absent").status == 4)
    let wrong = try sandbox.run("search", "s.coffer", "-c", "notes", "--ranked", "sealed )")
    #expect(wrong.status == 64 && wrong.errors.contains("at character 8"), "\(wrong.errors)")
    let open = try sandbox.run("search", "s.coffer", "-c", "notes", "--ranked", "sealed OR")
    #expect(open.status == 64 && open.errors.contains("hint: end the last operator"), "\(open.errors)")
    #expect(open.errors.contains(", or use --words\n"), "\(open.errors)")
  }

  @Test func limitsWordsToMembers() throws {
    let sandbox = try filled()
    try sandbox.write("mails.ndjson", #"{"from":"sea@example.com","text":"don't see POL-358 in C++"}"#)
    try sandbox.succeed("import", "s.coffer", "mails.ndjson", "-c", "mails")
    try sandbox.succeed("index", "add", "s.coffer", "-c", "mails", "words", "--in", "$.text", "--in", "$.subject")
    #expect(
      try sandbox.succeed("index", "list", "s.coffer").lines.map { $0.split(separator: "\t") } == [
        ["mails", "words", "$.text,$.subject"]
      ])
    #expect(try sandbox.run("search", "s.coffer", "-c", "mails", "--ranked", "sea OR example").status == 4)
    for words in ["POL-358", "don't", "C++", "see C++"] {
      #expect(try sandbox.succeed("search", "s.coffer", "-c", "mails", "--words", words, "--count").text == "1\n")
    }
    #expect(try sandbox.run("search", "s.coffer", "-c", "mails", "--ranked", "POL-358").status == 64)
    #expect(try sandbox.run("search", "s.coffer", "-c", "mails", "--ranked", "--words", "see").status == 64)
    #expect(try sandbox.run("index", "add", "s.coffer", "-c", "mails", "titles", "--in", "$.text").status == 64)
    #expect(try sandbox.run("index", "add", "s.coffer", "-c", "mails", "words", "--in", "@title").status == 64)
    #expect(try sandbox.succeed("index", "check", "s.coffer").text == "")
  }

  /// The names of attachments are printed where nothing else matches.
  @Test func findsNamesOfAttachments() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "Harbour", "--text", "a day at sea")
    try sandbox.succeed("put", "s.coffer", "--title", "Sunset", "--text", "an evening")
    try sandbox.write("sunset.jpg", "first")
    try sandbox.succeed("index", "add", "s.coffer", "words")
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "sunset.jpg")
    let found = try sandbox.succeed("search", "s.coffer", "--words", "sunset").lines
    #expect(found.count == 2 && found.contains { $0.contains("Harbour") && $0.hasSuffix("sunset.jpg") }, "\(found)")
    #expect(found.contains { $0.contains("Sunset") && $0.hasSuffix("an evening") }, "\(found)")
    let json = try sandbox.succeed("search", "s.coffer", "--ranked", "names: sunset", "--format", "ndjson").lines
    #expect(
      json.count == 1 && json[0].contains(#""attachment_names":[{"number":1,"name":"sunset.jpg","places":[[0,6]]}]"#))
    #expect(json.allSatisfy { $0.contains(#""snippet":"a day at sea""#) }, "\(json)")
    try sandbox.succeed("attachment", "rm", "s.coffer", "1", "sunset.jpg")
    #expect(try sandbox.succeed("search", "s.coffer", "--words", "sunset", "--count").text == "1\n")
  }

  @Test func differencesExitWith20() throws {
    let sandbox = try filled()
    try sandbox.succeed("index", "add", "s.coffer", "-c", "notes", "words")
    try Database(sandbox.path("s.coffer")).execute(
      "UPDATE coffer_x_index_page SET sealed=zeroblob(length(sealed)) WHERE place=(SELECT max(place) FROM coffer_x_index_page)"
    )
    let checked = try sandbox.run("index", "check", "s.coffer")
    #expect(
      checked.status == 20 && checked.text.contains("page") && checked.errors.contains("differ"), "\(checked.errors)")
    #expect(try sandbox.run("verify", "s.coffer").status == 20)
    // A search rebuilds the index in memory, and an update rebuilds it in the file.
    #expect(try sandbox.succeed("search", "s.coffer", "-c", "notes", "--ranked", "sealed", "--count").text == "2\n")
    try sandbox.succeed("index", "update", "s.coffer")
    try sandbox.succeed("index", "check", "s.coffer")
    try sandbox.succeed("verify", "s.coffer")
  }

  @Test(arguments: [
    ["add"], ["add", "-c", "notes"], ["list", "-c", "notes"], ["update", "words"],
    ["add", "-c", "notes", "price"], ["add", "-c", "notes", "price=$.price:money"],
    ["add", "-c", "notes", "title=$.price:number"], ["add", "-c", "notes", "a=$..x:number"],
    ["add", "-c", "notes", "a=@created:number"], ["add", "-c", "notes", "words", "words:diacritics"],
    ["check", "--titles"], ["remake"], [],
  ])
  func usageErrorsLeaveStoreUnchanged(_ arguments: [String]) throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    let refused = try sandbox.run(["index"] + arguments + ["--store", "s.coffer"])
    #expect([64, 1].contains(refused.status) && !refused.errors.isEmpty, "\(refused.errors)")
    #expect(try sandbox.read("s.coffer") == before)
    #expect(try sandbox.run("index", "add", "s.coffer", "-c", "nothere", "words").status == 14)
  }
}
