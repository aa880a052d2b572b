internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A comparison of all rows of two stores, which shows whether one replica was written to in two files.
///
/// Marks of commits show that first, but stores list only some of them. A row keeps the dot of the commit that made it,
/// so a store that includes this commit has the same row, a later state of it, or the document's deletion.
struct SharedHistory {
  private let one: PairedStore
  private let other: PairedStore
  /// `one` is this store, and `other` is the other store.
  private let replicas: JointReplicas

  init(_ one: PairedStore, _ other: PairedStore) throws(StoreError) {
    (self.one, self.other) = (one, other)
    replicas = try JointReplicas(
      joining: try one.transaction.replicasOfStart(), try other.transaction.replicasOfStart())
  }

  /// Verifies all rows of both stores, and compares them.
  ///
  /// - Throws: `failure` if a row contradicts the other store. `setMismatch` or `damaged` for either store.
  func require(orThrow failure: StoreError) throws(StoreError) {
    for store in [one, other] { try store.requireWhole() }
    do throws(StoreError) {
      try compareCollections()
      try compareDocuments()
      try compareAttachments()
    } catch {
      throw error.code == .anchorMismatch ? failure : error
    }
  }

  /// The error for a contradiction, which ``require(orThrow:)`` replaces.
  private static var contradiction: StoreError { JointReplicas.clone }

  // MARK: Collections

  private func compareCollections() throws(StoreError) {
    let mine = Dictionary(try collections(of: one).map { ($0.uid, $0) }, uniquingKeysWith: { one, _ in one })
    var seen: Set<UniqueID> = []
    for var theirs in try collections(of: other) {
      seen.insert(theirs.uid)
      theirs.dots = try other.naming { () throws(StoreError) in try replicas.translate(theirs.dots) }
      if let mine = mine[theirs.uid] {
        try require(mine.dots.name, theirs.dots.name, areEqual: mine.storedName == theirs.storedName)
        try require(mine.dots.settings, theirs.dots.settings, areEqual: mine.settings == theirs.settings)
        try require(mine.dots.dropped, theirs.dots.dropped, areEqual: mine.isDropped == theirs.isDropped)
      } else if replicas.iInclude(theirs.dots.stamp) {
        throw Self.contradiction
      }
    }
    for (uid, record) in mine where !seen.contains(uid) && replicas.theyInclude(record.dots.stamp) {
      throw Self.contradiction
    }
  }

  private func collections(of store: PairedStore) throws(StoreError) -> [CollectionRecord] {
    try store.naming { () throws(StoreError) in try store.transaction.storedCollections() }
  }

  /// Requires one value for one dot, and equal dots if each store includes the other's dot.
  private func require(_ mine: Dot, _ theirs: Dot, areEqual: Bool) throws(StoreError) {
    if mine == theirs ? !areEqual && !mine.isZero : replicas.iInclude(theirs) && replicas.theyInclude(mine) {
      throw Self.contradiction
    }
  }

  // MARK: Documents and deletions

  private func compareDocuments() throws(StoreError) {
    let mine = MyDocuments(one)
    let deletions = try deletionsOfOther()
    for (uid, deletion) in deletions where replicas.iInclude(deletion.stamp) {
      // A later decision can have kept the document.
      guard try mine.deletion(of: uid) == nil else { continue }
      guard let kept = try mine.document(uid)?.dots.kept, !replicas.theyInclude(kept) else { throw Self.contradiction }
    }
    let numbers = Dictionary(
      try collections(of: other).map { ($0.id, $0.uid) }, uniquingKeysWith: { one, _ in one })
    var seen: Set<UniqueID> = []
    /// The documents without a decision to keep them that this store doesn't include.
    var undecided: Set<UniqueID> = []
    try other.forEachRow { row, head throws(StoreError) in
      guard let collection = numbers[row.fields.collection] else {
        throw .damagedDocument(row.fields.id, "its collection is gone")
      }
      let theirs = try MergeDocument(row, head, in: collection) {
        dots throws(StoreError) in try replicas.translate(dots)
      }
      seen.insert(theirs.uid)
      if replicas.iInclude(theirs.dots.kept) { undecided.insert(theirs.uid) }
      if let here = try mine.document(theirs.uid, likely: theirs.id) {
        try compare(here, theirs)
      } else if replicas.iInclude(theirs.dots.stamp), try mine.deletion(of: theirs.uid) == nil {
        throw Self.contradiction
      }
    }
    try one.forEachRow { _, head throws(StoreError) in
      guard !seen.contains(head.uid) else { return }
      guard deletions[head.uid] != nil || !replicas.theyInclude(DocumentDots(checked: head.dots).stamp) else {
        throw Self.contradiction
      }
    }
    for deletion in try mine.allDeletions() where replicas.theyInclude(deletion.stamp) {
      if deletions[deletion.uid] == nil, undecided.contains(deletion.uid) { throw Self.contradiction }
    }
  }

  private func compare(_ mine: MergeDocument, _ theirs: MergeDocument) throws(StoreError) {
    let joined = try JoinedDocument(mine, theirs, replicas)
    // A later decision can bring an earlier value back.
    guard replicas.iInclude(theirs.dots.kept), replicas.theyInclude(mine.dots.kept) else { return }
    for part in joined.parts { try require(part.mine, part.theirs, areEqual: true) }
  }

  private func deletionsOfOther() throws(StoreError) -> [UniqueID: DeletionRecord] {
    var deletions: [UniqueID: DeletionRecord] = [:]
    let transaction = other.transaction
    guard transaction.state.deletionCount > 0 else { return deletions }
    try other.naming { () throws(StoreError) in
      try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
        var record = try DeletionRecord(row, transaction.keys)
        record.stamp = try replicas.translate(record.stamp)
        deletions[record.uid] = record
      }
    }
    return deletions
  }

  // MARK: Attachments

  private func compareAttachments() throws(StoreError) {
    let mine = try MergeAttachment.all(of: one) { dot in dot }
    let theirs = try MergeAttachment.all(of: other) { dot throws(StoreError) in try replicas.translate(dot) }
    guard !mine.isEmpty || !theirs.isEmpty else { return }
    let (here, there) = (MyDocuments(one), MyDocuments(other))
    for (uid, attachment) in mine {
      if let same = theirs[uid] {
        // Different dots aren't a contradiction, because a document can return with an earlier name.
        guard attachment.nameDot != same.nameDot || attachment.name.isIdentical(to: same.name) else {
          throw Self.contradiction
        }
      } else if replicas.theyInclude(attachment.born) {
        try requireLoss(of: attachment, from: here, in: there)
      }
    }
    for (uid, attachment) in theirs where mine[uid] == nil {
      if let deletion = try here.deletion(of: uid) {
        if replicas.theyInclude(deletion.stamp) { throw Self.contradiction }
      } else if replicas.iInclude(attachment.born) {
        try requireLoss(of: attachment, from: there, in: here)
      }
    }
  }

  /// Requires a reason for the absence of an attachment in a store that included it: its removal, the deletion of its
  /// document, or the return of a deleted document without it.
  private func requireLoss(
    of attachment: MergeAttachment, from documents: MyDocuments, in others: MyDocuments
  ) throws(StoreError) {
    guard let document = try documents.document(id: attachment.document),
      let other = try others.document(document.uid, likely: document.id),
      other.dots.kept.isZero, try others.deletion(of: attachment.uid) == nil
    else { return }
    throw Self.contradiction
  }
}
