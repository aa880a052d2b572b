import CofferSQLite
import Foundation
import Testing

/// Runs the module page's example, which must equal the lines between the markers.
@Suite struct ExampleTests {
  private func print(_ items: Any...) { #expect(items.count == 3) }

  private func example(path: String) throws -> [String?] {
    // PAGE-EXAMPLE-BEGIN
    let database = try Database(path, mode: .create)
    try database.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, size REAL)")
    let done = try database.execute("INSERT INTO note(title, size) VALUES(?, ?)", "Plans", 2.5)
    let result = try database.query("SELECT title, size FROM note WHERE id = ?", done.insertedID)
    for row in result { print(try row["title", as: String.self], row[1].storageClass, result.declaredTypes) }

    try database.transaction {  // commits on return, rolls back on throw
      let insert = try database.statement("INSERT INTO note(title) VALUES(?)")
      for title in ["one", "two"] {
        try insert.bind(title, at: 1)
        try insert.run()
      }
    }
    // PAGE-EXAMPLE-END
    #expect(result.rows.map { [$0["title"]!, $0[1]] } == [["Plans", 2.5]])
    #expect(result.declaredTypes == ["TEXT", "REAL"])
    return try database.query("SELECT title FROM note ORDER BY id").rows.map { $0[0].text }
  }

  @Test func runsPageExample() throws {
    let scratch = try Scratch()
    #expect(try example(path: scratch.file("notes.db")) == ["Plans", "one", "two"])
  }

  private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/CofferSQLite/CofferSQLite.docc/CofferSQLite.md")

  @Test(.enabled(if: FileManager.default.fileExists(atPath: page.path), "the page is absent"))
  func pageShowsTestedExample() throws {
    func lines(_ text: String) -> [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    let source = lines(try String(contentsOfFile: #filePath, encoding: .utf8))
    let begin = try #require(source.firstIndex { $0.hasSuffix("// PAGE-EXAMPLE-BEGIN") })
    let end = try #require(source.firstIndex { $0.hasSuffix("// PAGE-EXAMPLE-END") })
    let expected = source[(begin + 1)..<end].map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }
    let page = lines(try String(contentsOf: Self.page, encoding: .utf8))
    let start = try #require(page.firstIndex(of: "```swift"))
    // The page also imports the module and uses a file name.
    let shown = page[(start + 1)...].prefix { $0 != "```" }.drop { $0.hasPrefix("import ") || $0.isEmpty }
    #expect(shown.map { String($0).replacing("\"notes.db\"", with: "path") } == expected.map(String.init))
  }
}
