package import CofferDocuments

/// The changes of one write transaction, for the ring of the state, the cache of texts and subscribers.
package struct ChangeLog {
  /// The parts of a document that a rewritten row changes for its readers. None for a row that only makes room for a
  /// neighbour, has another blind index, or is sealed with another key.
  package struct Kind: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let text = Kind(rawValue: 1)
    /// Title, key or attributes; flags if the text stays the same.
    package static let head = Kind(rawValue: 2)
    package static let dates = Kind(rawValue: 4)
    package static let parent = Kind(rawValue: 8)
    /// The place in the order, or the collection.
    package static let place = Kind(rawValue: 16)
  }

  /// The most documents to name one by one.
  package static let limit = 1 << 16

  /// The documents whose cached texts are stale; nil if there are too many.
  package private(set) var staleTexts: [DocumentID]? = []
  private var net: NetChanges
  private var givesIDsAgain = false

  /// - Parameter hasListeners: whether ``changes`` names up to ``limit`` documents, or only as many as a ring can hold.
  package init(hasListeners: Bool) {
    net = NetChanges(limit: hasListeners ? Self.limit : NetChanges.ringLimit)
  }

  /// The changes for the ring of the state.
  ///
  /// A range takes two bytes there at least, so that more of them than half its bytes never fit.
  package var ringChanges: RingChanges {
    givesIDsAgain ? .everything : net.changes(rangeLimit: ChangeRing.byteCount / 2)
  }

  /// The changes for subscribers of this process.
  package var changes: RingChanges { net.changes(rangeLimit: .max) }

  /// The collections that were made, renamed, changed or dropped.
  package var collections: Set<UInt32> { net.collections }

  package mutating func insert(_ row: RowFields) {
    net.insert(row.id, into: row.collection)
  }

  /// - Parameter before: the row before this change.
  package mutating func replace(_ before: RowFields, with row: RowFields, as kind: Kind) {
    net.change(row.id, from: before.collection, to: row.collection, kind)
    invalidate(row.id)
  }

  package mutating func delete(_ row: RowFields) {
    net.delete(row.id, from: row.collection)
    invalidate(row.id)
  }

  /// The collection was made, renamed, changed or dropped.
  package mutating func changeCollection(_ collection: UInt32) {
    net.changeCollection(collection)
  }

  /// Ids of deleted documents are given out again.
  package mutating func restartIDs() {
    givesIDsAgain = true
  }

  package mutating func deleteEverything() {
    net.changeEverything()
    staleTexts = nil
  }

  private mutating func invalidate(_ id: Int64) {
    guard let count = staleTexts?.count else { return }
    if count < Self.limit { staleTexts?.append(DocumentID(id)) } else { staleTexts = nil }
  }
}
