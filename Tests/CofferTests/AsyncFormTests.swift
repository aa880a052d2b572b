import Foundation
import Testing

@testable import Coffer

/// Async forms of long calls: what they do, how cancelling them ends, and what they leave then.
struct AsyncFormTests {
  private static let notes = DocumentCollection("notes")

  private func filled(_ options: OpenOptions = .testing) throws -> TestStore {
    let test = try TestStore(options: options)
    // So large that a copy takes more than one step, and a walk more than one batch.
    try test.store.write { writer in
      let text = String(repeating: "long ", count: 1000)
      try writer.insert(contentsOf: (0..<2000).map { _ in Document(text: text) }, into: test.notes)
    }
    return test
  }

  /// Cancels work within the first call of its progress handler after the beginning.
  private func expectCancelled(
    _ location: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable (@escaping @Sendable (WorkProgress) throws -> Void) async throws -> Void
  ) async {
    let meeting = Meeting()
    let hasMet = Flag()
    let task = Task {
      try await work { step in
        guard step.done > 0, !hasMet.isSet else { return }
        hasMet.set()
        meeting.stop()
      }
    }
    await onThread { meeting.waitForArrival() }
    task.cancel()
    meeting.letGo()
    await #expect(throws: CancellationError.self, sourceLocation: location) { try await task.value }
  }

  @Test func storeIsMadeOpenedCompactedAndClosed() async throws {
    let place = try Workplace()
    let url = place.file("new.coffer")
    let made = try await DocumentStore.create(
      at: url, keys: [.published("primary")], options: .testing)
    let id = try await made.write { try $0.insert(Document(text: "x"), into: Self.notes) }
    try await made.compact()
    try await made.close()
    try await DocumentStore.compact(at: url)
    let store = try await DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try await store.read { try $0.text(of: id) } == "x")
    #expect(try await store.verify().isSound)
    try await store.unlock(with: .published("primary"))
    try await store.close()
  }

  @Test func indexesAreBuiltCheckedAndSalvaged() async throws {
    let place = try Workplace()
    let test = try filled()
    try await test.store.index(test.notes, .words(), .substrings)
    #expect(try await test.store.checkIndexes().isEmpty)
    try await test.store.write { _ = try $0.insert(Document(text: "another"), into: Self.notes) }
    #expect(try await test.store.updateIndexes())
    #expect(try await test.store.updateIndexes() == false)
    let report = try await DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: place.file("new.coffer"), keys: [.published("next")],
      options: .testing)
    #expect(report.documents == 2001)
  }

  @Test func cancelledIndexIsNotDeclared() async throws {
    let test = try filled()
    await expectCancelled { try await test.store.index(test.notes, .words(), progress: $0) }
    #expect(try test.store.indexes().isEmpty)
  }

  @Test func keysAreAddedListedReplacedAndRemoved() async throws {
    let test = try TestStore()
    let keys = test.store.keys
    let slot = try await keys.add(.published("next"), label: "second")
    #expect(try await keys.list().map(\.slot) == [1, slot])
    let other = try await keys.replace(slot: slot, with: try NewKey.stranger())
    try await keys.remove(slot: other)
    #expect(try await keys.list().map(\.slot) == [1])
  }

  @Test func bulkWorkStoresAsItsBlockingForm() async throws {
    let test = try TestStore()
    let store = test.store
    #expect(try await store.insert(contentsOf: [Document(text: "1")], into: Self.notes).created == 1)
    #expect(try await store.insert(contentsOf: [2, 3], into: Self.notes, key: { ExternalKey("\($0)") }).created == 2)
    let source = ListSource(ListSource.items(3))
    #expect(try await store.insert(contentsOf: source, into: Self.notes).created == 3)
    let items = [SyncItem(Document(text: "9", key: "9"))]
    #expect(try await store.synchronize(Self.notes, with: items).created.count == 1)
    #expect(try await store.read { try $0.count(in: Self.notes) } == 7)
  }

  @Test func copiesPartAndMeet() async throws {
    let test = try TestStore()
    let store = test.store
    let id = try await store.write { try $0.insert(Document(text: "1"), into: Self.notes) }
    let copy = try await DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    try await store.makeEditableCopy(at: test.place.file("second.coffer"), keys: [.published("primary")])
    try await store.write { writer in try writer.update(id) { $0.text = "2" } }
    #expect(try await store.differences(to: copy).changed.count == 1)
    #expect(try await copy.merge(store).isMerged)
    #expect(try await copy.read { try $0.text(of: id) } == "2")
    try await copy.write { try $0.delete(id) }
    #expect(try await copy.putBack([id], from: store) == [.added])
    #expect(try await store.differences(to: copy).isEmpty)
  }

  @Test func cancelledMergeLeavesTheStoreAsItWas() async throws {
    let test = try filled()
    let copy = try await DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    let store = test.store
    try await store.write { writer in
      for header in try writer.headers(in: Self.notes) { try writer.update(header.id) { $0.text = "changed" } }
    }
    await expectCancelled { step in _ = try await copy.merge(store, progress: step) }
    #expect(try await copy.verify().isSound)
    let difference = try await store.differences(to: copy)
    #expect(difference.changed.count == 2000)
  }

  // MARK: Cancelled

  @Test func cancelledCopiesLeaveNothing() async throws {
    let test = try filled()
    let store = test.store
    let (target, url) = (test.place.file("copy.coffer"), test.url)
    await expectCancelled { try await store.backup(to: target, progress: $0) }
    await expectCancelled { try await DocumentStore.backup(at: url, to: target, progress: $0) }
    await expectCancelled { try await DocumentStore.restore(at: target, from: url, progress: $0) }
    await expectCancelled { _ = try await store.export(to: target, keys: [.published("next")], progress: $0) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    try test.expectSound()
  }

  @Test func cancelledVerifyChangesNothing() async throws {
    let test = try filled()
    let store = test.store
    let before = try test.bytesOnDisk()
    await expectCancelled { _ = try await store.verify(progress: $0) }
    #expect(try test.bytesOnDisk() == before)
  }

  @Test func cancelledRekeyIsResumed() async throws {
    let test = try filled()
    let store = test.store
    await expectCancelled { _ = try await store.rekey(to: [.published("next")], options: .batched, progress: $0) }
    #expect(try store.rekeyStatus().isUnfinished)
    #expect(try await store.rekey(options: .resuming).isFinished)
    try test.expectSound()
  }

  @Test func cancelledBulkWorkStoresNothing() async throws {
    let test = try TestStore()
    let store = test.store
    await expectCancelled { progress in
      let endless = AnySequence { AnyIterator { Document(text: "one more") } }
      _ = try await store.insert(contentsOf: endless, into: Self.notes, options: bulkOptions { $0.progress = progress })
    }
    await expectCancelled { progress in
      let endless = AnySequence {
        var number = 0
        return AnyIterator { () -> SyncItem? in
          number += 1
          return SyncItem(Document(text: "", key: ExternalKey("\(number)")))
        }
      }
      var options = SyncOptions()
      options.progress = progress
      _ = try await store.synchronize(Self.notes, with: endless, options: options)
    }
    #expect(try await store.read { try !$0.exists(Self.notes) })
    try test.expectSound()
  }

  @Test func cancelledWaitForALockEnds() async throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore(options: options)
    let store = test.store
    let url = test.url
    let meeting = Meeting()
    let holder = Background { try store.write { _ in meeting.stop() } }
    await onThread { meeting.waitForArrival() }
    let works: [@Sendable () async throws -> Void] = [
      { _ = try await store.keys.add(.published("next")) },
      { _ = try await store.compact() },
      { _ = try await DocumentStore.compact(at: url, wait: nil) },
      { _ = try await store.rekey() },
      { _ = try await store.insert(contentsOf: [1], into: Self.notes) },
    ]
    let waiting = works.map { work in Task { try await work() } }
    for task in waiting { task.cancel() }
    for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
    meeting.letGo()
    try holder.value()
    #expect(try await store.keys.list().count == 1)
    try test.expectSound()
  }

  @Test func cancelledWaitOfOpeningEnds() async throws {
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

  @Test func fractionIsBetweenNoneAndAllOrUnknown() {
    #expect(WorkProgress(done: 3).fraction == nil)
    #expect(WorkProgress(done: 0, total: 0).fraction == 1)
    #expect(WorkProgress(done: 1, total: 4).fraction == 0.25)
    #expect(WorkProgress(done: 9, total: 4).fraction == 1)
    #expect(WorkProgress(done: -1, total: 4).fraction == 0)
  }

  @Test func handlerThatThrowsEndsTheWork() throws {
    let test = try filled()
    let target = test.place.file("copy.coffer")
    let stop: ProgressHandler = { if $0.done > 0 { throw Interruption() } }
    let refuse: ProgressHandler = { _ in throw StoreError(.diskFull, "no more") }
    expect(.cancelled) { try test.store.backup(to: target, progress: stop) }
    expect(.cancelled) { try test.store.verify(progress: stop) }
    expect(.diskFull) { try test.store.backup(to: target, progress: refuse) }
    expect(.diskFull) { try test.store.verify(progress: refuse) }
    #expect(throws: Interruption()) { try test.store.export(to: target, keys: [.published("next")], progress: stop) }
    #expect(throws: Interruption()) {
      try test.store.read { try $0.forEachMatch(of: .text("none"), in: test.notes, progress: stop) { _ in } }
    }
    expect(.cancelled) { try test.store.rekey(options: .batched, progress: stop) }
    #expect(try test.store.rekey(options: .resuming).isFinished)
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    try test.expectSound()
  }

  @Test func handlersCountUpToTheTotal() throws {
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
    try test.store.export(to: test.place.file("export.coffer"), keys: [.published("next")]) { steps.append($0) }
    expectCounted(2000)
  }
}
