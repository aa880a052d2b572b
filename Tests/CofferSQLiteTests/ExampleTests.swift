import CofferSQLite
import Testing

@Suite struct ExampleTests {
  /// The example at the top of CofferSQLite.swift, in memory.
  @Test func theExampleOfTheModuleWorks() throws {
    let database = try Database(":memory:", mode: .create)
    try database.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, size REAL)")
    let id = try database.execute("INSERT INTO note(title, size) VALUES(?, ?)", "Plans", 2.5).insertedID
    let result = try database.query("SELECT title, size FROM note WHERE id = ?", id)
    #expect(result.rows.map { [$0["title"]!, $0[1]] } == [["Plans", 2.5]])

    try database.transaction {
      let insert = try database.statement("INSERT INTO note(title) VALUES(?)")
      for title in ["one", "two"] {
        try insert.bind(title, at: 1)
        try insert.run()
      }
    }
    #expect(
      try database.query("SELECT title FROM note ORDER BY id").rows.map { $0[0].text } == ["Plans", "one", "two"])
  }
}
