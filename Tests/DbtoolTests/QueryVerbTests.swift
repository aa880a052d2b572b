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

  @Test func theContractsExampleWorks() throws {
    let sandbox = try filled()
    let text = try sandbox.succeed("query", "s.coffer", "SELECT title, text ->> '$.price' FROM documents").text
    #expect(text == "pear\t2.5\napple\t10\n007\tx\n")
  }

  @Test func everyFormatNamesItsColumns() throws {
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

  @Test func parametersThatAreJSONNumbersAreNumbersAndOthersText() throws {
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

  @Test func noRowsAreNoError() throws {
    let result = try filled().run("query", "s.coffer", "SELECT * FROM documents WHERE 0")
    #expect(result.status == 0 && result.output.isEmpty)
  }

  @Test func mistakesInTheSQLAreUsageErrorsAndChangeNothing() throws {
    let sandbox = try filled()
    let before = try sandbox.read("s.coffer")
    for sql in ["SELEC", "DELETE FROM documents", "ATTACH 'other.db' AS o", "PRAGMA temp_store=1", "SELECT ?", ""] {
      let result = try sandbox.run("query", "s.coffer", sql)
      #expect(result.status == 64 && result.output.isEmpty, "\(sql)")
    }
    let result = try sandbox.run("query", "s.coffer", "PRAGMA user_version")
    #expect(
      result.talk
        == "dbtool: error: a query may only read: one SELECT over documents\nhint: no ATTACH, no PRAGMA, no change\n")
    #expect(try sandbox.read("s.coffer") == before)
    #expect(!sandbox.exists("other.db"))
  }

  @Test func aTextThatIsNoJSONIsAFailureOfTheQuery() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "geheim")
    let result = try sandbox.run("query", "s.coffer", "SELECT text ->> '$.a' FROM documents")
    #expect(result.status == 1)
    #expect(result.talk == "dbtool: error: the query failed: malformed JSON\n")
  }
}
