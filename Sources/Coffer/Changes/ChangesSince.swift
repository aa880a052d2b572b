internal import CofferRecords

/// The changes since an earlier state of the store.
struct ChangesSince {
  /// In the order of generations, or one that sums them up.
  let changes: [RingChanges]
  /// The collections that were made, renamed, changed or dropped; nil if any may have been.
  let collections: Set<UInt32>?

  /// - Parameter changes: of every generation, in order; none of them is "everything".
  init(_ changes: [RingChanges]) {
    self.changes = changes
    collections = changes.reduce(into: []) { $0.formUnion($1.collections) }
  }

  /// - Parameter sum: the changes of all generations.
  init(sum: RingChanges) {
    changes = [sum]
    collections = nil
  }
}
