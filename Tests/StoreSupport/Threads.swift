import Dispatch
import Foundation
import Synchronization

/// A thread whose result a test waits for.
final class Background<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  init(_ work: @escaping @Sendable () throws -> Value) {
    Thread.detachNewThread { [self] in
      let value = Result { try work() }
      result.withLock { $0 = value }
      ended.signal()
    }
  }

  /// Waits for the result. Call this method only once.
  func value() throws -> Value {
    ended.wait()
    return try result.withLock { $0 }!.get()
  }
}

/// A meeting point where a test and a thread wait for each other.
struct Meeting: Sendable {
  private let arrived = DispatchSemaphore(value: 0)
  private let mayLeave = DispatchSemaphore(value: 0)

  /// Signals the thread's arrival, and waits until the test releases it.
  func stop() {
    arrived.signal()
    mayLeave.wait()
  }

  func waitForArrival() { arrived.wait() }
  func letGo() { mayLeave.signal() }
}

/// Runs blocking work on a separate thread. The task pool of a small machine has only two threads, so waiting tasks
/// could block the tasks they wait for.
func onThread(_ work: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      work()
      continuation.resume()
    }
  }
}

/// A flag that one thread or task sets and another reads.
final class Flag: Sendable {
  private let state = Atomic<Bool>(false)

  var isSet: Bool { state.load(ordering: .acquiring) }
  func set() { state.store(true, ordering: .releasing) }
}
