import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Reported changes while other processes commit.
struct ChangesAmongProcessesTests {
  private static let place = "COFFER_TEST_CHANGED_STORE"
  private static let commits = 30

  /// A subscriber that applies each change to its set of documents.
  private struct Follower {
    var shown: Set<DocumentID> = []

    /// Applies the change, or reloads all documents if the change is incomplete.
    mutating func follow(_ change: StoreChange, in store: DocumentStore) throws {
      guard change.isComplete else {
        shown = Set(try store.read { try $0.headers(in: DocumentCollection("notes")).map(\.id) })
        return
      }
      #expect(change.inserted.isDisjoint(with: shown), "told of as new twice")
      #expect(change.deleted.isSubset(of: shown), "told of as gone, never of as new")
      shown.formUnion(change.inserted)
      shown.subtract(change.deleted)
      #expect(change.updated.union(change.moved).isSubset(of: shown))
    }
  }

  @Test(.slow, arguments: CreateOptions.Journal.allCases)
  func followsCommitsOfAllProcesses(_ journal: CreateOptions.Journal) async throws {
    let test = try TestStore({ $0.journal = journal }, options: Self.patient)
    let notes = test.notes
    var follower = Follower()
    follower.shown = Set(
      try await test.store.write { writer in
        try (1...20).map { try writer.insert(Document(text: "\($0)"), into: notes) }
      })
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    let start = ContinuousClock.now
    let others = try (0..<3).map { _ in
      try AnotherProcess(running: "commitsInAnotherProcess", environment: [Self.place: test.url.path])
    }
    try await Self.commit(to: test.store, Self.commits)
    try await Task.detached { for other in others { try other.waitForEnd() } }.value
    let other = try test.reopened()
    let mark = try await other.write { try $0.insert(Document(text: "mark"), into: notes) }
    var looks = 0
    while !follower.shown.contains(mark) {
      let change = try #require(try await iterator.next())
      try follower.follow(change, in: test.store)
      looks += 1
    }
    #expect(Double(looks - Self.commits) <= (ContinuousClock.now - start) / .seconds(1) * 4 + 2)
    let there = try await test.store.read { try $0.headers(in: notes).map(\.id) }
    #expect(follower.shown == Set(there))
    try test.expectSound()
  }

  @Test func combinesManyCommitsOfAnotherProcess() async throws {
    let test = try TestStore({ $0.journal = .writeAheadLog }, options: Self.patient)
    let notes = test.notes
    var follower = Follower()
    follower.shown = [try await test.store.write { try $0.insert(Document(text: "first"), into: notes) }]
    var iterator = test.store.changes(in: notes).makeAsyncIterator()
    let start = ContinuousClock.now
    let other = try AnotherProcess(running: "commitsInAnotherProcess", environment: [Self.place: test.url.path])
    try await Task.detached { try other.waitForEnd() }.value
    let mark = try await test.reopened().write { try $0.insert(Document(text: "mark"), into: notes) }
    var count = 0
    while !follower.shown.contains(mark) {
      try follower.follow(try #require(try await iterator.next()), in: test.store)
      count += 1
    }
    // At most four polls per second each report the latest state.
    #expect(Double(count) <= (ContinuousClock.now - start) / .seconds(1) * 4 + 2)
  }

  @Test func idlePollsAvoidReadingRows() async throws {
    let test = try TestStore()
    try await test.store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("notes")) }
    let changes = test.store.changes()
    for _ in 0..<10 { test.store.engine.poll() }
    let generation = try await test.store.read { $0.generation }
    // A poll checks this before it scans.
    #expect(test.store.engine.session.feed.reported(before: generation) == nil)
    _ = changes
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment[place] != nil, "a part of another test"))
  func commitsInAnotherProcess() async throws {
    let url = URL(filePath: try #require(ProcessInfo.processInfo.environment[Self.place]))
    let store = try await DocumentStore.open(at: url, key: .published("primary"), options: Self.patient)
    try await Self.commit(to: store, Self.commits)
    try await store.close()
  }

  private static var patient: OpenOptions {
    var options = OpenOptions.testing
    options.wait = nil
    return options
  }

  /// Changes documents that other processes also change, move and delete.
  private static func commit(to store: DocumentStore, _ count: Int) async throws {
    let notes = DocumentCollection("notes")
    for round in 0..<count {
      try await store.write { writer in
        let ids = try writer.headers(in: notes).map(\.id)
        // Each process uses a different sequence and may change documents of other processes.
        switch (round + Int(getpid())) % 4 {
        case 0: try writer.insert(Document(text: "\(round)"), into: notes, at: .top)
        case 1: if let id = ids.first { try writer.update(id) { $0.text += "." } }
        case 2: if let id = ids.last { try writer.move(id, to: .top) }
        default:
          if let id = ids.randomElement() { round % 2 == 0 ? try writer.delete(id) : try writer.move(id, to: .bottom) }
        }
      }
    }
  }
}
