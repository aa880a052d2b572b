import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

extension DocumentCollection {
  fileprivate static let notes: Self = "notes"
}

/// The README's Swift example. A ```swift block in the README repeats the lines between the markers word for word.
struct ReadmeExampleTests {
  private func example(url: URL, keyURL: URL, photoURL: URL) throws -> (
    titles: [String?], text: String, tags: [String]?
  ) {
    // README-EXAMPLE-BEGIN
    let store = try DocumentStore.open(at: url, key: .keyFile(keyURL), creatingIfMissing: true)

    try store.write { tx in  // commits on return, rolls back on throw
      let id = try tx.insert(Document(title: "Plans", text: "Sail at dawn."), into: .notes, at: .top)
      try tx.update(id) { $0.text += "\n" }
      try tx.attach(.file(photoURL), to: id)  // sealed in chunks, streamed
    }

    let page = try store.read { try $0.headers(in: .notes, limit: 50) }  // titles, dates, sizes: no text is opened
    let text = try store.read { try $0.text(of: page[0].id) }  // one text

    struct Note: Codable, Sendable { var title: String; var tags: [String] }
    try store.write { tx in
      let id = try tx.put(Note(title: "Crew", tags: ["sea"]), into: .notes, key: "n-42").id  // any Codable type
      try tx.insert(contentsOf: [Note(title: "Log", tags: [])], into: .notes)  // any sequence, in bulk
      try tx.move(id, to: .bottom)
    }
    let crew = try store.read { try $0.value(Note.self, forKey: "n-42", in: .notes) }
    let found = try store.read { try $0.search(for: .text("DAWN", ignoring: .case), in: .notes) }  // in parallel
    let sea = try store.read {  // read-only SQL
      try $0.query("SELECT title FROM documents WHERE json ->> '$.tags[0]' = ?", "sea")
    }
    // README-EXAMPLE-END
    #expect(found.map(\.header.id) == page.filter { $0.title == "Plans" }.map(\.id))
    #expect(sea.map { $0["title"] } == ["Crew"])
    return (page.map(\.title), text, crew?.tags)
  }

  @Test func runsReadmeExample() throws {
    let place = try Workplace()
    let key = place.file("real.key")
    _ = try StoreKey.generate(at: key)
    let photo = place.file("photo.png")
    try Data([1, 2, 3]).write(to: photo)
    for count in 1...2 {
      let found = try example(url: place.file("notes.coffer"), keyURL: key, photoURL: photo)
      #expect(found.titles == Array(repeating: "Plans", count: count) + (count == 1 ? [] : ["Log", "Crew"]))
      #expect(found.tags == ["sea"])
      #expect(found.text == "Sail at dawn.\n")
    }
  }

  private static let readme = PublishedKeys.folder.deletingLastPathComponent().appending(path: "README.md")

  @Test(.enabled(if: FileManager.default.fileExists(atPath: readme.path), "README.md is absent"))
  func readmeMatchesTestedExample() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(source.firstIndex { $0.hasSuffix("// README-EXAMPLE-BEGIN") })
    let end = try #require(source.firstIndex { $0.hasSuffix("// README-EXAMPLE-END") })
    let expected = source[(begin + 1)..<end].map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }
    let readme = try String(contentsOf: Self.readme, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    // The block in the README can begin with an import and a blank line.
    let blocks = readme.indices.filter { readme[$0] == "```swift" }.map { start in
      Array(readme[(start + 1)...].prefix { $0 != "```" }.drop { $0.isEmpty || $0 == "import Coffer" })
    }
    #expect(blocks.contains(Array(expected)), "copy the lines between the markers into README.md")
  }
}
