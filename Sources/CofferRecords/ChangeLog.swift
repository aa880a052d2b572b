package import CofferDocuments

/// The changes of one write transaction, document by document: for the cache of texts and for subscribers.
///
/// A transaction that deletes everything at once logs no more: the cache is emptied, and subscribers get the changes from
/// a poll.
package struct ChangeLog {
  /// The parts of a document that a rewritten row changes for its readers. Nothing for a row that only makes room for a
  /// neighbour, or has another blind index.
  package struct Kind: OptionSet {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let text = Kind(rawValue: 1)
    /// Title, key, attributes or flags.
    package static let head = Kind(rawValue: 2)
    package static let dates = Kind(rawValue: 32)
    package static let parent = Kind(rawValue: 4)
    package static let place = Kind(rawValue: 8)
    /// The same document, sealed with another key; a change of the title mode may have removed its title.
    package static let resealed = Kind(rawValue: 16)
  }

  /// The most documents to log one by one.
  package static let limit = 1 << 16

  /// False once a write was not logged.
  package private(set) var isWhole = true
  /// The documents that were changed or deleted, whose cached texts are stale; nil if there are too many.
  package private(set) var staleTexts: [DocumentID]? = []
  /// The changes by document id; nil if there are too many, or neither a subscriber nor the log needs them.
  package private(set) var documents: [Int64: DocumentChange]?
  package private(set) var changesCollections = false

  package init(notesDocuments: Bool) {
    documents = notesDocuments ? [:] : nil
  }

  package mutating func insert(_ row: SealedBatch.Row) {
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
  package mutating func replace(with row: SealedBatch.Row, before: RowFields, as kind: Kind) {
    guard kind != .resealed else {
      staleTexts = nil
      return
    }
    invalidate(row.fields.id)
    update(row.fields.id) { change in
      var change = change ?? DocumentChange(from: before)
      change.after = DocumentPosition(row.fields)
      change.isUpdated = change.isUpdated || !kind.isDisjoint(with: [.text, .head, .dates, .parent])
      change.isMoved = change.isMoved || kind.contains(.place)
      return change
    }
  }

  package mutating func delete(_ row: RowFields) {
    invalidate(row.id)
    update(row.id) { change in
      var change = change ?? DocumentChange(from: row)
      change.after = nil
      return change
    }
  }

  package mutating func changeCollection(_ id: UInt32) {
    changesCollections = true
  }

  /// The changes for the ring of the state.
  package var ringChanges: RingChanges { .everything }

  package mutating func deleteEverything() {
    isWhole = false
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
