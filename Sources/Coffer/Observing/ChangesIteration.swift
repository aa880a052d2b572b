internal import CofferEngine
internal import CofferRecords
internal import Synchronization

/// An iteration over the IDs that commits changed.
final class ChangesIteration: ObservationIteration {
  private let subscription: ChangeSubscription
  private let last = Atomic<UInt64>(0)

  init(_ subscription: ChangeSubscription) {
    self.subscription = subscription
  }

  var generation: UInt64 { last.load(ordering: .relaxed) }

  func next() async throws(StoreError) -> StoreChange? {
    let change = try await subscription.subscriber.next()
    if let change { last.store(change.generation, ordering: .relaxed) }
    return change
  }
}

/// A sequence's first subscription, until its first iterator takes it.
final class FirstSubscription: Sendable {
  private let subscription: Mutex<ChangeSubscription?>

  init(_ subscription: ChangeSubscription) {
    self.subscription = Mutex(subscription)
  }

  func take() -> ChangeSubscription? {
    subscription.withLock { $0.take() }
  }
}
