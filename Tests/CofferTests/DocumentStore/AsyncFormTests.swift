import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Asynchronous calls, their cancellation, and progress.
struct AsyncFormTests {
  private static let notes = DocumentCollection("notes")

  private func filled(_ options: OpenOptions = .testing) throws -> TestStore {
    let test = try TestStore(options: options)
    // The store is large enough for several copy steps and iteration batches.
    try test.store.write { writer in
      let text = String(repeating: "long ", count: 1000)
      try writer.insert(contentsOf: (0..<2000).map { _ in Document(text: text) }, into: test.notes)
    }
    return test
  }

  /// Cancels work when it first reports completed items, and expects a cancellation error.
  private func expectCanceled(
    _ location: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable (@escaping @Sendable (WorkProgress) throws -> Void) throws -> Void
  ) async {
    let meeting = Meeting()
    let hasMet = Flag()
    let task = Task {
      try await DocumentStore.perform { _ in
        try work { step in
          guard step.done > 0, !hasMet.isSet else { return }
          hasMet.set()
          meeting.stop()
        }
      }
    }
    await onThread { meeting.waitForArrival() }
    task.cancel()
    meeting.letGo()
    await #expect(throws: CancellationError.self, sourceLocation: location) { try await task.value }
  }

  @Test func performsCallsOnAnotherThread() async throws {
    let place = try Workplace()
    let url = place.file("new.coffer")
    let made = try await DocumentStore.perform {
      try $0.create(at: url, keys: [.published("primary")], options: .testing)
    }
    let id = try await made.write { try $0.insert(Document(text: "x"), into: Self.notes) }
    try await made.perform { try $0.compact() }
    try await made.close()
    let store = try await DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try await store.read { try $0.text(of: id) } == "x")
    #expect(try await store.perform { try $0.verify().isSound })
    await #expect(throws: StoreError.self) { try await store.perform { _ in throw StoreError(.diskFull, "full") } }
    try await store.close()
    await #expect(throws: StoreError.self) { try await store.perform { try $0.verify() } }
  }

  // MARK: Canceling

  @Test func cancelingIndexingDiscardsIndex() async throws {
    let test = try filled()
    let store = test.store
    await expectCanceled { try store.index(Self.notes, .words(), progress: $0) }
    #expect(try await store.read { try $0.indexes(of: Self.notes) }.isEmpty)
  }

  @Test(.slow) func cancelingMergeLeavesStoreUnchanged() async throws {
    let test = try filled()
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    let store = test.store
    try await store.write { writer in
      for header in try writer.headers(in: Self.notes) { try writer.update(header.id) { $0.text = "changed" } }
    }
    await expectCanceled { step in _ = try copy.merge(store, progress: step) }
    #expect(try copy.verify().isSound)
    #expect(try store.differences(to: copy).changed.count == 2000)
  }

  @Test func cancelingCopyRemovesPartialFile() async throws {
    let test = try filled()
    let store = test.store
    let (target, url) = (test.place.file("copy.coffer"), test.url)
    await expectCanceled { try store.backup(to: target, progress: $0) }
    await expectCanceled { try DocumentStore.backup(at: url, to: target, progress: $0) }
    await expectCanceled { try DocumentStore.restore(at: target, from: url, progress: $0) }
    await expectCanceled { _ = try store.copy(to: target, keys: [.published("next")], progress: $0) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    try test.expectSound()
  }

  @Test func cancelingVerifyLeavesFileUnchanged() async throws {
    let test = try filled()
    let store = test.store
    let before = try test.bytesOnDisk()
    await expectCanceled { _ = try store.verify(progress: $0) }
    #expect(try test.bytesOnDisk() == before)
  }

  @Test(.slow) func resumesCanceledRekey() async throws {
    let test = try filled()
    let store = test.store
    await expectCanceled { _ = try store.rekey(to: [.published("next")], options: .batched, progress: $0) }
    #expect(try !store.rekeyStatus().isFinished)
    #expect(try await store.perform { try $0.rekey(options: .resuming).isFinished })
    try test.expectSound()
  }

  @Test func cancelingBulkWorkLeavesStoreEmpty() async throws {
    let test = try TestStore()
    let store = test.store
    await expectCanceled { progress in
      let endless = AnySequence { AnyIterator { Document(text: "one more") } }
      try store.write {
        try $0.insert(contentsOf: endless, into: Self.notes, options: bulkOptions { $0.progress = progress })
      }
    }
    await expectCanceled { progress in
      let endless = AnySequence {
        var number = 0
        return AnyIterator { () -> SyncItem? in
          number += 1
          return SyncItem(Document(text: "", key: DocumentKey("\(number)")))
        }
      }
      var options = SyncOptions()
      options.progress = progress
      try store.write { [options] in try $0.synchronize(Self.notes, with: endless, options: options) }
    }
    #expect(try await store.read { try !$0.exists(Self.notes) })
    try test.expectSound()
  }

  @Test func cancelingEndsWaitForLock() async throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore(options: options)
    let store = test.store
    let url = test.url
    let meeting = Meeting()
    let holder = Background { try store.write { _ in meeting.stop() } }
    await onThread { meeting.waitForArrival() }
    let works: [@Sendable () async throws -> Void] = [
      { _ = try await store.perform { try $0.keys.add(.published("next")) } },
      { _ = try await store.perform { try $0.compact() } },
      { _ = try await DocumentStore.perform { try $0.compact(at: url, wait: nil) } },
      { _ = try await store.perform { try $0.rekey() } },
      { _ = try await store.write { try $0.insert(contentsOf: [1], into: Self.notes) } },
    ]
    let waiting = works.map { work in Task { try await work() } }
    for task in waiting { task.cancel() }
    for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
    meeting.letGo()
    try holder.value()
    #expect(try store.keys.list().count == 1)
    try test.expectSound()
  }

  @Test func cancelingEndsWaitWhileOpening() async throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore(options: options)
    let url = test.url
    let raw = try test.raw()
    try raw.execute("BEGIN EXCLUSIVE")
    let task = Task { [options] in try await DocumentStore.open(at: url, key: .published("primary"), options: options) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try raw.execute("ROLLBACK")
  }

  // MARK: Progress

  @Test func clampsProgressFraction() {
    #expect(WorkProgress(done: 3).fraction == nil)
    #expect(WorkProgress(done: 0, total: 0).fraction == 1)
    #expect(WorkProgress(done: 1, total: 4).fraction == 0.25)
    #expect(WorkProgress(done: 9, total: 4).fraction == 1)
    #expect(WorkProgress(done: -1, total: 4).fraction == 0)
  }

  @Test(.slow) func throwingHandlerStopsWork() throws {
    let test = try filled()
    let target = test.place.file("copy.coffer")
    let stop: ProgressHandler = { if $0.done > 0 { throw Interruption() } }
    let refuse: ProgressHandler = { _ in throw StoreError(.diskFull, "no more") }
    expect(.cancelled) { try test.store.backup(to: target, progress: stop) }
    expect(.cancelled) { try test.store.verify(progress: stop) }
    expect(.diskFull) { try test.store.backup(to: target, progress: refuse) }
    expect(.diskFull) { try test.store.verify(progress: refuse) }
    #expect(throws: Interruption()) { try test.store.copy(to: target, keys: [.published("next")], progress: stop) }
    #expect(throws: Interruption()) {
      try test.store.read { try $0.forEachMatch(of: .text("none"), in: test.notes, progress: stop) { _ in } }
    }
    expect(.cancelled) { try test.store.rekey(options: .batched, progress: stop) }
    #expect(try test.store.rekey(options: .resuming).isFinished)
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    try test.expectSound()
  }

  @Test func reportsProgressUpToTotal() throws {
    let test = try filled()
    var steps: [WorkProgress] = []
    func expectCounted(_ total: Int?) {
      #expect(steps.map(\.done) == steps.map(\.done).sorted() && steps.last?.done == total)
      #expect(Set(steps.map(\.total)) == [total])
      steps = []
    }
    try test.store.read {
      try $0.forEachMatch(of: .text("none"), in: test.notes, progress: { steps.append($0) }, { _ in })
    }
    expectCounted(2000)
    _ = try test.store.verify { steps.append($0) }
    expectCounted(2000)
    try test.store.copy(to: test.place.file("export.coffer"), keys: [.published("next")]) { steps.append($0) }
    expectCounted(2000)
  }
}
