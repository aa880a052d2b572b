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

  /// Waits for the end of the work; call once.
  func value() throws -> Value {
    ended.wait()
    return try result.withLock { $0 }!.get()
  }
}

/// Two places where a test and its thread wait for one another.
struct Meeting: Sendable {
  private let arrived = DispatchSemaphore(value: 0)
  private let mayLeave = DispatchSemaphore(value: 0)

  /// In the thread: says that it is here, and waits to be let go.
  func stop() {
    arrived.signal()
    mayLeave.wait()
  }

  func waitForArrival() { arrived.wait() }
  func letGo() { mayLeave.signal() }
}

/// Waits for a state of another thread that nothing else tells of.
func waitUntil(_ condition: () -> Bool) {
  while !condition() { sched_yield() }
}

/// Runs work that waits on a separate thread: the pool of tasks has two on a small machine, and waiting ones would
/// keep the tasks out that they wait for.
func onThread(_ work: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      work()
      continuation.resume()
    }
  }
}

/// Set by one thread or task, looked at by another.
final class Flag: Sendable {
  private let state = Atomic<Bool>(false)

  var isSet: Bool { state.load(ordering: .acquiring) }
  func set() { state.store(true, ordering: .releasing) }
}
