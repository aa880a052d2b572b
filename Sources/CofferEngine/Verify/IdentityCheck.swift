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

  /// Returns the documents and deletions that contradict each other in the transaction in which they were seen.
  ///
  /// - Parameter attachments: The identities of attachments, with the IDs of their documents.
  func findings(
    _ transaction: StoreTransaction, attachments: [(uid: UniqueID, document: Int64)]
  ) throws(StoreError) -> (damaged: [Verdict.Damage], problems: [String]) {
    var damaged: [Verdict.Damage] = []
    var problems: [String] = []
    func note(_ id: Int64, _ reason: String) {
      damaged.append(Verdict.Damage(id: DocumentID(id), reason: "document \(id) is damaged: \(reason)"))
    }
    var known: [UniqueID: Int64] = [:]
    known.reserveCapacity(seen.count)
    for document in seen {
      guard let other = known.updateValue(document.id, forKey: document.uid) else { continue }
      note(document.id, "document \(other) has its identity")
    }
    for attachment in attachments {
      guard known.updateValue(attachment.document, forKey: attachment.uid) != nil else { continue }
      note(attachment.document, "an attachment has the identity of something else")
    }
    let children = seen.filter { $0.parent != nil }
    let parents = Set(children.map { $0.parent! })
    let places = Dictionary(seen.filter { parents.contains($0.id) }.map { ($0.id, $0) }) { _, last in last }
    for document in children {
      guard let parent = document.parent, isWrong(document, places[parent]) else { continue }
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
        if let id = known[deletion.uid] { note(id, "it is deleted, too") }
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

  private func isWrong(_ document: Seen, _ found: Seen?) -> Bool {
    guard let uid = document.parentUID else { return true }
    return found.map { $0.uid != uid || $0.collection != document.collection } ?? false
  }
}
