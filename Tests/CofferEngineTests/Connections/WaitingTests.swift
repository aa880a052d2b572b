import Coffer
import CofferTestSupport
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

  /// The waiting time is for other processes.
  @Test(arguments: [false, true], CreateOptions.Journal.allCases)
  func writerWithZeroWaitWaitsForThisProcess(forAnotherHandle: Bool, _ journal: CreateOptions.Journal) throws {
    let test = try store(wait: .zero) { $0.journal = journal }
    let other = try test.reopened()
    let holder = Holder(forAnotherHandle ? other : test.store)
    let waiting = Background { [store = test.store, notes = test.notes] in
      try store.write { _ = try $0.insert(Document(text: "x"), into: notes) }
    }
    waitUntil { test.store.engine.connections.locks.writers.waiterCount == 1 }
    holder.end()
    try waiting.value()
    #expect(try test.store.read { $0.documentCount } == 2)
    try test.expectSound()
  }

  /// In rollback journal mode, a commit waits for readers, and new readers wait for the commit.
  @Test func commitWithZeroWaitWaitsForReadersOfThisProcess() throws {
    let test = try store(wait: .zero)
    let other = try test.reopened()
    for number in 1...20 {
      let reader = number.isMultiple(of: 2) ? other : test.store
      let (begun, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let reading = Background {
        try reader.read { scope in
          begun.signal()
          release.wait()
          return scope.documentCount
        }
      }
      begun.wait()
      let writing = Background { [store = test.store, notes = test.notes] in
        try store.write { _ = try $0.insert(Document(text: "x"), into: notes) }
      }
      waitUntil { test.store.engine.connections.locks.writerHasLock.load(ordering: .acquiring) }
      for _ in 0..<number { sched_yield() }
      release.signal()
      #expect(try reading.value() == number - 1)
      try writing.value()
    }
    try test.expectSound()
  }

  enum KeyChange: CaseIterable {
    case add, remove, rekey
  }

  /// The log with the old pages can't be truncated during a read. Other writers continue.
  @Test(arguments: KeyChange.allCases, [false, true])
  func keyChangeWithZeroWaitWaitsForReadersOfThisProcess(_ change: KeyChange, inAnotherHandle: Bool) throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    if change == .remove { try test.store.keys.add(.published("next")) }
    let other = try test.reopened()
    let meeting = Meeting()
    let reading = Background { [reader = inAnotherHandle ? other : test.store] in
      try reader.read { scope in
        meeting.stop()
        return scope.documentCount
      }
    }
    meeting.waitForArrival()
    let hasEnded = Flag()
    let changing = Background { [store = test.store] in
      defer { hasEnded.set() }
      switch change {
      case .add: try store.keys.add(try Recipient.stranger())
      case .remove: try store.keys.remove(slot: 2)
      case .rekey: try store.rekey()
      }
    }
    try waitUntil { try hasEnded.isSet || test.store.rekeyStatus().hasOldPages }
    try test.store.write { _ = try $0.insert(Document(text: "meanwhile"), into: test.notes) }
    meeting.letGo()
    #expect(try reading.value() == 0)
    try changing.value()
    #expect(try !test.store.rekeyStatus().hasOldPages)
    try other.close()
    try test.expectSound()
  }

  @Test(arguments: [false, true]) func endOfKeyChangesWaitSaysThatSlotsWereChanged(closes: Bool) throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    let other = try test.reopened()
    let meeting = Meeting()
    let reading = Background { try other.read { _ in meeting.stop() } }
    meeting.waitForArrival()
    let isCancelled = Flag()
    let changing = Background { [store = test.store] in
      try Cancellation.polling({ isCancelled.isSet }) { try store.keys.add(try Recipient.stranger()) }
    }
    try waitUntil { try other.rekeyStatus().hasOldPages }
    if closes { try test.store.close() } else { isCancelled.set() }
    let error = #expect(throws: StoreError.self) { try changing.value() }
    #expect(error?.code == (closes ? .closed : .cancelled))
    #expect(error?.message.hasPrefix("the slots were changed") == true)
    meeting.letGo()
    try reading.value()
    #expect(try other.keys.list().count == 2)
    try other.rekey(options: .resuming)
    #expect(try !other.rekeyStatus().hasOldPages)
    try other.close()
  }

  /// Such as in the progress handler of a backup.
  @Test func keyChangeInsideReadOfFileWithoutStoreCountsIt() throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    let recipient = try Recipient.stranger()
    let polls = Atomic<Int>(0)
    // Only this would end a wait without a limit.
    let isLong: @Sendable () -> Bool = { polls.add(1, ordering: .relaxed).newValue > 5_000 }
    try StoreFile.reading(test.url.path, .zero) { file throws(StoreError) in
      _ = try file.readHeader()
      expect(.locked) { try Cancellation.polling(isLong) { try test.store.keys.add(recipient) } }
    }
    #expect(try test.store.rekeyStatus().hasOldPages)
  }

  @Test func keyChangesWithShortWaitEndBesideManyTasks() async throws {
    let test = try store(wait: .milliseconds(100)) { $0.journal = .writeAheadLog }
    let (store, notes) = (test.store, test.notes)
    try await store.write { _ = try $0.insert(Document(text: "first"), into: notes) }
    let isDone = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<24 {
        group.addTask {
          while !isDone.isSet {
            if number.isMultiple(of: 3) {
              try await store.write { _ = try $0.insert(Document(text: "\(number)"), into: notes) }
            } else {
              _ = try await store.read { try $0.headers(in: notes, limit: 100) }
            }
          }
        }
      }
      for _ in 0..<5 {
        let slot = try await store.perform { try $0.keys.add(try Recipient.stranger()) }
        try await store.perform { try $0.keys.remove(slot: slot) }
      }
      _ = try await store.perform { try $0.rekey() }
      isDone.set()
      try await group.waitForAll()
    }
    let status = try store.rekeyStatus()
    #expect(status.isFinished && !status.hasOldPages)
    try test.expectSound()
  }

  /// Another open store of the file has this lock while it closes.
  @Test func writerWithZeroWaitWaitsForLockOfThisProcess() throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    let connections = test.store.engine.connections
    let lock = try WriteAheadLock.of(test.url.path)
    defer { lock.release() }
    for _ in 0..<10 {
      try lock.lock(wait: .zero)
      let hasEnded = Flag()
      let writing = Background { [store = test.store, notes = test.notes] in
        defer { hasEnded.set() }
        _ = try store.write { try $0.insert(Document(text: "x"), into: notes) }
      }
      waitUntil { hasEnded.isSet || connections.idle.withLock { $0.writer != nil } }
      lock.unlock()
      try writing.value()
    }
    #expect(try test.store.read { $0.documentCount } == 10)
    try test.expectSound()
  }

  @Test(arguments: [2, 3]) func endsWaitOfWritesInCircleForEachOthersRead(_ count: Int) throws {
    let tests = try (0..<count).map { _ in try store(wait: .zero) }
    let notes = tests[0].notes
    // Each of these writes another store than it reads, and the last one writes the store that the first one reads.
    let writes = tests.indices.map { index in
      let (read, written, meeting) = (tests[index].store, tests[(index + 1) % count].store, Meeting())
      let work = Background<Void> {
        try read.read { _ in
          try written.write { writer in
            try writer.insert(Document(text: "x"), into: notes)
            meeting.stop()
          }
        }
      }
      meeting.waitForArrival()
      return (work: work, meeting: meeting)
    }
    writes[0].meeting.letGo()
    expect(.locked) { try writes[0].work.value() }
    // Nobody reads what the last one writes anymore, and then the one before it.
    for write in writes.dropFirst().reversed() {
      write.meeting.letGo()
      try write.work.value()
    }
    let counts = try tests.map { test in try test.store.read { $0.documentCount } }
    #expect(counts == [1, 0] + Array(repeating: 1, count: count - 2))
    for test in tests { try test.expectSound() }
  }

  @Test func compactingWithZeroWaitWaitsForReadersOfThisProcess() throws {
    let test = try store(wait: .zero)
    try test.store.write { _ = try $0.insert(Document(text: "x"), into: test.notes) }
    let meeting = Meeting()
    let reading = Background { [store = test.store] in
      try store.read { scope in
        meeting.stop()
        return scope.documentCount
      }
    }
    meeting.waitForArrival()
    let compacting = Background { [url = test.url] in _ = try DocumentStore.compact(at: url, wait: .zero) }
    waitUntil { test.store.engine.connections.locks.writerHasLock.load(ordering: .acquiring) }
    meeting.letGo()
    #expect(try reading.value() == 1)
    try compacting.value()
    try test.expectSound()
  }

  /// The number of this process's threads.
  private var threadCount: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
  }

  @Test(arguments: [300, 10_000]) func tasksWaitForTheirTurnWithoutThreads(_ count: Int) async throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    let holder = Holder(test.store)
    let notes = test.notes
    let before = threadCount
    let tasks = (0..<count).map { number in
      Task { try await test.store.write { _ = try $0.insert(Document(text: "\(number)"), into: notes) } }
    }
    let queue = test.store.engine.connections.locks.writers
    await yieldUntil { queue.waiterCount >= count }
    // Other tests of this process use threads, too.
    #expect(threadCount < before + 150)
    // Readers don't wait for them.
    #expect(try await test.store.read { $0.documentCount } == 0)
    for task in tasks.dropFirst(200) { task.cancel() }
    await yieldUntil { queue.waiterCount <= 200 }
    holder.end()
    for task in tasks.prefix(200) { try await task.value }
    var canceled = 0
    for task in tasks.dropFirst(200) {
      do { try await task.value } catch is CancellationError { canceled += 1 }
    }
    #expect(canceled == count - 200)
    #expect(try await test.store.read { $0.documentCount } == 201)
    try test.expectSound()
  }

  @Test func readsWaitForReaderWithoutThreads() async throws {
    var options = OpenOptions.testing
    options.maximumReaders = 1
    let test = try TestStore(options: options)
    let meeting = Meeting()
    let reading = Background { [store = test.store] in try store.read { _ in meeting.stop() } }
    meeting.waitForArrival()
    let before = threadCount
    let readers = (0..<10_000).map { _ in Task { try await test.store.read { $0.documentCount } } }
    let turns = test.store.engine.connections.readerTurns
    await yieldUntil { turns.waiterCount >= readers.count }
    // Other tests of this process use threads, too.
    #expect(threadCount < before + 150)
    meeting.letGo()
    try reading.value()
    for reader in readers { #expect(try await reader.value == 0) }
  }

  @Test func writingCallsWaitForTheirTurnWithoutThreads() async throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    let holder = Holder(test.store)
    let (store, notes) = (test.store, test.notes)
    let before = threadCount
    let tasks = (0..<300).map { number in
      Task {
        try await store.perform(writing: true) { store in
          try store.write { _ = try $0.insert(Document(text: "\(number)"), into: notes) }
        }
      }
    }
    let locks = store.engine.connections.locks
    // The first call waits for the writer with its thread.
    await yieldUntil { locks.writingCalls.waiterCount == 299 && locks.writers.waiterCount == 1 }
    // Other tests of this process use threads, too.
    #expect(threadCount < before + 150)
    // Calls that read don't wait for them.
    #expect(try await store.perform { try $0.verify().isSound })
    holder.end()
    for task in tasks { try await task.value }
    #expect(try await store.read { $0.documentCount } == 301)
    try test.expectSound()
  }

  /// An executor whose jobs wait, like those of tasks while all threads that they share wait for the store.
  private final class BusyPool: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    /// Runs the jobs that wait.
    func run() {
      let waiting = jobs.withLock { jobs in
        defer { jobs = [] }
        return jobs
      }
      for job in waiting { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }

  @Test func writeOfTaskEndsWithoutThreadThatTasksShare() throws {
    let test = try store(wait: .zero) { $0.journal = .writeAheadLog }
    let (store, notes) = (test.store, test.notes)
    let holder = Holder(store)
    let (pool, hasWritten, hasResumed) = (BusyPool(), Flag(), Flag())
    Task(executorPreference: pool) {
      defer { hasResumed.set() }
      try await store.write { _ = try $0.insert(Document(text: "task"), into: notes) }
    }
    waitUntil {
      pool.run()
      return store.engine.connections.locks.writers.waiterCount == 1
    }
    holder.end()
    // Nobody continues the task, whose turn comes before this one.
    let writing = Background {
      defer { hasWritten.set() }
      try store.write { _ = try $0.insert(Document(text: "thread"), into: notes) }
    }
    waitUntil { hasWritten.isSet }
    #expect(!hasResumed.isSet)
    waitUntil {
      pool.run()
      return hasResumed.isSet
    }
    try writing.value()
    #expect(try store.read { $0.documentCount } == 3)
  }

  @Test(arguments: [false, true]) func closingAndSuspendingEndWaitsOfWritingCalls(suspends: Bool) async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let meeting = Meeting()
    let first = Task { try await other.perform(writing: true) { _ in meeting.stop() } }
    await onThread { meeting.waitForArrival() }
    let waiting = Task { try await test.store.perform(writing: true) { _ in } }
    await yieldUntil { test.store.engine.writingCalls.waiterCount == 1 }
    if suspends { try await test.store.suspend(within: .seconds(60)) } else { try await test.store.close() }
    meeting.letGo()
    let error = await #expect(throws: StoreError.self) { try await waiting.value }
    #expect(error?.code == (suspends ? .suspended : .closed))
    try await first.value
    try await other.close()
  }

  /// The turn belongs to a call of another store, which the error doesn't wait for.
  @Test(arguments: [false, true]) func stoppedStoreDoesNotQueueWritingCalls(suspends: Bool) async throws {
    let test = try TestStore()
    let other = try test.reopened()
    let meeting = Meeting()
    let first = Task { try await other.perform(writing: true) { _ in meeting.stop() } }
    await onThread { meeting.waitForArrival() }
    if suspends { try await test.store.suspend(within: .seconds(60)) } else { try await test.store.close() }
    let error = await #expect(throws: StoreError.self) { try await test.store.perform(writing: true) { _ in } }
    #expect(error?.code == (suspends ? .suspended : .closed))
    meeting.letGo()
    try await first.value
    try await other.close()
  }

  /// Closing and suspending end only the waits that they find, and this one begins afterward.
  @Test func waitOfStoppedStoreEnds() throws {
    let test = try TestStore()
    let session = test.store.engine.session
    let lock = FairSemaphore()
    try lock.wait(nil)
    try test.store.suspend(within: .seconds(60))
    expect(.suspended) { try lock.wait(.zero, owner: session) }
    test.store.resume()
    expect(.locked) { try lock.wait(.zero, owner: session) }
    try test.store.close()
    expect(.closed) { try lock.wait(.zero, owner: session) }
    #expect(lock.waiterCount == 0)
  }

  @Test func closingEndsWaitsOfTasks() async throws {
    var options = OpenOptions.testing
    options.maximumReaders = 1
    let test = try TestStore(options: options)
    let notes = test.notes
    let (begun, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let reading = Background { [store = test.store] in
      try store.read { _ in
        begun.signal()
        release.wait()
      }
    }
    begun.wait()
    let other = try test.reopened()
    let holder = Holder(other)
    let pool = test.store.engine.connections
    let readers = (0..<20).map { _ in Task { try await test.store.read { $0.documentCount } } }
    let writers = (0..<20).map { _ in
      Task { try await test.store.write { _ = try $0.insert(Document(text: "x"), into: notes) } }
    }
    await yieldUntil { pool.readerTurns.waiterCount + pool.locks.writers.waiterCount >= 40 }
    let closing = Task { try await test.store.close() }
    for reader in readers { await #expect(throws: StoreError.self) { _ = try await reader.value } }
    for writer in writers { await #expect(throws: StoreError.self) { try await writer.value } }
    release.signal()
    try reading.value()
    holder.end()
    try await closing.value
    #expect(try await other.read { $0.documentCount } == 1)
  }

  @Test func readsAreLimitedAndOrdered() async throws {
    var options = OpenOptions.testing
    options.maximumReaders = 2
    let test = try TestStore({ $0.journal = .writeAheadLog }, options: options)
    let counter = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          if number.isMultiple(of: 2) {
            try await test.store.read { _ in counter.count() }
          } else {
            try await test.store.perform { try $0.read { _ in counter.count() } }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(counter.most == 2)
  }

  /// Counts the calls at the same time.
  private final class Counter: Sendable {
    private let state = Mutex((active: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func count() {
      state.withLock { state in
        state.active += 1
        state.most = max(state.most, state.active)
      }
      for _ in 0..<100 { sched_yield() }
      state.withLock { $0.active -= 1 }
    }
  }

  /// Otherwise, both threads would wait for the other's reader.
  @Test func readInsideReadOfAnotherStoreDoesNotWait() throws {
    var options = OpenOptions.testing
    options.maximumReaders = 1
    let (one, two) = (try TestStore(options: options), try TestStore(options: options))
    let arrived = Atomic<Int>(0)
    let threads = [(one.store, two.store), (two.store, one.store)].map { outer, inner in
      Background {
        try outer.read { _ in
          arrived.add(1, ordering: .acquiringAndReleasing)
          waitUntil { arrived.load(ordering: .acquiring) == 2 }
          return try inner.read { $0.documentCount }
        }
      }
    }
    for thread in threads { #expect(try thread.value() == 0) }
    // The turns are back.
    for store in [one.store, two.store] { #expect(try store.read { $0.documentCount } == 0) }
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

  /// In WAL mode, another process has an exclusive lock while it opens the file first or closes it last.
  @Test func openingLogWithZeroWaitWaitsForProcessThatOpensOrCloses() throws {
    var options = OpenOptions.testing
    options.wait = .zero
    let test = try TestStore({ $0.journal = .writeAheadLog }, options: options)
    try test.store.close()
    let other = try test.raw()
    #expect(try other.textPragma("locking_mode = EXCLUSIVE") == "exclusive")
    try other.execute("BEGIN IMMEDIATE")
    try other.execute("COMMIT")
    let polls = Atomic<Int>(0)
    let hasEnded = Flag()
    let opening = Background { [url = test.url, options] in
      defer { hasEnded.set() }
      // A wait for a lock polls the condition.
      return try Cancellation.polling({ polls.add(1, ordering: .relaxed).newValue < 0 }) {
        try DocumentStore.open(at: url, key: .published("primary"), options: options)
      }
    }
    waitUntil { polls.load(ordering: .relaxed) > 10 || hasEnded.isSet }
    try other.close()
    #expect(try opening.value().read { $0.documentCount } == 0)
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

  @Test func semaphoreServesWaitersInOrder() throws {
    let lock = FairSemaphore()
    try lock.wait(nil)
    let order = Mutex<[Int]>([])
    let done = DispatchSemaphore(value: 0)
    for number in 0..<5 {
      let waiting = lock.waiterCount
      Thread.detachNewThread {
        try? lock.wait(nil)
        order.withLock { $0.append(number) }
        lock.signal()
        done.signal()
      }
      waitUntil { lock.waiterCount > waiting }
    }
    expect(.locked) { try lock.wait(.zero) }
    lock.signal()
    for _ in 0..<5 { done.wait() }
    #expect(order.withLock { $0 } == [0, 1, 2, 3, 4])
  }
}
