internal import CofferPlatform
internal import Dispatch
internal import Synchronization

/// The number of the machine's cores.
let coreCount = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)

/// A pipeline of batches. The caller's thread fills them and takes them in the same order, and other threads process
/// them.
///
/// All long operations on rows use a conveyor: reading, searching, rekeying, bulk insertion, copying and salvage.
final class Conveyor<Batch: AnyObject> {
  /// The threads that process batches.
  enum Workers {
    /// One thread per core, including the caller's, which also processes waiting batches, so it never waits for the
    /// pool's threads.
    case any
    /// One thread other than the caller's, in starting order, because the work reads a source.
    case oneInOrder
  }

  /// The state of the source after filling a batch.
  enum Filling {
    /// More may follow.
    case more
    /// More may follow after this batch is taken.
    case moreAfterTaking
    case end
  }

  private let belt: Belt<Batch>

  /// Creates a conveyor.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of batches in progress, to save memory.
  ///   - work: Runs on any thread, which has exclusive use of the batch.
  init(limit: Int, workers: Workers, work: @escaping (Batch) -> Void) {
    belt = Belt(limit: limit, workers, work)
  }

  /// Runs until `fill` returns `end` and all batches are taken, or until a closure throws. All work has then ended.
  ///
  /// - Parameters:
  ///   - make: Creates a batch. Called up to the limit, because taken batches are refilled.
  ///   - fill: Fills a batch on the caller's thread before it's processed.
  ///   - take: Takes a processed batch on the caller's thread, in filling order.
  func run<Failure: Error>(
    make: () throws(Failure) -> Batch, fill: (Batch) throws(Failure) -> Filling,
    take: (Batch) throws(Failure) -> Void
  ) throws(Failure) {
    defer { belt.stop() }
    var free: [Int] = []
    /// The started batches, oldest first.
    var started: [Int] = []
    var filling = Filling.more
    while true {
      // Start work for the other threads first.
      if filling == .more, !free.isEmpty || belt.hasRoom {
        let index = if let index = free.popLast() { index } else { belt.add(try make()) }
        filling = try fill(belt[index])
        started.append(index)
        belt.start(index)
        continue
      }
      guard !started.isEmpty else { return }
      let index = started.removeFirst()
      // Process waiting batches until the oldest batch is done.
      belt.wait(for: index)
      try take(belt[index])
      free.append(index)
      if started.isEmpty, filling == .moreAfterTaking { filling = .more }
    }
  }
}

/// A conveyor's batches and their progress.
private final class Belt<Batch: AnyObject>: @unchecked Sendable {
  // Sendable, because a place is written before its batch first starts, a batch belongs to the thread that fills,
  // processes or takes it, and `work` is released after all threads have finished. `state` protects the progress, and
  // only the caller's thread uses the other variables.
  private let places: UnsafeMutableBufferPointer<Batch?>
  private var count = 0
  private var work: ((Batch) -> Void)?

  private struct State {
    /// The started batches that aren't processed yet, in order.
    var waiting: [Int] = []
    var working: Set<Int> = []
    /// The tasks that process batches, or will soon.
    var helpers = 0
    /// The batch that the caller waits for.
    var awaited: Int?
    var isStopped = false
  }

  /// More threads than cores would take turns with the caller's, which fills and takes every batch.
  private static var helperLimit: Int { max(coreCount - 1, 1) }

  private let workers: Conveyor<Batch>.Workers
  private let state = Mutex(State())
  private let awaitedSignal = DispatchSemaphore(value: 0)
  /// Counts the started batches for the single worker.
  private let started = DispatchSemaphore(value: 0)
  /// Only used by the caller's thread.
  private var isWorkerRunning = false

  init(limit: Int, _ workers: Conveyor<Batch>.Workers, _ work: @escaping (Batch) -> Void) {
    places = .allocate(capacity: limit)
    places.initialize(repeating: nil)
    self.workers = workers
    self.work = work
  }

  deinit {
    places.deinitialize()
    places.deallocate()
  }

  subscript(index: Int) -> Batch { places[index]! }

  // MARK: On the caller's thread

  var hasRoom: Bool { count < places.count }

  func add(_ batch: Batch) -> Int {
    places[count] = batch
    count += 1
    return count - 1
  }

  func start(_ index: Int) {
    switch workers {
    case .any:
      let needsHelper = state.withLock { state in
        state.waiting.append(index)
        guard state.helpers < Self.helperLimit else { return false }
        state.helpers += 1
        return true
      }
      guard needsHelper else { return }
      // A task sees the task-local values of the caller's task, which an app's own decoding can read.
      Task(priority: .userInitiated) { [self] in
        while performNext(isHelper: true) {}
      }
    case .oneInOrder:
      state.withLock { $0.waiting.append(index) }
      started.signal()
      if isWorkerRunning { return }
      isWorkerRunning = true
      // Keep one thread for the whole run. It waits between batches, so other work can't take its thread.
      onSeparateThread(.userInitiated) { [self] in
        repeat { started.wait() } while performNext()
      }
    }
  }

  func isDone(_ index: Int) -> Bool {
    state.withLock { !$0.working.contains(index) && !$0.waiting.contains(index) }
  }

  /// Processes the oldest waiting batch if the caller may, and returns whether it did.
  func processWaitingBatch() -> Bool {
    workers == .any && performNext()
  }

  func wait(for index: Int) {
    while !isDone(index) {
      if processWaitingBatch() { continue }
      let mustWait = state.withLock { state in
        guard state.working.contains(index) || state.waiting.contains(index) else { return false }
        state.awaited = index
        return true
      }
      if mustWait { awaitedSignal.wait() }
    }
  }

  /// Drops waiting batches, and waits for the rest.
  func stop() {
    let rest = state.withLock { state in
      state.isStopped = true
      state.waiting = []
      return state.working
    }
    if isWorkerRunning { started.signal() }
    for index in rest { wait(for: index) }
    // The queue may keep its closure, and therefore the belt, slightly longer than the closure runs.
    work = nil
    places.update(repeating: nil)
  }

  // MARK: On any thread

  private func begin(isHelper: Bool) -> Int? {
    state.withLock { state in
      guard !state.isStopped, !state.waiting.isEmpty, workers == .any || state.working.isEmpty else {
        if isHelper { state.helpers -= 1 }
        return nil
      }
      let index = state.waiting.removeFirst()
      state.working.insert(index)
      return index
    }
  }

  /// Processes the next batch, and returns `false` if there isn't one or the run was stopped.
  private func performNext(isHelper: Bool = false) -> Bool {
    guard let index = begin(isHelper: isHelper) else { return false }
    perform(index)
    return true
  }

  private func perform(_ index: Int) {
    work?(self[index])
    let isAwaited = state.withLock { state in
      state.working.remove(index)
      guard state.awaited == index else { return false }
      state.awaited = nil
      return true
    }
    if isAwaited { awaitedSignal.signal() }
  }
}
