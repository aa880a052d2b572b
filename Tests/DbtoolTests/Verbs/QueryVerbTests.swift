import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@Suite struct QueryVerbTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    for (title, price) in [("pear", "2.5"), ("apple", "10"), ("007", "\"x\"")] {
      try sandbox.succeed("put", "s.coffer", "--title", title, "--text", "{\"price\":\(price)}")
    }
    return sandbox
  }

  @Test func runsDocumentedExample() throws {
    let sandbox = try filled()
    let text = try sandbox.succeed("query", "s.coffer", "SELECT title, text ->> '$.price' FROM documents").text
    #expect(text == "pear\t2.5\napple\t10\n007\tx\n")
  }

  @Test func everyFormatPrintsColumnNames() throws {
    let sandbox = try filled()
    let sql = "SELECT id, title AS \"na,me\", NULL AS none, x'00ff' AS bytes, id FROM documents WHERE id < 3"
    #expect(
      try sandbox.succeed("query", "s.coffer", sql, "--format", "ndjson").lines == [
        #"{"id":1,"na,me":"pear","none":null,"bytes":{"$base64":"AP8="},"id:1":1}"#,
        #"{"id":2,"na,me":"apple","none":null,"bytes":{"$base64":"AP8="},"id:1":2}"#,
      ])
    #expect(try sandbox.succeed("query", "s.coffer", sql, "--format", "csv").lines[0] == #"id,"na,me",none,bytes,id:1"#)
    #expect(
      try sandbox.succeed("query", "s.coffer", "SELECT id FROM documents", "--format", "tsv").text == "id\n1\n2\n3\n")
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT id FROM documents", "--format", "table").lines[0] == "ID")
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT 1 WHERE 0", "--json").text == "[]\n")
  }

  @Test func bindsJSONNumbersAsNumbers() throws {
    let sandbox = try filled()
    let given = ["5", "-7", "2.50", "1e3", "007", "5x", "", "9223372036854775808", "0x10", "+1", "-"]
    let sql = "SELECT " + given.map { _ in "typeof(?)" }.joined(separator: "||' '||")
    #expect(
      try sandbox.run(["query", "s.coffer", sql, "--"] + given).text
        == "integer integer real real text text text real text text text\n")
    let titles = try sandbox.succeed("query", "s.coffer", "SELECT id FROM documents WHERE title = ?", "007").text
    #expect(titles == "3\n")
    let cheap = "SELECT title FROM documents WHERE text ->> '$.price' < ?"
    #expect(try sandbox.succeed("query", "s.coffer", cheap, "3").text == "pear\n")
  }

  /// An endless query delivers rows to its reader in every format.
  @Test(.slow, arguments: ["table", "json", "ndjson", "csv", "tsv"])
  func printsRowsWhileReading(format: String) throws {
    let sandbox = try filled()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' FROM n"
    let child = try Child(
      ["query", "s.coffer", endless, "--format", format], in: sandbox,
      streams: .descriptors(input: nil, output: ends[1], errors: nil))
    close(ends[1])
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var total = 0
    while total < 4 << 20, case let count = read(ends[0], &bytes, bytes.count), count > 0 { total += count }
    close(ends[0])
    #expect(total >= 4 << 20)
    #expect(child.wait() == 1)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func signalStopsEndlessQuery(signal: Int32) throws {
    let sandbox = try filled()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    // The query returns one row to show that it's running, and then runs forever without rows.
    let endless = """
      SELECT zeroblob(100000) UNION ALL
      SELECT * FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n)
      """
    let child = try Child(
      ["query", "s.coffer", endless, "--format", "csv"], in: sandbox,
      streams: .descriptors(input: nil, output: ends[1], errors: nil))
    close(ends[1])
    var byte: UInt8 = 0
    #expect(read(ends[0], &byte, 1) == 1)
    child.signal(signal)
    #expect(child.wait() == 130)
    close(ends[0])
    #expect(try sandbox.run("verify", "s.coffer").status == 0)
  }

  @Test func printsRowsAfterWidthSample() throws {
    let sandbox = try filled()
    let result = try sandbox.run(
      "query", "s.coffer",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1003) SELECT i * 10 AS a, i AS b FROM n",
      "--format", "table")
    let lines = result.text.split(separator: "\n")
    #expect(lines.count == 1004 && lines[0] == "A      B" && lines[1] == "10     1")
    #expect(lines[1000] == "10000  1000" && lines[1003] == "10030  1003")
  }

  @Test func acceptsEmptyResult() throws {
    let result = try filled().run("query", "s.coffer", "SELECT * FROM documents WHERE 0")
    #expect(result.status == 0 && result.output.isEmpty)
  }

  @Test func reportsSQLMistakesAsUsageErrors() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    for sql in ["SELEC", "DELETE FROM documents", "ATTACH 'other.db' AS o", "PRAGMA temp_store=1", "SELECT ?", ""] {
      let result = try sandbox.run("query", "s.coffer", sql)
      #expect(result.status == 64 && result.output.isEmpty, "\(sql)")
    }
    let result = try sandbox.run("query", "s.coffer", "PRAGMA user_version")
    #expect(
      result.diagnostics
        == "dbtool: error: a query may only read: one SELECT over documents\nhint: no ATTACH, no PRAGMA, no change\n")
    #expect(try sandbox.read("s.coffer") == before)
    #expect(!sandbox.exists("other.db"))
  }

  @Test func errorsIncludeDocumentOrTable() throws {
    let sandbox = try filled()
    try sandbox.succeed("put", "s.coffer", "--text", "geheim")
    let sql = "SELECT text ->> '$.price' FROM documents"
    let result = try sandbox.run("query", "s.coffer", sql)
    #expect(result.status == 1)
    #expect(
      result.diagnostics == """
        dbtool: error: the query failed at document 4: malformed JSON
        hint: read the column json in place of text: it is NULL for a text that is no JSON

        """)
    let json = try sandbox.succeed("query", "s.coffer", "SELECT json ->> '$.price' FROM documents").text
    #expect(json == "2.5\n10\nx\n\n")
    let table = try sandbox.run("query", "s.coffer", "SELECT 1 FROM absent")
    #expect(table.status == 64 && table.diagnostics.contains("no such table: absent"))
  }

  @Test func answersStayWithIndexedField() throws {
    let sandbox = try Sandbox.withStore()
    let records = """
      {"title":"2024","key":"77","text":"a"}
      {"title":"2025","key":"78","text":"b","attributes":{"n":5}}

      """
    try sandbox.succeed("import", "s.coffer", "-", "-c", "n", "--from", "ndjson", input: records)
    let conditions = [
      ["title = ?", "2024"], ["title > ?", "2024"], ["key = ?", "77"], ["key >= '78'"], ["size >= '1'"], ["text = 1"],
      ["attributes > 7"], ["created > 3000"], ["parent BETWEEN '1' AND '5'"], ["key = x'3737'"],
    ]
    func answers() throws -> [String] {
      try conditions.map { condition in
        try sandbox.succeed(
          ["query", "s.coffer", "SELECT count(*) FROM n WHERE \(condition[0])"] + condition.dropFirst()
        )
        .text
      }
    }
    let before = try answers()
    try sandbox.succeed("index", "add", "s.coffer", "-c", "n", "t=@title:text")
    #expect(try answers() == before)
  }
}
