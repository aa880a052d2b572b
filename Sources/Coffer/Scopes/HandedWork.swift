internal import Dispatch
internal import Synchronization

/// Work that one thread hands to another, and does itself where no other has begun when it needs the result.
///
/// So whoever waits goes on even where every thread of the pool waits for something else.
final class HandedWork: @unchecked Sendable {
  // Whoever claims the work does it. The giver touches nothing of it between `start` and the end of `finish`.
  private var work: (() -> Void)?
  private let phase = Atomic<Int>(Phase.done)
  private let done = DispatchSemaphore(value: 0)
  /// Nobody else has done it, so nobody says when it is done.
  private var isDoneHere = true

  private enum Phase {
    static let handedOver = 0
    static let claimed = 1
    static let done = 2
  }

  /// Hands over; `finish` or `abandon` must follow before the next.
  func start(_ work: @escaping () -> Void) {
    self.work = work
    isDoneHere = false
    phase.store(Phase.handedOver, ordering: .releasing)
    DispatchQueue.global(qos: .userInitiated).async { [self] in
      guard claim() else { return }
      self.work?()
      phase.store(Phase.done, ordering: .releasing)
      done.signal()
    }
  }

  /// Whether `finish` would return at once.
  var isDone: Bool { phase.load(ordering: .acquiring) == Phase.done }

  /// Does the work on the giver's thread, unless another has begun.
  func doHere() -> Bool {
    guard claim() else { return false }
    work?()
    isDoneHere = true
    phase.store(Phase.done, ordering: .releasing)
    return true
  }

  /// Returns when the work is done.
  func finish() {
    if !isDoneHere, !doHere() { done.wait() }
    isDoneHere = true
    work = nil
  }

  /// In place of `finish` where nobody wants the result any more: waits only for a thread that is at work.
  func abandon() {
    if !isDoneHere {
      if claim() { phase.store(Phase.done, ordering: .releasing) } else { done.wait() }
    }
    isDoneHere = true
    work = nil
  }

  private func claim() -> Bool {
    phase.compareExchange(expected: Phase.handedOver, desired: Phase.claimed, ordering: .acquiringAndReleasing)
      .exchanged
  }
}
