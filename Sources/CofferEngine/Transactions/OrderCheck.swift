internal import CofferRecords

/// A check of the order of verified rows, because a disordered index could repeat or hide rows.
package struct OrderCheck {
  private enum Listed {
    case collection(UInt32)
    case children(of: Int64)
    /// A collection's documents, ordered by ID.
    case ids(of: UInt32)
  }

  private let listed: Listed
  private var last: (position: DocumentPosition, id: Int64)?
  private var hasRepeated = false
  /// The number of rows that the list may still return, initially the store's document count. A writer exceeds it only
  /// if the list's own body moves rows ahead.
  private var left: UInt64

  package init(collection: UInt32, after header: DocumentHeader?, limit: UInt64) {
    listed = .collection(collection)
    left = limit
    last = header.map { ($0.position, $0.id.rawValue) }
  }

  package init(childrenOf parent: DocumentID, limit: UInt64) {
    listed = .children(of: parent.rawValue)
    left = limit
  }

  package init(idsOf collection: UInt32) {
    listed = .ids(of: collection)
    left = .max
  }

  /// Returns whether a row repeats the last row, once for each row. That happens if visiting the row changes a
  /// plaintext title, which is the index's last column.
  package mutating func isRepeated(_ fields: RowFields, at position: DocumentPosition) -> Bool {
    guard !hasRepeated, let last, last == (position, fields.id) else { return false }
    hasRepeated = true
    return true
  }

  package mutating func check(_ fields: RowFields, at position: DocumentPosition, isWriting: Bool) throws(StoreError) {
    switch listed {
    case .collection(let collection), .ids(of: let collection): try fields.require(collection)
    case .children(let parent):
      guard fields.parent == parent else { throw .damagedDocument(fields.id, "the list names it under another parent") }
    }
    let place = (position: position, id: fields.id)
    if let last, isBehind(last, place) {
      throw .damagedDocument(fields.id, "the list is not in order")
    }
    last = place
    hasRepeated = false
    guard left > 0 || !isWriting else { throw .writtenWhileListed(fields.id) }
    left = left == 0 ? 0 : left - 1
  }

  private func isBehind(
    _ last: (position: DocumentPosition, id: Int64), _ place: (position: DocumentPosition, id: Int64)
  ) -> Bool {
    if case .ids = listed { return place.id <= last.id }
    return place <= last
  }
}
