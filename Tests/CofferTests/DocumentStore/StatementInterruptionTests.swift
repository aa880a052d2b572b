import Coffer
import CofferEngine
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Long work ends within one statement of SQLite, which asks whether it's canceled while it runs.
@Suite(.slow) struct StatementInterruptionTests {
  private final class Questions: Sendable {
    private let count = Atomic<Int>(0)
    let limit: Int

    init(limit: Int = .max) { self.limit = limit }

    var asked: Int { count.load(ordering: .relaxed) }

    /// Answers with `true` from the limit on.
    func ask() -> Bool { count.add(1, ordering: .relaxed).newValue > limit }
  }

  /// Counts the questions of work that isn't canceled, and then cancels the same work at a late question.
  private func expectInterruption(
    of name: String, by most: Double = 0.75, _ location: SourceLocation = #_sourceLocation,
    _ make: () throws -> () throws -> Void
  ) throws {
    let work = try make()
    let questions = Questions()
    try Cancellation.polling({ questions.ask() }, work)
    #expect(questions.asked > 20, "\(name)", sourceLocation: location)
    for part in [0.3, most] {
      let again = try make()
      let questions = Questions(limit: Int(Double(questions.asked) * part))
      expect(.cancelled, location: location) { try Cancellation.polling({ questions.ask() }, again) }
    }
  }

  private func filled() throws -> TestStore {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.insert(
        contentsOf: (0..<4000).map { number in
          Document(title: "title \(number)", text: #"{"n":\#(number)}"#, key: DocumentKey("key \(number)"))
        }, into: test.notes)
    }
    return test
  }

  @Test func endsWorkOnFiles() throws {
    let test = try filled()
    let (url, target) = (test.url, test.place.file("copy.coffer"))
    let before = try test.bytesOnDisk()
    try expectInterruption(of: "check", by: 0.95) { { _ = try DocumentStore.check(at: url) } }
    try expectInterruption(of: "backup", by: 0.95) {
      try? FileManager.default.removeItem(at: target)
      return { try DocumentStore.backup(at: url, to: target) }
    }
    try? FileManager.default.removeItem(at: target)
    try expectInterruption(of: "restore", by: 0.9) {
      try? FileManager.default.removeItem(at: target)
      return { _ = try DocumentStore.restore(at: target, from: url) }
    }
    try? FileManager.default.removeItem(at: target)
    #expect(try test.bytesOnDisk() == before)
    try expectInterruption(of: "compact", by: 0.5) { { _ = try DocumentStore.compact(at: url) } }
    try test.expectSound()
  }

  @Test func endsWorkOnStore() throws {
    let test = try filled()
    let target = test.place.file("copy.coffer")
    let store = test.store
    try expectInterruption(of: "verify") { { _ = try store.verify() } }
    try expectInterruption(of: "copy") {
      try? FileManager.default.removeItem(at: target)
      return { _ = try store.copy(to: target, keys: [.published("next")]) }
    }
    try? FileManager.default.removeItem(at: target)
    for index in [DocumentIndex.words(), .substrings, .field("n", "$.n", as: .number), .titles] {
      try expectInterruption(of: "index") {
        try store.dropIndexes(test.notes)
        return { try store.index(test.notes, index) }
      }
    }
    try test.expectSound()
    try expectInterruption(of: "verify with indexes", by: 0.95) { { _ = try store.verify() } }
    let more = (0..<4000).map { _ in Document(text: "more") }
    try expectInterruption(of: "import") {
      { try store.write { _ = try $0.insert(contentsOf: more, into: DocumentCollection("more")) } }
    }
    try expectInterruption(of: "rekey", by: 0.5) {
      if try !store.rekeyStatus().isFinished { _ = try store.rekey(options: .resuming) }
      return { _ = try store.rekey() }
    }
    if try !store.rekeyStatus().isFinished { _ = try store.rekey(options: .resuming) }
    try test.expectSound()
  }

  @Test func endsMerge() throws {
    let test = try filled()
    let (store, url) = (test.store, test.place.file("copy.coffer"))
    let copy = try DocumentStore.openEditableCopy(of: test.url, at: url, key: .published("primary"), options: .testing)
    var round = 0
    try expectInterruption(of: "merge") {
      round += 1
      let text = "changed \(round)"
      try store.write { writer in
        for header in try writer.headers(in: test.notes).prefix(500) { try writer.update(header.id) { $0.text = text } }
      }
      return { _ = try copy.merge(store) }
    }
    #expect(try copy.verify().isSound)
    try test.expectSound()
  }
}
