import Coffer
import Foundation
import Logging
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Messages that a store writes to the caller's logger.
struct LoggingTests {
  private final class Lines: Sendable {
    private let kept = Mutex<[String]>([])

    func add(_ line: String) { kept.withLock { $0.append(line) } }
    var all: [String] { kept.withLock { $0 } }
  }

  private struct Handler: LogHandler {
    let lines: Lines
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.add("\(event.message)")
    }
  }

  private func store(_ level: Logger.Level) throws -> (test: TestStore, lines: Lines) {
    let lines = Lines()
    var options = OpenOptions.testing
    options.logger = Logger(label: "test") { _ in Handler(lines: lines, logLevel: level) }
    return (try TestStore(options: options), lines)
  }

  @Test func logsEachCommitWithCountsAndIDs() throws {
    let (test, lines) = try store(.debug)
    let ids = try test.store.write { writer in
      try (0..<20).map { try writer.insert(Document(text: "\($0)"), into: test.notes) }
    }
    try test.store.write { writer in
      try writer.update(ids[3]) { $0.text = "x" }
      try writer.move(ids[2], to: .top)
      try writer.delete(ids[5])
      try writer.delete(ids[4])
    }
    try test.store.write { writer in _ = try writer.headers(in: test.notes) }
    #expect(
      lines.all == [
        "created store \(test.store.storeID) at generation 1",
        "committed generation 2: inserted 20 (1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 …)",
        "committed generation 3: updated 1 (4), moved 1 (3), deleted 2 (5 6)",
      ])
  }

  @Test func infoLevelLogsRareEventsWithoutCommits() throws {
    let (test, lines) = try store(.info)
    try test.store.write { _ = try $0.insert(Document(text: "x"), into: test.notes) }
    try test.store.compact()
    #expect(lines.all.count == 2 && lines.all[1].hasPrefix("compacted "))
  }

  @Test func omitsTextsNamesAndSecrets() throws {
    let (test, lines) = try store(.trace)
    let secret = "Geheimnis"
    try test.store.write { writer in
      let notes = DocumentCollection("\(secret) collection")
      let id = try writer.insert(
        Document(title: secret, text: secret, key: DocumentKey(secret), attributes: ["a": .string(secret)]),
        into: notes)
      try writer.update(id) { $0.title = secret + "!" }
      try writer.rename(notes, to: secret)
    }
    _ = try test.store.read { try $0.query("SELECT text FROM documents WHERE text = ?", secret) }
    try test.store.keys.add(.words(secret), label: secret)
    try test.store.keys.remove(slot: 2)
    _ = try test.store.rekey(to: [.published("next")]) { _ in }
    _ = try test.store.verify()
    try test.store.compact()
    #expect(lines.all.count > 5)
    #expect(!lines.all.contains { $0.contains(secret) || $0.contains("coffer-key") })
  }

  @Test func opensAttachmentsOnceForSearchOfSeveralCollections() throws {
    let (test, lines) = try store(.info)
    let ids = try test.store.write { tx throws in
      try ["one", "two", "three"].map { name throws in
        let id = try tx.insert(Document(text: "text"), into: DocumentCollection(name))
        try tx.attach([1], to: id, name: "photo \(name)")
        return id
      }
    }
    try test.raw().execute("UPDATE coffer_attachment SET sealed=zeroblob(300) WHERE id=?", ids[1].rawValue)
    var found: [DocumentID] = []
    let before = lines.all.count
    try test.store.read { reader throws in
      let pattern = try SearchPattern.text("photo")
      let names = try reader.attachmentMatches(of: pattern, fields: .all)
      for name in ["one", "two", "three"] {
        try reader.forEachMatch(of: pattern, in: DocumentCollection(name), names: names) {
          found.append($0.document.header.id)
        }
      }
    }
    #expect(found == [ids[0], ids[2]])
    #expect(lines.all.count == before + 1, "\(lines.all)")
  }
}
