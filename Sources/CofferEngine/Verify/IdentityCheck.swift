internal import CofferRecords

/// Compares what documents say about each other: no identity twice, and parents that are the named ones.
struct IdentityCheck {
  struct Seen {
    let id: Int64
    let uid: UniqueID
    let collection: UInt32
    /// The parent's ID in the row.
    let parent: Int64?
    /// The parent's identity in the head.
    let parentUID: UniqueID?
  }

  private var seen: [Seen] = []

  mutating func add(_ more: [Seen]) { seen += more }

  /// Returns the documents and deletions that contradict each other in one transaction.
  ///
  /// Documents may have changed since they were seen, so those that look wrong are read again.
  func findings(_ transaction: StoreTransaction) throws(StoreError) -> (damaged: [Verdict.Damage], problems: [String]) {
    var damaged: [Verdict.Damage] = []
    var problems: [String] = []
    func note(_ id: Int64, _ reason: String) {
      damaged.append(Verdict.Damage(id: DocumentID(id), reason: "document \(id) is damaged: \(reason)"))
    }
    var known: [UniqueID: Int64] = [:]
    known.reserveCapacity(seen.count)
    for document in seen {
      guard let other = known.updateValue(document.id, forKey: document.uid) else { continue }
      if let now = try reread(document, transaction), let then = try reread(other, transaction), now.uid == then.uid {
        note(document.id, "document \(other) has its identity")
      }
    }
    let children = seen.filter { $0.parent != nil }
    let parents = Set(children.map { $0.parent! })
    let places = Dictionary(seen.filter { parents.contains($0.id) }.map { ($0.id, $0) }) { _, last in last }
    for document in children {
      guard let parent = document.parent, isWrong(document, parent, places[parent]) else { continue }
      guard let now = try reread(document, transaction), let parent = now.parent,
        isWrong(now, parent, try reread(parent, transaction))
      else { continue }
      note(document.id, "its row names another parent than its head")
    }
    do throws(StoreError) {
      let (replicas, counter) = (try transaction.replicas, transaction.state.counter)
      var deleted: Set<UniqueID> = []
      try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
        let deletion = try DeletionRecord(row, transaction.keys)
        guard (deletion.dots + [deletion.stamp]).allSatisfy({ replicas.covers($0, ownCounter: counter) }) else {
          throw .damagedStore("deletion #\(deletion.number) names a change that the store doesn't include")
        }
        guard deleted.insert(deletion.uid).inserted else {
          throw .damagedStore("deletion #\(deletion.number) is there twice")
        }
        if let id = known[deletion.uid], try reread(id, transaction)?.uid == deletion.uid {
          note(id, "it is deleted, too")
        }
      }
      for record in try transaction.storedCollections() {
        guard (record.dots.parts + [record.dots.stamp]).allSatisfy({ replicas.covers($0, ownCounter: counter) }) else {
          throw .damagedStore("collection #\(record.id) names a change that the store doesn't include")
        }
      }
    } catch {
      guard !error.isTransient, error.code != .otherFormat else { throw error }
      problems.append(error.message)
    }
    return (damaged, problems)
  }

  private func isWrong(_ document: Seen, _ parent: Int64, _ found: Seen?) -> Bool {
    guard let uid = document.parentUID else { return true }
    return found.map { $0.uid != uid || $0.collection != document.collection } ?? false
  }

  private func reread(_ document: Seen, _ transaction: StoreTransaction) throws(StoreError) -> Seen? {
    try reread(document.id, transaction)
  }

  private func reread(_ id: Int64, _ transaction: StoreTransaction) throws(StoreError) -> Seen? {
    do throws(StoreError) {
      return try transaction.reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(id), withBody: false, within: transaction.limits)
        let head = try reader.opener.openHead(row, acceptsNewer: true)
        return Seen(
          id: id, uid: head.uid, collection: row.fields.collection, parent: row.fields.parent, parentUID: head.parent)
      }
    } catch {
      // Damage is reported where it's met.
      guard !error.isTransient else { throw error }
      return nil
    }
  }
}
