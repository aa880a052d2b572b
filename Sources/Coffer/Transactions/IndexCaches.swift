internal import Synchronization

/// The memory of an open store for opened index pages, shared out equally among the inner databases that are open.
final class IndexCaches: Sendable {
  private let byteCount: Int
  private let users = Atomic<Int>(0)

  init(byteCount: Int) {
    self.byteCount = byteCount
  }

  /// The bytes for one inner database. It changes as others open and close.
  var share: Int { byteCount / max(users.load(ordering: .relaxed), 1) }

  /// One open inner database, until it is released.
  final class Place: Sendable {
    private let caches: IndexCaches

    init(_ caches: IndexCaches) {
      self.caches = caches
      caches.users.add(1, ordering: .relaxed)
    }

    deinit {
      caches.users.subtract(1, ordering: .relaxed)
    }

    var share: Int { caches.share }
  }
}
