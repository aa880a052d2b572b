internal import Dispatch
internal import Synchronization

/// Two stages on two threads with batches that go round: the caller's thread consumes, another produces.
enum Pipeline {
  /// Batches in flight; more would only take memory.
  private static let batchCount = 3

  /// Runs until the producer has no more, or either stage throws; returns when both have ended.
  ///
  /// `produce` runs on another thread, and nobody else may use what it uses meanwhile.
  static func run(produce: (SealedBatch) throws -> Bool, consume: (SealedBatch) throws -> Void) throws {
    let channel = Channel((0..<batchCount).map { _ in SealedBatch() })
    try withoutActuallyEscaping(produce) { produce in
      let work = Work(produce)
      let done = DispatchSemaphore(value: 0)
      DispatchQueue.global(qos: .userInitiated).async {
        channel.finish(
          Result {
            while let batch = channel.takeEmpty(), try work.produce!(batch) { channel.putFull(batch) }
          })
        // The queue may keep this closure a little longer than it runs; the producer must not live in it.
        work.produce = nil
        done.signal()
      }
      // Whatever happens here, the producer is waited for: it works on what the caller owns.
      defer {
        channel.stop()
        done.wait()
      }
      while let batch = try channel.takeFull() {
        try consume(batch)
        batch.removeAll()
        channel.putEmpty(batch)
      }
    }
  }

  /// The producer, let go of by its thread before the caller goes on.
  private final class Work: @unchecked Sendable {
    // `run` waits for the other thread before it returns, and does not touch it meanwhile.
    var produce: ((SealedBatch) throws -> Bool)?

    init(_ produce: @escaping (SealedBatch) throws -> Bool) {
      self.produce = produce
    }
  }

  /// A value that one thread hands to another and does not touch until that one has ended.
  private struct Handover<Value>: @unchecked Sendable {
    // `run` waits for the other thread before it returns.
    let value: Value
  }

  /// Full and empty batches on their way between the stages.
  private final class Channel: @unchecked Sendable {
    // All state is behind `state`; a batch belongs to whoever took it.
    private struct State {
      var empty: [SealedBatch]
      var full: [SealedBatch] = []
      var result: Result<Void, any Error>?
      var isStopped = false
    }

    private let state: Mutex<Handover<State>>
    private let emptyCount: DispatchSemaphore
    private let fullCount = DispatchSemaphore(value: 0)

    init(_ batches: [SealedBatch]) {
      // Counted up from 0: a semaphore may not be let go of below the value that it began with.
      emptyCount = DispatchSemaphore(value: 0)
      for _ in batches { emptyCount.signal() }
      state = Mutex(Handover(value: State(empty: batches)))
    }

    private func change<R>(_ body: (inout State) -> R) -> R {
      let result = state.withLock { held in
        var state = held.value
        let result = Handover(value: body(&state))
        held = Handover(value: state)
        return result
      }
      return result.value
    }

    /// nil once the consumer has stopped.
    func takeEmpty() -> SealedBatch? {
      emptyCount.wait()
      return change { $0.isStopped ? nil : $0.empty.removeLast() }
    }

    func putEmpty(_ batch: SealedBatch) {
      change { $0.empty.append(batch) }
      emptyCount.signal()
    }

    func putFull(_ batch: SealedBatch) {
      change { $0.full.append(batch) }
      fullCount.signal()
    }

    /// nil at the end of a good production.
    func takeFull() throws -> SealedBatch? {
      fullCount.wait()
      let (batch, result) = change { state in
        (state.full.isEmpty ? nil : state.full.removeFirst(), state.result)
      }
      if let batch { return batch }
      try result?.get()
      return nil
    }

    func finish(_ result: Result<Void, any Error>) {
      change { $0.result = result }
      fullCount.signal()
    }

    func stop() {
      change { $0.isStopped = true }
      emptyCount.signal()
    }
  }
}
