internal import CofferRecords

/// The changes since an earlier state of the store.
struct ChangesSince {
  /// The changes of each generation in order, or their sum.
  let changes: [RingChanges]
  /// The created, renamed, changed or dropped collections, or `nil` if they're unknown.
  let collections: Set<UInt32>?

  /// Creates the value from the changes of each generation in order, without `everything`.
  init(_ changes: [RingChanges]) {
    self.changes = changes
    collections = changes.reduce(into: []) { $0.formUnion($1.collections) }
  }

  /// Creates the value from the sum of all changes.
  init(sum: RingChanges) {
    changes = [sum]
    collections = nil
  }
}
