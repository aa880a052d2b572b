internal import Dispatch
internal import Synchronization

/// Batches that the caller's thread fills, other threads work on, and the caller's thread takes back in the same order.
///
/// Every long walk over rows uses one: reading and searching, rekey, bulk insertion, export and salvage.
final class Conveyor<Batch: AnyObject> {
  /// The threads that work on batches.
  enum Workers {
    /// Any thread, several at once. The caller works too on batches that no other thread has begun, so it never waits
    /// for a thread that the pool does not give.
    case any
    /// One thread at a time, never the caller's, in the order in which batches were started: the work reads a source.
    case oneInOrder
  }

  /// The state of the source after a batch was filled.
  enum Filling {
    /// More may follow.
    case more
    /// More may follow, but only after this batch was taken.
    case moreAfterTaking
    case end
  }

  private let belt: Belt<Batch>

  /// - Parameters:
  ///   - limit: the most batches under way; more would only take memory.
  ///   - work: runs on another thread, which alone uses the batch meanwhile.
  init(limit: Int, workers: Workers, work: @escaping (Batch) -> Void) {
    belt = Belt(limit: limit, workers, work)
  }

  /// Runs until `fill` has returned `end` and every batch was taken, or until a closure throws. No work is under way
  /// when it returns.
  ///
  /// - Parameters:
  ///   - make: makes a new batch, up to the limit; batches that were taken are filled again.
  ///   - fill: on the caller's thread; then the batch is worked on.
  ///   - take: on the caller's thread, in the order of filling.
  func run<Failure: Error>(
    make: () throws(Failure) -> Batch, fill: (Batch) throws(Failure) -> Filling,
    take: (Batch) throws(Failure) -> Void
  ) throws(Failure) {
    defer { belt.stop() }
    var free: [Int] = []
    /// The oldest first.
    var started: [Int] = []
    var filling = Filling.more
    while true {
      // The other threads get work first.
      if filling == .more, !free.isEmpty || belt.hasRoom {
        let index = if let index = free.popLast() { index } else { belt.add(try make()) }
        filling = try fill(belt[index])
        started.append(index)
        belt.start(index)
        continue
      }
      guard !started.isEmpty else { return }
      let index = started.removeFirst()
      // Until the oldest batch is done, works on batches that no thread has begun.
      belt.wait(for: index)
      try take(belt[index])
      free.append(index)
      if started.isEmpty, filling == .moreAfterTaking { filling = .more }
    }
  }
}

/// The batches of one conveyor, by index, and their progress.
private final class Belt<Batch: AnyObject>: @unchecked Sendable {
  // A place is written before its batch is first started, and a batch belongs to the thread that fills, works on or
  // takes it; `work` is released when no thread works any more. Everything else is behind `state`.
  private let places: UnsafeMutableBufferPointer<Batch?>
  private var count = 0
  private var work: ((Batch) -> Void)?

  private struct State {
    /// Started but not yet begun, in order.
    var waiting: [Int] = []
    var working: Set<Int> = []
    /// The caller waits for this one.
    var awaited: Int?
    var isStopped = false
  }

  private let workers: Conveyor<Batch>.Workers
  private let state = Mutex(State())
  private let awaitedIsDone = DispatchSemaphore(value: 0)
  /// Counts the batches started for the one thread that works in order.
  private let started = DispatchSemaphore(value: 0)
  /// Used on the caller's thread only.
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
    state.withLock { $0.waiting.append(index) }
    switch workers {
    case .any:
      DispatchQueue.global(qos: .userInitiated).async { [self] in
        while performNext() {}
      }
    case .oneInOrder:
      started.signal()
      if isWorkerRunning { return }
      isWorkerRunning = true
      // One thread for the whole run: between batches it waits, so that no other work takes its place.
      onSeparateThread(.userInitiated) { [self] in
        repeat { started.wait() } while performNext()
      }
    }
  }

  func isDone(_ index: Int) -> Bool {
    state.withLock { !$0.working.contains(index) && !$0.waiting.contains(index) }
  }

  /// Works on the oldest batch that no thread has begun.
  ///
  /// - Returns: false if there is none.
  func workHere() -> Bool {
    workers == .any && performNext()
  }

  func wait(for index: Int) {
    while !isDone(index) {
      if workHere() { continue }
      let mustWait = state.withLock { state in
        guard state.working.contains(index) || state.waiting.contains(index) else { return false }
        state.awaited = index
        return true
      }
      if mustWait { awaitedIsDone.wait() }
    }
  }

  /// Drops the batches that no thread has begun, and waits for the rest.
  func stop() {
    let rest = state.withLock { state in
      state.isStopped = true
      state.waiting = []
      return state.working
    }
    if isWorkerRunning { started.signal() }
    for index in rest { wait(for: index) }
    // The queue may keep its closure, and so the belt, a little longer than the closure runs.
    work = nil
    places.update(repeating: nil)
  }

  // MARK: On any thread

  private func begin() -> Int? {
    state.withLock { state in
      guard !state.isStopped, !state.waiting.isEmpty, workers == .any || state.working.isEmpty else { return nil }
      let index = state.waiting.removeFirst()
      state.working.insert(index)
      return index
    }
  }

  /// - Returns: false if no batch waits, or the run was stopped.
  private func performNext() -> Bool {
    guard let index = begin() else { return false }
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
    if isAwaited { awaitedIsDone.signal() }
  }
}
