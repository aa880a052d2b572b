import Coffer
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Time limits, order, and cancellation when writers and readers wait for each other.
struct WaitingTests {
  /// A write on another thread that continues until it is released.
  private final class Holder: Sendable {
    private let release = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(_ store: DocumentStore) {
      let begun = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [release, ended] in
        try? store.write { writer in
          try writer.insert(Document(text: "held"), into: DocumentCollection("held"))
          begun.signal()
          release.wait()
        }
        ended.signal()
      }
      begun.wait()
    }

    func end() {
      release.signal()
      ended.wait()
    }
  }

  private func store(wait: Duration?, _ change: (inout CreateOptions) -> Void = { _ in }) throws -> TestStore {
    var options = OpenOptions.testing
    options.wait = wait
    return try TestStore(change, options: options)
  }

  @Test func writerWithZeroWaitFailsWhileAnotherThreadWrites() throws {
    let test = try store(wait: .zero)
    let holder = Holder(test.store)
    expect(.locked) { try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) } }
    holder.end()
    try test.store.write { try $0.insert(Document(text: "y"), into: test.notes) }
    try test.expectSound()
  }

  @Test func writerWithZeroWaitFailsWhileAnotherHandleWrites() throws {
    let test = try store(wait: .zero)
    let other = try test.reopened()
    let holder = Holder(other)
    expect(.locked) { try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) } }
    holder.end()
    try test.store.write { try $0.insert(Document(text: "y"), into: test.notes) }
    try test.expectSound()
  }

  @Test(arguments: [false, true])
  func canceledWriterStopsWaiting(forAnotherHandle: Bool) async throws {
    let test = try store(wait: nil)
    let other = try test.reopened()
    let holder = Holder(forAnotherHandle ? other : test.store)
    let notes = test.notes
    let task = Task { try await test.store.write { try $0.insert(Document(text: "x"), into: notes) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let late = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = try await test.store.write { try $0.insert(Document(text: "z"), into: notes) } }
        await Task.yield()
        group.cancelAll()
        try await group.waitForAll()
      }
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    holder.end()
    #expect(try await test.store.read { try $0.collections().map(\.name) } == ["held"])
    try test.expectSound()
  }

  @Test func canceledWriteLeavesStoreUnchanged() async throws {
    let test = try store(wait: nil)
    let notes = test.notes
    let task = Mutex<Task<Void, any Error>?>(nil)
    let made = DispatchSemaphore(value: 0)
    let running = Task {
      try await test.store.write { writer in
        try writer.insert(Document(text: "x"), into: notes)
        made.wait()
        task.withLock { $0?.cancel() }
      }
    }
    task.withLock { $0 = running }
    made.signal()
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(try await test.store.read { $0.documentCount } == 0)
    try test.expectSound()
  }

  @Test func canceledWriteEndsBetweenRows() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for _ in 0..<3 { try writer.insert(Document(text: "text"), into: test.notes) }
      }
      let cancellation = Cancellation()
      expect(.cancelled) {
        try test.store.engine.write(cancellation) { transaction in
          let rows = try transaction.writer
          try rows.delete(1)
          cancellation.cancel()
          // SQLite ignores an interrupt while it isn't running a statement.
          for id in [DocumentID(2), DocumentID(3)] { expect(.cancelled) { try rows.delete(id) } }
        }
      }
      #expect(try test.store.read { try $0.count(in: test.notes) } == 3)
    }
  }

  @Test func canceledReadEndsBetweenRows() async throws {
    let test = try store(wait: nil)
    let notes = test.notes
    try await test.store.write { writer in
      for number in 0..<4000 {
        try writer.insert(Document(text: String(repeating: "\(number) ", count: 200)), into: notes)
      }
    }
    let task = Mutex<Task<Int, any Error>?>(nil)
    let made = DispatchSemaphore(value: 0)
    let running = Task {
      try await test.store.read { reader in
        var count = 0
        try reader.forEach(in: notes) { _ in
          if count == 0 {
            made.wait()
            task.withLock { $0?.cancel() }
          }
          count += 1
        }
        return count
      }
    }
    task.withLock { $0 = running }
    made.signal()
    await #expect(throws: CancellationError.self) { try await running.value }
    // The connection is usable again.
    #expect(try await test.store.read { try $0.count(in: notes) } == 4000)
    try test.expectSound()
  }

  @Test func rejectsReadInsideWriteInRollbackJournal() throws {
    try withTestStore { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "x"), into: test.notes)
        expect(.misuse) { try test.store.read { _ in } }
        expect(.misuse) { try test.store.anchor() }
      }
      #expect(try test.store.read { $0.documentCount } == 1)
    }
  }

  @Test func readDuringWriteInWALSeesLastCommit() throws {
    try withTestStore({ $0.journal = .writeAheadLog }) { test in
      try test.store.write { writer in
        try writer.insert(Document(text: "x"), into: test.notes)
        let count = try Background { [store = test.store] in try store.read { $0.documentCount } }.value()
        #expect(count == 0)
      }
    }
  }

  @Test func readersContinueDuringWriteInWAL() throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    try test.store.write { try $0.insert(Document(text: "x"), into: test.notes) }
    let holder = Holder(test.store)
    let other = try test.reopened()
    for store in [test.store, other] { #expect(try store.read { $0.documentCount } == 1) }
    holder.end()
    for store in [test.store, other] { #expect(try store.read { $0.documentCount } == 2) }
    try test.expectSound()
  }

  @Test func fairLockServesWaitersInOrder() throws {
    let lock = FairLock()
    try lock.lock(wait: nil)
    let order = Mutex<[Int]>([])
    let done = DispatchSemaphore(value: 0)
    for number in 0..<5 {
      let waiting = lock.waiterCount
      Thread.detachNewThread {
        try? lock.lock(wait: nil)
        order.withLock { $0.append(number) }
        lock.unlock()
        done.signal()
      }
      while lock.waiterCount == waiting { sched_yield() }
    }
    expect(.locked) { try lock.lock(wait: .zero) }
    lock.unlock()
    for _ in 0..<5 { done.wait() }
    #expect(order.withLock { $0 } == [0, 1, 2, 3, 4])
  }
}
