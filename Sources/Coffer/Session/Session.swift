internal import CofferSealing
internal import Synchronization

/// What all connections of one open store share: the keys, and the latest generation that was seen.
final class Session: Sendable {
  private struct Known {
    var keys: SessionKeys
    var generation: UInt64
  }

  private let known: Mutex<Known>

  init(keys: SessionKeys, generation: UInt64) {
    known = Mutex(Known(keys: keys, generation: generation))
  }

  var keys: SessionKeys {
    known.withLock { $0.keys }
  }

  /// Notes the generation a transaction found or made.
  ///
  /// - Throws: `rolledBack` when a later one was seen: somebody put an older state back.
  func note(generation: UInt64) throws(StoreError) {
    let seen = known.withLock { known in
      defer { known.generation = max(known.generation, generation) }
      return known.generation
    }
    guard generation >= seen else {
      throw StoreError(
        .rolledBack, "the store was put back to an older state (generation \(generation) after \(seen))",
        hint: "somebody restored an older file: close the store, and compare it with its anchor")
    }
  }

  /// After a change of header or slots, by this process or another.
  func replaceKeys(_ keys: SessionKeys) {
    known.withLock { $0.keys = keys }
  }
}
