package import CofferDocuments
package import CofferSealing

/// The changes of one write transaction, document by document: for the cache of texts and for subscribers.
///
/// Each entry also adds its effect on the set hash. If their sum differs from the hash in the state, some write was not
/// logged and the log is discarded: the cache is emptied, and subscribers get the changes from a poll.
package struct ChangeLog {
  /// The meaning of a rewritten row to a reader.
  package enum Kind {
    case updated
    case moved
    /// The position differs, the order does not: the transaction made room for a neighbour.
    case placed
    /// The same document, sealed with another key; a change of the title mode may have removed its title.
    case resealed
  }

  /// The most documents to log one by one.
  package static let limit = 1 << 16

  package private(set) var set: SetHash
  /// The documents that were changed or deleted, whose cached texts are stale; nil if there are too many.
  package private(set) var staleTexts: [DocumentID]? = []
  /// The changes by document id; nil if there are too many, or neither a subscriber nor the log needs them.
  package private(set) var documents: [Int64: DocumentChange]?
  package private(set) var changesCollections = false

  package init(_ state: StoreState, notesDocuments: Bool) {
    set = state.set
    documents = notesDocuments ? [:] : nil
  }

  package mutating func insert(_ row: SealedBatch.Row) {
    set.add(row.element)
    update(row.fields.id) { change in
      var change = change ?? DocumentChange()
      change.after = DocumentPosition(row.fields)
      // If the id was deleted earlier in this transaction, another document takes its place.
      change.isUpdated = change.before != nil
      change.isMoved = change.isUpdated
      return change
    }
  }

  /// - Parameter before: the row before this change.
  package mutating func replace(_ old: SetHash, with row: SealedBatch.Row, before: RowFields, as kind: Kind) {
    set.subtract(old)
    set.add(row.element)
    guard kind != .resealed else {
      staleTexts = nil
      return
    }
    invalidate(row.fields.id)
    update(row.fields.id) { change in
      var change = change ?? DocumentChange(from: before)
      change.after = DocumentPosition(row.fields)
      change.isUpdated = change.isUpdated || kind == .updated
      change.isMoved = change.isMoved || kind == .moved
      return change
    }
  }

  package mutating func delete(_ row: RowFields, _ element: SetHash) {
    set.subtract(element)
    invalidate(row.id)
    update(row.id) { change in
      var change = change ?? DocumentChange(from: row)
      change.after = nil
      return change
    }
  }

  package mutating func changeCollection(_ old: SetHash?, to new: SetHash?) {
    if let old { set.subtract(old) }
    if let new { set.add(new) }
    changesCollections = true
  }

  private mutating func invalidate(_ id: Int64) {
    guard let count = staleTexts?.count else { return }
    if count < Self.limit { staleTexts?.append(DocumentID(id)) } else { staleTexts = nil }
  }

  private mutating func update(_ id: Int64, _ change: (DocumentChange?) -> DocumentChange) {
    guard let count = documents?.count else { return }
    guard count < Self.limit else {
      documents = nil
      return
    }
    let changed = change(documents?[id])
    documents?[id] = changed
  }
}
