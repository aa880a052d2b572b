internal import CofferRecords

/// The documents that commits changed since the last change: their ids, never their text.
public struct StoreChange: Sendable, Hashable {
  /// The changed documents of one collection. A document that moves to another collection is deleted in the first and
  /// inserted in the second.
  public struct Documents: Sendable, Hashable {
    /// Documents that were added, or moved here from another collection.
    public internal(set) var inserted: Set<DocumentID> = []
    /// Text, title, key, attributes, parent or dates changed.
    public internal(set) var updated: Set<DocumentID> = []
    /// The place in the order changed.
    public internal(set) var moved: Set<DocumentID> = []
    /// Documents that were deleted, or moved to another collection.
    public internal(set) var deleted: Set<DocumentID> = []

    var count: Int { inserted.count + updated.count + moved.count + deleted.count }
  }

  /// The latest write transaction included.
  public internal(set) var generation: UInt64
  /// The changed documents by collection.
  public internal(set) var collections: [CollectionID: Documents] = [:]
  /// Collections that were created, renamed or dropped.
  public internal(set) var changedCollections: Set<CollectionID> = []
  /// False if more than 65,536 documents changed, or if many commits of other processes deleted documents: then no ids
  /// are reported, so reload what you show.
  public internal(set) var isComplete = true

  init(generation: UInt64) {
    self.generation = generation
  }

  /// Inserted documents of all collections.
  public var inserted: Set<DocumentID> { union(\.inserted) }
  /// Updated documents of all collections.
  public var updated: Set<DocumentID> { union(\.updated) }
  /// Moved documents of all collections.
  public var moved: Set<DocumentID> { union(\.moved) }
  /// Deleted documents of all collections.
  public var deleted: Set<DocumentID> { union(\.deleted) }

  private func union(_ kind: KeyPath<Documents, Set<DocumentID>>) -> Set<DocumentID> {
    collections.count == 1
      ? collections.first!.value[keyPath: kind]
      : collections.values.reduce(into: []) { $0.formUnion($1[keyPath: kind]) }
  }
}

/// A collection as subscribers follow it: one that was dropped, and one of the same number that was made later, are
/// two.
struct FollowedCollection: Equatable {
  let name: String
  let uid: UInt64

  /// Names are bytes: composed and decomposed forms are two names.
  func has(name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }

  static func == (one: FollowedCollection, other: FollowedCollection) -> Bool {
    one.uid == other.uid && one.has(name: other.name)
  }
}

// MARK: - Building and merging

extension StoreChange {
  var isEmpty: Bool { isComplete && collections.isEmpty && changedCollections.isEmpty }

  /// The documents of one transaction's changes. The collections that it changed are left out: their names tell more.
  init(_ changes: RingChanges, at generation: UInt64) {
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

  /// The changes of these collections only.
  func filtered(_ wanted: Set<CollectionID>) -> StoreChange {
    var change = self
    change.collections = collections.filter { wanted.contains($0.key) }
    change.changedCollections = changedCollections.intersection(wanted)
    return change
  }

  /// Combines this change with a later one.
  mutating func merge(_ later: StoreChange) {
    generation = max(generation, later.generation)
    isComplete = isComplete && later.isComplete
    changedCollections.formUnion(later.changedCollections)
    for (collection, documents) in later.collections {
      var merged = collections[collection] ?? Documents()
      merged.merge(documents)
      collections[collection] = merged.count == 0 ? nil : merged
    }
    bound()
  }

  /// Drops the ids if there are too many.
  mutating func bound() {
    let count = collections.values.reduce(0) { $0 + $1.count }
    if count > ChangeLog.limit { isComplete = false }
    if !isComplete { collections = collections.mapValues { _ in Documents() } }
  }
}

extension StoreChange.Documents {
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
      if inserted.remove(id) == nil { deleted.insert(id) }
    }
    for id in later.inserted {
      if deleted.remove(id) != nil {
        // Deleted, then inserted: another document takes its place.
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
