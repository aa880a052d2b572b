/// The collection of a document and its position in the order there.
package struct DocumentPosition: Hashable {
  // In this order, a position with an id takes 24 bytes in an array.
  package var position: Int64
  package var collection: UInt32

  package init(collection: UInt32, position: Int64) {
    self.collection = collection
    self.position = position
  }

  package init(_ fields: RowFields) {
    self.init(collection: fields.collection, position: fields.position)
  }
}

/// One document before and after a transaction.
package struct DocumentChange {
  /// The position and the revision of the row; nil if there was no document.
  package var before: (position: DocumentPosition, revision: UInt64)?
  /// nil if the document was deleted.
  package var after: DocumentPosition?
  package var isUpdated = false
  package var isMoved = false

  package init() {}

  package init(from row: RowFields) {
    before = (DocumentPosition(row), row.revision)
  }
}
