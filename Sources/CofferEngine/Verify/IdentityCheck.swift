internal import CofferRecords

/// A check that identities are unique, and that parents match the identities in their children.
struct IdentityCheck {
  /// The identity of a document or attachment, kept small because every document has one.
  private struct Known: Comparable {
    let uid: UniqueID
    let document: Int64
    let collection: UInt32
    let isAttachment: Bool

    static func < (lhs: Known, rhs: Known) -> Bool {
      // Compare the parts directly, because calling UniqueID's operators takes most of the sorting time.
      guard lhs.uid.high == rhs.uid.high else { return lhs.uid.high < rhs.uid.high }
      guard lhs.uid.low == rhs.uid.low else { return lhs.uid.low < rhs.uid.low }
      return lhs.isAttachment == rhs.isAttachment ? lhs.document < rhs.document : rhs.isAttachment
    }
  }

  /// A document with a parent.
  private struct Child {
    let id: Int64
    let collection: UInt32
    /// The parent's ID in the row, and its identity in the head.
    let parent: Int64
    let parentUID: UniqueID?
  }

  private var documents: [Known] = []
  private var children: [Child] = []

  /// Adds a document.
  ///
  /// - Parameter parentUID: The parent's identity in the head.
  mutating func add(_ fields: RowFields, uid: UniqueID, parentUID: UniqueID?) {
    documents.append(Known(uid: uid, document: fields.id, collection: fields.collection, isAttachment: false))
    guard let parent = fields.parent else { return }
    children.append(
      Child(id: fields.id, collection: fields.collection, parent: parent, parentUID: parentUID))
  }

  mutating func add(_ more: IdentityCheck) {
    documents += more.documents
    children += more.children
  }

  mutating func removeAll() {
    documents.removeAll(keepingCapacity: true)
    children.removeAll(keepingCapacity: true)
  }

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
    // Sorting is faster than filling a dictionary, whose table exceeds the processor's caches.
    var known = documents
    known += attachments.map { Known(uid: $0.uid, document: $0.document, collection: 0, isAttachment: true) }
    known.sort()
    for (first, second) in zip(known, known.dropFirst()) where first.uid == second.uid {
      note(
        second.document,
        second.isAttachment
          ? "an attachment has the identity of something else" : "document \(first.document) has its identity")
    }
    let parents = self.parents()
    for child in children where isWrong(child, parents[child.parent]) {
      note(child.id, "its row names another parent than its head")
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
        if let id = Self.document(of: deletion.uid, in: known) { note(id, "it is deleted, too") }
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

  /// Returns the documents that are parents, by their IDs.
  private func parents() -> [Int64: Known] {
    guard !children.isEmpty else { return [:] }
    let ids = Set(children.map(\.parent))
    return Dictionary(documents.lazy.filter { ids.contains($0.document) }.map { ($0.document, $0) }) { _, last in last }
  }

  private func isWrong(_ child: Child, _ parent: Known?) -> Bool {
    guard let uid = child.parentUID else { return true }
    return parent.map { $0.uid != uid || $0.collection != child.collection } ?? false
  }

  /// Returns the document that has an identity or contains the attachment with it. Searches a sorted array.
  private static func document(of uid: UniqueID, in known: [Known]) -> Int64? {
    var range = known.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = known[middle].uid <= uid ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    let last = range.lowerBound - 1
    return last >= 0 && known[last].uid == uid ? known[last].document : nil
  }
}
