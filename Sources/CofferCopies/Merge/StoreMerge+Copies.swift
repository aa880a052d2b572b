internal import CofferRecords
internal import CofferSealing

/// A text that lost a conflict and becomes a separate document.
struct CopyDecision {
  /// The document whose text lost, in its store.
  let document: MergeDocument
  let side: JoinedDocument.Side
  /// The IDs of the document that both stores have.
  let id: Int64
  let otherID: Int64
  /// The new document's identity, which every replica that loses this text gives it.
  private(set) var uid: UniqueID
  /// Whether the store doesn't have the new document yet.
  var isNew = true
  /// Whether either store had the new document before and deleted it.
  var wasDeleted = false
  /// This store's deletion of the new document, which the merge removes.
  var deletion: DeletionRecord?

  init(
    _ side: JoinedDocument.Side, _ here: MergeDocument, _ there: MergeDocument, _ replicas: JointReplicas
  ) throws(StoreError) {
    document = side == .mine ? here : there
    self.side = side
    (id, otherID) = (here.id, there.id)
    uid = here.uid
    try step(replicas)
  }

  /// Advances to the identity of the document that the text becomes next to the document with the current identity.
  mutating func step(_ replicas: JointReplicas) throws(StoreError) {
    uid = try replicas.joined.uid(ofTextFrom: uid, document.dots.text)
  }
}

extension StoreMerge {
  /// Decides which losing texts become new documents, after all other documents and deletions are decided.
  ///
  /// A text can lose again although the document that it became was deleted, in this store, or by this merge. The
  /// document then returns, and replaces its deletion. If the document has another text now, the losing text becomes a
  /// further document.
  func decideCopies() throws {
    guard !copies.isEmpty else { return }
    var indexes: [UniqueID: Int] = [:]
    for (index, decision) in decisions.enumerated() { indexes[decision.uid] = index }
    var isDropped = Set<Int>()
    for number in copies.indices {
      while let text = try textDot(of: copies[number].uid, indexes), text != copies[number].document.dots.text {
        try copies[number].step(replicas)
      }
      let copy = copies[number]
      let index = indexes[copy.uid]
      switch index.map({ decisions[$0] }) {
      case .add, .join, .keep: copies[number].isNew = false
      case .delete(let here, _, _, _): decisions[index!] = .remove(here)
      case .deletion, .newDeletion: isDropped.insert(index!)
      case .remove: break
      case nil: copies[number].isNew = try documents.id(of: copy.uid) == nil
      }
      guard copies[number].isNew else { continue }
      copies[number].deletion = try documents.deletion(of: copy.uid)
      copies[number].wasDeleted = index != nil || copies[number].deletion != nil
    }
    decisions = decisions.enumerated().filter { !isDropped.contains($0.offset) }.map(\.element)
  }

  /// Returns the dot of the text that a document has after the merge, or `nil` if there is no such document.
  private func textDot(of uid: UniqueID, _ indexes: [UniqueID: Int]) throws(StoreError) -> Dot? {
    switch indexes[uid].map({ decisions[$0] }) {
    case .add(let document, _, _), .keep(let document, _): document.dots.text
    case .join(_, _, let joined, _): joined.text.dot
    case .delete, .remove, .deletion, .newDeletion: nil
    case nil: try documents.document(uid)?.dots.text
    }
  }
}

extension DocumentDecision {
  /// The identity of the document or deletion.
  var uid: UniqueID {
    switch self {
    case .add(let document, _, _), .join(let document, _, _, _), .keep(let document, _), .delete(let document, _, _, _),
      .remove(let document):
      document.uid
    case .deletion(let record, _, _), .newDeletion(let record, _, _): record.uid
    }
  }
}
