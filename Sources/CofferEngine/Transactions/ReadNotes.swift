internal import CofferRecords

/// The parts of a store that a transaction read, which an observation compares with changes.
package final class ReadNotes: @unchecked Sendable {
  // Sendable because one thread at a time reads for an observation, and the observation uses its notes afterward.
  /// The maximum number of single documents. With more, every change counts.
  private static let maximumDocuments = ChangeLog.limit

  private var isEverything = false
  private var collections: Set<UInt32> = []
  private var documents: Set<DocumentID> = []

  package init() {}

  /// Notes reads that any commit may change.
  package func noteEverything() {
    isEverything = true
    documents = []
  }

  /// Records reads of these collections, or of the whole store if they're unknown.
  package func note(_ collections: Set<UInt32>?) {
    guard let collections else { return noteEverything() }
    self.collections.formUnion(collections)
  }

  func note(_ collection: UInt32) {
    collections.insert(collection)
  }

  /// Notes a read of a document, even if it's missing.
  func note(_ id: DocumentID) {
    guard !isEverything else { return }
    documents.insert(id)
    if documents.count > Self.maximumDocuments { noteEverything() }
  }

  /// Returns whether the same reads may give another result after a change.
  package func mayDiffer(after change: StoreChange) -> Bool {
    // Names may refer to other collections.
    if isEverything || !change.isComplete || !change.changedCollections.isEmpty { return true }
    return change.collections.contains { collection, changed in
      collections.contains(collection.rawValue) || !documents.isEmpty && changed.mayContain(any: documents)
    }
  }
}

extension StoreChange.Documents {
  fileprivate func mayContain(any ids: Set<DocumentID>) -> Bool {
    hasCancelled || [inserted, updated, moved, deleted].contains { !$0.isDisjoint(with: ids) }
  }
}
