import Coffer
import Foundation
import Testing

/// Runs `sync`, the sync client in `Examples`, as a process.
@Suite struct SyncTests {
  private func client() throws -> Workshop {
    let workshop = try Workshop("sync")
    try workshop.makeKey("my.key")
    try workshop.write(
      "feed/1.json",
      """
      [{"id": "tables-a1", "title": "Tides", "body": "High at noon"},
       {"id": "a2", "title": "Winds", "body": "West"}]
      """)
    try workshop.write("feed/2.json", #"[{"id": "a3", "title": "Moon", "body": "Full"}]"#)
    try workshop.write("feed/feed.json", #"{"revision": "r1", "files": ["1.json", "2.json"]}"#)
    return workshop
  }

  private func update(_ workshop: Workshop, _ words: String...) throws -> Workshop.Outcome {
    try workshop.run(["feed", "s.coffer", "--key-file", "my.key"] + words, input: Data())
  }

  /// Returns the articles of the store as read by an app.
  private func bodies(_ workshop: Workshop) throws -> [String] {
    struct Article: Codable {
      var body: String
    }
    let store = try DocumentStore.open(at: workshop.url("s.coffer"), key: .keyFile(workshop.url("my.key")))
    return try store.read { try $0.values(Article.self, in: "articles").map(\.body) }
  }

  @Test func updatesCollectionFromFeed() throws {
    let workshop = try client()
    let first = try update(workshop)
    #expect(first.status == 0)
    #expect(first.text == "revision r1: added: 3, changed: 0, removed: 0, as before: 0\n+ Tides\n+ Winds\n+ Moon\n")
    try workshop.write(
      "feed/3.json",
      """
      [{"id": "a4", "title": "Sun", "body": "Up"}, {"id": "tables-a1", "title": "Tides", "body": "High at one"},
       {"id": "a2", "title": "Winds", "body": "West"}]
      """)
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": ["3.json"]}"#)
    let second = try update(workshop)
    #expect(second.text == "revision r2: added: 1, changed: 1, removed: 1, as before: 1\n+ Sun\n~ Tides\n")
    #expect(try Set(bodies(workshop)) == ["High at one", "West", "Up"])
  }

  @Test func skipsKnownRevision() throws {
    let workshop = try client()
    #expect(try update(workshop).status == 0)
    let before = try workshop.read("s.coffer")
    // The revision is known, so the files aren't read.
    try workshop.write("feed/1.json", "no JSON")
    #expect(try update(workshop).text == "revision r1: nothing new\n")
    #expect(try workshop.read("s.coffer") == before)
  }

  @Test func encryptsStoredFeed() throws {
    let workshop = try client()
    #expect(try update(workshop).status == 0)
    for text in ["High at noon", "Tides", "tables-a1", "revision"] {
      #expect(try !workshop.holds("s.coffer", text))
    }
  }

  @Test(arguments: [
    (
      "[{\"id\": \"a9\", \"title\": \"Tides\", \"body\": \"High\"},\n]",
      "2.json: no value begins like this (record 2, line 2, column 1, byte 49)"
    ),
    (
      "[{\"id\": \"a9\", \"title\": \"Tides\", \"body\"",
      "2.json: a colon is missing: the JSON ends here (record 1, line 1, column 39, byte 38)"
    ),
    (#"[{"id": "a9", "title": "Tides"}]"#, #"2.json, record 1: its "body" is missing"#),
    (#"[{"id": 9, "title": "Tides", "body": ""}]"#, #"2.json, record 1: its "id" must be a string"#),
    (#"[{"id": "a9", "title": {}, "body": ""}]"#, #"2.json, record 1: its "title" must be a string"#),
    (#"[{"id": "tables-a1", "title": "Tides", "body": "Low"}]"#, "an earlier record of the input has the same key"),
  ])
  func invalidInputLeavesStoreUnchanged(page: String, sentence: String) throws {
    let workshop = try client()
    #expect(try update(workshop).status == 0)
    let before = try workshop.read("s.coffer")
    try workshop.write("feed/2.json", page)
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": ["1.json", "2.json"]}"#)
    let result = try update(workshop)
    #expect(result.status == 1 && result.text.isEmpty)
    #expect(result.errors.contains(sentence), "\(result.errors)")
    #expect(!result.errors.contains("Tides") && !result.errors.contains("Low"))
    #expect(try workshop.read("s.coffer") == before)
  }

  @Test func reportsInvalidManifest() throws {
    let workshop = try client()
    try workshop.write("feed/feed.json", "{\"revision\": \"r2\",\n \"files\": [\"1.json\",}")
    #expect(try update(workshop).errors.contains("feed.json: no value begins like this (record 1, line 2, column 21"))
    try workshop.write("feed/feed.json", #"{"revision": "r2"}"#)
    #expect(try update(workshop).errors == "sync: feed.json: its \"files\" is missing\n")
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": "1.json"}"#)
    #expect(try update(workshop).errors == "sync: feed.json: its \"files\" must be an array\n")
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": ["../secret.json"]}"#)
    #expect(try update(workshop).errors == "sync: feed.json: a file outside of the feed's folder\n")
  }

  @Test func rejectsFeedMissingMostRecords() throws {
    let workshop = try client()
    #expect(try update(workshop).status == 0)
    let before = try workshop.read("s.coffer")
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": ["2.json"]}"#)
    let refused = try update(workshop)
    #expect(refused.status == 1 && refused.errors.contains("2 of 3 documents would be removed"))
    #expect(try workshop.read("s.coffer") == before)
    #expect(try update(workshop, "--max-removed", "100").text.contains("removed: 2, as before: 1"))
  }

  @Test func rejectsWrongKey() throws {
    let workshop = try client()
    #expect(try update(workshop).status == 0)
    let before = try workshop.read("s.coffer")
    try workshop.makeKey("other.key")
    let result = try workshop.run("feed", "s.coffer", "--key-file", "other.key")
    #expect(result.status == 1)
    #expect(result.errors == "sync: no slot opens with this key; dbtool info lists the slots\n")
    #expect(try workshop.read("s.coffer") == before)
  }

  @Test func recoversFromKilledUpdate() throws {
    let workshop = try client()
    #expect(try update(workshop).status == 0)
    let before = try workshop.read("s.coffer")
    // The second file is a pipe. The program is killed while it reads the pipe within the transaction.
    try workshop.write("feed/1.json", #"[{"id": "tables-a1", "title": "Tides", "body": "Low"}]"#)
    try FileManager.default.removeItem(at: workshop.url("feed/2.json"))
    try #require(mkfifo(workshop.url("feed/2.json").path, 0o600) == 0)
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": ["1.json", "2.json"]}"#)
    let running = try workshop.start("feed", "s.coffer", "--key-file", "my.key", "--max-removed", "100")
    let page = try FileHandle(forWritingTo: workshop.url("feed/2.json"))
    page.write(Data("[".utf8))
    running.end(by: SIGKILL)
    try page.close()
    #expect(try bodies(workshop) == ["High at noon", "West", "Full"])
    #expect(try workshop.read("s.coffer") == before)

    try workshop.write("feed/2.json", #"[{"id": "a3", "title": "Moon", "body": "New"}]"#)
    #expect(
      try update(workshop, "--max-removed", "100").text.hasPrefix("revision r2: added: 0, changed: 2, removed: 1"))
    #expect(try bodies(workshop) == ["Low", "New"])
  }

  @Test func followsNewRevisions() throws {
    let workshop = try client()
    let running = try workshop.start("feed", "s.coffer", "--key-file", "my.key", "--follow")
    defer { running.end(by: SIGKILL) }
    for line in ["revision r1: added: 3, changed: 0, removed: 0, as before: 0", "+ Tides", "+ Winds", "+ Moon"] {
      #expect(running.line() == line)
    }
    try workshop.write("feed/2.json", "[")
    try workshop.write("feed/feed.json", #"{"revision": "r2", "files": ["1.json", "2.json"]}"#)
    try workshop.write("feed/3.json", #"[{"id": "a3", "title": "Moon", "body": "New"}]"#)
    try workshop.write("feed/feed.json", #"{"revision": "r3", "files": ["1.json", "3.json"]}"#)
    #expect(running.line() == "revision r3: added: 0, changed: 1, removed: 0, as before: 2")
    #expect(running.line() == "~ Moon")
  }
}
