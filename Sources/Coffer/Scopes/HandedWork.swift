internal import Dispatch
internal import Synchronization

/// Work that one thread hands to another, and does itself where no other has begun when it needs the result.
///
/// So whoever waits goes on even where every thread of the pool waits for something else.
final class HandedWork: @unchecked Sendable {
  // Whoever claims the work does it. The giver touches nothing of it between `start` and the end of `finish`.
  private var work: (() -> Void)?
  private let isClaimed = Atomic<Bool>(true)
  private let done = DispatchSemaphore(value: 0)

  /// Hands over; `finish` must follow before the next.
  func start(_ work: @escaping () -> Void) {
    self.work = work
    isClaimed.store(false, ordering: .releasing)
    DispatchQueue.global(qos: .userInitiated).async { [self] in
      guard claim() else { return }
      self.work?()
      done.signal()
    }
  }

  /// Returns when the work is done.
  func finish() {
    if claim() {
      work?()
    } else {
      done.wait()
    }
    work = nil
  }

  private func claim() -> Bool {
    isClaimed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
  }
}
