package import CofferDocuments

/// The changes in one write transaction, for the state's ring, the text cache and subscribers.
package struct ChangeLog {
  /// The parts of a document that a rewritten row changes for readers. The set is empty if the row only has a new
  /// blind index or encryption key.
  package struct Kind: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let text = Kind(rawValue: 1)
    /// Title, key or attributes, or flags if the text is unchanged.
    package static let head = Kind(rawValue: 2)
    package static let dates = Kind(rawValue: 4)
    package static let parent = Kind(rawValue: 8)
    /// The position in the order, or the collection.
    package static let place = Kind(rawValue: 16)
    package static let attachments = Kind(rawValue: 32)
  }

  /// The maximum number of individually listed documents.
  package static let limit = 1 << 16

  /// The documents with stale cached texts, or `nil` if there are too many.
  package private(set) var staleTexts: [DocumentID]? = []
  private var net: NetChanges
  private var givesIDsAgain = false

  /// - Parameter hasListeners: Whether ``changes`` lists up to ``limit`` documents, instead of only as many as fit in a
  ///   ring.
  package init(hasListeners: Bool) {
    net = NetChanges(limit: hasListeners ? Self.limit : NetChanges.ringLimit)
  }

  /// The changes for the state's ring.
  ///
  /// A range takes at least two bytes, so at most half the ring's bytes can be ranges.
  package var ringChanges: RingChanges {
    givesIDsAgain ? .everything : net.changes(rangeLimit: ChangeRing.greatestByteCount / 2)
  }

  /// The changes for this process's subscribers.
  package var changes: RingChanges { net.changes(rangeLimit: .max) }

  /// The created, renamed, changed or dropped collections.
  package var collections: Set<UInt32> { net.collections }

  /// Returns whether the transaction added a document or moved it, or `false` after too many changes to list.
  package func isPlaced(_ id: Int64) -> Bool { net.isPlaced(id) }

  package mutating func insert(_ row: RowFields) {
    net.insert(row.id, into: row.collection)
  }

  /// - Parameter before: The row before this change.
  package mutating func replace(_ before: RowFields, with row: RowFields, as kind: Kind) {
    net.change(row.id, from: before.collection, to: row.collection, kind)
    invalidate(row.id)
  }

  package mutating func delete(_ row: RowFields) {
    net.delete(row.id, from: row.collection)
    invalidate(row.id)
  }

  /// Records that a document has another attachment.
  package mutating func attach(_ number: Int64, to row: RowFields) {
    net.attach(number, to: row.id, in: row.collection)
    invalidate(row.id)
  }

  package mutating func renameAttachment(_ number: Int64, of row: RowFields) {
    net.renameAttachment(number, of: row.id, in: row.collection)
    invalidate(row.id)
  }

  /// Records that a document lost an attachment. It's unchanged if this transaction added the attachment.
  package mutating func detach(_ number: Int64, from row: RowFields) {
    net.detach(number, from: row.id, in: row.collection)
    invalidate(row.id)
  }

  /// Records that a collection was created, renamed, changed or dropped.
  package mutating func changeCollection(_ collection: UInt32) {
    net.changeCollection(collection)
  }

  /// Records that deleted documents' IDs can be reused.
  package mutating func restartIDs() {
    givesIDsAgain = true
  }

  /// Records that an index of the current documents was written.
  package mutating func writeIndex() { net.writeIndex() }

  package mutating func deleteEverything() {
    net.changeEverything()
    staleTexts = nil
  }

  private mutating func invalidate(_ id: Int64) {
    guard let count = staleTexts?.count else { return }
    if count < Self.limit { staleTexts?.append(DocumentID(id)) } else { staleTexts = nil }
  }
}
