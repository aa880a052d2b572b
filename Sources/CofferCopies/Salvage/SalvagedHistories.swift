internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The consistent identities and dots of salvaged rows.
///
/// A damaged store's rows are individually authentic, but can be from different times. Two rows can have the same
/// identity, and rows can refer to missing commits and parents. The new store's rows are consistent.
///
/// Use it on one thread at a time. Memory use grows with the number of documents, by about 100 bytes for each.
final class SalvagedHistories {
  private struct Place {
    let uid: UniqueID
    let collection: UInt32
  }

  private struct Child {
    let id: Int64
    let parent: Int64
    let parentUID: UniqueID
  }

  /// The maximum distance of a row's counter above the state's counter, so a forged counter can't use up all counters.
  private static let maximumDistance: UInt64 = 1 << 32

  private let heritage: StoreHeritage?
  private var places: [Int64: Place] = [:]
  private var identities: Set<UniqueID> = []
  private var children: [Child] = []
  /// The greatest counter of each replica in the rows, which can be newer than the state.
  private var counters: [UInt32: UInt64] = [:]

  init(_ heritage: StoreHeritage?) { self.heritage = heritage }

  /// Notes the commits that a row names, unless the store can't have made them.
  ///
  /// - Returns: Whether the new store can include all of them.
  private func includes(_ dots: [Dot]) -> Bool {
    guard let heritage else { return false }
    let limit = heritage.counter + Self.maximumDistance
    guard dots.allSatisfy({ $0.replica < heritage.replicas.entries.count && $0.counter <= limit }) else { return false }
    for dot in dots { counters[dot.replica] = max(counters[dot.replica] ?? 0, dot.counter) }
    return true
  }

  /// Returns a collection with dots and an identity that the new store can have.
  func consistent(_ collection: CollectionRecord, _ copier: RowCopier) throws(StoreError) -> CollectionRecord {
    var copy = collection
    if !includes(copy.dots.parts + [copy.dots.stamp]) { copy.dots = CollectionDots(copier.dot) }
    while !identities.insert(copy.uid).inserted { copy.uid = try copier.newUID() }
    return copy
  }

  /// Returns the history that a document gets in the new store.
  func history(_ row: RecordRow, _ head: HeadData, _ copier: RowCopier) throws(StoreError) -> DocumentHistory {
    var history = try copier.history(of: head)
    let dots = history.decodedDots
    var isNew = !includes(dots.parts + [dots.stamp, dots.kept])
    while !identities.insert(history.uid).inserted {
      history.uid = try copier.newUID()
      isNew = true
    }
    if isNew { history.dots = DocumentDots.bytes(ofNew: copier.dot) }
    let id = row.fields.id
    places[id] = Place(uid: history.uid, collection: row.fields.collection)
    if let parent = row.fields.parent, let uid = history.parent {
      children.append(Child(id: id, parent: parent, parentUID: uid))
    }
    return history
  }

  /// Returns the identity and the dots that an attachment gets in the new store.
  func names(of attachment: AttachmentRecord, _ copier: RowCopier) throws(StoreError) -> (
    uid: UniqueID, born: Dot, nameDot: Dot
  ) {
    var names = try copier.names(of: attachment)
    var isNew = !includes([names.born, names.nameDot])
    while !identities.insert(names.uid).inserted {
      names.uid = try copier.newUID()
      isNew = true
    }
    if isNew { (names.born, names.nameDot) = (copier.dot, copier.dot) }
    return names
  }

  /// Returns whether a deletion can be copied. Its identity must differ from all documents, and the store must be able
  /// to have made it.
  func accepts(_ deletion: DeletionRecord) -> Bool {
    !identities.contains(deletion.uid) && includes(deletion.dots + [deletion.stamp])
      && identities.insert(deletion.uid).inserted
  }

  /// Removes the parents of inserted documents that name another document than their heads do.
  func removeWrongParents(in target: StoreTransaction) throws(StoreError) {
    for child in children {
      guard let parent = places[child.parent], let place = places[child.id],
        parent.uid != child.parentUID || parent.collection != place.collection,
        try target.hasRow(DocumentID(child.id)), try target.hasRow(DocumentID(child.parent))
      else { continue }
      try target.writer.setParentRow(of: DocumentID(child.id), to: nil)
    }
    children = []
  }

  /// Makes the new store include all commits that its rows name.
  func raiseCounters(of target: StoreTransaction) throws(StoreError) {
    let writer = try target.writer
    try writer.raiseCounter(above: counters.values.max() ?? 0)
    let counters = counters
    try writer.changeReplicas { replicas throws(StoreError) in
      for (number, counter) in counters where number < replicas.entries.count && number != replicas.own {
        replicas[number].counter = max(replicas[number].counter, counter)
      }
    }
  }
}
