internal import CofferRecords

/// The IDs of documents that commits changed since the last change. A change never contains text.
public struct StoreChange: Sendable, Hashable {
  /// The changed documents in a collection. If a document moves to another collection, it's deleted in the first
  /// collection and inserted in the second.
  public struct Documents: Sendable, Hashable {
    /// The documents added or moved here from another collection.
    public package(set) var inserted: Set<DocumentID> = []
    /// The documents whose text, title, key, attributes, parent, dates or attachments changed.
    public package(set) var updated: Set<DocumentID> = []
    /// The documents whose position in the order changed.
    public package(set) var moved: Set<DocumentID> = []
    /// The documents deleted or moved to another collection.
    public package(set) var deleted: Set<DocumentID> = []
    /// Whether documents were inserted and deleted again, so no other member has them.
    var hasCancelled = false

    package init() {}

    var count: Int { inserted.count + updated.count + moved.count + deleted.count }
  }

  /// The generation of the latest included write transaction.
  public package(set) var generation: UInt64
  /// The changed documents by collection.
  public package(set) var collections: [CollectionID: Documents] = [:]
  /// The created, renamed or dropped collections, and collections that started or stopped folding keys.
  public package(set) var changedCollections: Set<CollectionID> = []
  /// A Boolean value that indicates whether all IDs are reported.
  ///
  /// If more than 65,536 documents changed, or many commits of other processes deleted documents, this is `false` and
  /// IDs aren't reported, so reload your documents.
  public package(set) var isComplete = true

  package init(generation: UInt64) {
    self.generation = generation
  }

  /// The inserted documents in all collections.
  public var inserted: Set<DocumentID> { union(\.inserted) }
  /// The updated documents in all collections.
  public var updated: Set<DocumentID> { union(\.updated) }
  /// The moved documents in all collections.
  public var moved: Set<DocumentID> { union(\.moved) }
  /// The deleted documents in all collections.
  public var deleted: Set<DocumentID> { union(\.deleted) }

  private func union(_ kind: KeyPath<Documents, Set<DocumentID>>) -> Set<DocumentID> {
    collections.count == 1
      ? collections.first!.value[keyPath: kind]
      : collections.values.reduce(into: []) { $0.formUnion($1[keyPath: kind]) }
  }
}

/// A collection's identity for subscribers, which differs if a collection is dropped and its number reused.
struct FollowedCollection: Equatable {
  let name: String
  let uid: UniqueID
  let foldsKeys: Bool

  /// Compares bytes, because composed and decomposed forms are different names.
  func has(name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }

  static func == (one: FollowedCollection, other: FollowedCollection) -> Bool {
    one.uid == other.uid && one.has(name: other.name) && one.foldsKeys == other.foldsKeys
  }
}

// MARK: - Building and merging

extension StoreChange {
  var isEmpty: Bool { isComplete && collections.isEmpty && changedCollections.isEmpty }

  /// Creates a change with a transaction's documents, but not its collections, because comparing names is more exact.
  package init(_ changes: RingChanges, at generation: UInt64) {
    self.init(generation: generation)
    guard case .entries(let entries) = changes else {
      isComplete = false
      return
    }
    var count = 0
    for entry in entries where entry.kind != .collection {
      for ids in entry.ranges where count <= ChangeLog.limit { count += min(ids.count, ChangeLog.limit + 1) }
    }
    isComplete = count <= ChangeLog.limit
    for entry in entries where entry.kind != .collection {
      let ranges = isComplete ? entry.ranges : []
      collections[CollectionID(entry.collection), default: Documents()].add(ranges, entry.kind)
    }
  }

  /// Returns the changes in these collections.
  func filtered(_ wanted: Set<CollectionID>) -> StoreChange {
    var change = self
    change.collections = collections.filter { wanted.contains($0.key) }
    change.changedCollections = changedCollections.intersection(wanted)
    return change
  }

  /// Combines this change with a later change.
  package mutating func merge(_ later: StoreChange) {
    generation = max(generation, later.generation)
    isComplete = isComplete && later.isComplete
    changedCollections.formUnion(later.changedCollections)
    for (collection, documents) in later.collections {
      var merged = collections[collection] ?? Documents()
      merged.merge(documents)
      collections[collection] = merged.isEmpty ? nil : merged
    }
    bound()
  }

  /// Forgets that documents were inserted and deleted again.
  mutating func forgetCancelled() {
    guard isComplete else { return }
    for collection in collections.keys {
      collections[collection]?.hasCancelled = false
      if collections[collection]?.isEmpty == true { collections[collection] = nil }
    }
  }

  /// Removes the IDs if there are too many.
  mutating func bound() {
    let count = collections.values.reduce(0) { $0 + $1.count }
    if count > ChangeLog.limit { isComplete = false }
    if !isComplete { collections = collections.mapValues { _ in Documents() } }
  }
}

extension StoreChange.Documents {
  fileprivate var isEmpty: Bool { count == 0 && !hasCancelled }

  fileprivate mutating func add(_ ranges: [ClosedRange<Int64>], _ kind: RingChanges.Kind) {
    for ids in ranges {
      let ids = ids.lazy.map { DocumentID($0) }
      switch kind {
      case .inserted: inserted.formUnion(ids)
      case .textChanged, .headChanged: updated.formUnion(ids)
      case .moved: moved.formUnion(ids)
      case .deleted: deleted.formUnion(ids)
      case .collection: break
      }
    }
  }

  fileprivate mutating func merge(_ later: StoreChange.Documents) {
    for id in later.deleted {
      updated.remove(id)
      moved.remove(id)
      if inserted.remove(id) == nil { deleted.insert(id) } else { hasCancelled = true }
    }
    hasCancelled = hasCancelled || later.hasCancelled
    for id in later.inserted {
      if deleted.remove(id) != nil {
        // Another document replaced the deleted document.
        updated.insert(id)
        moved.insert(id)
      } else {
        inserted.insert(id)
      }
    }
    updated.formUnion(later.updated.subtracting(inserted))
    moved.formUnion(later.moved.subtracting(inserted))
  }
}
