/// The collection of a document and its position in the order there.
struct DocumentPosition: Hashable {
  // In this order, a position with an id takes 24 bytes in an array.
  var position: Int64
  var collection: UInt32

  init(collection: UInt32, position: Int64) {
    self.collection = collection
    self.position = position
  }

  init(_ fields: RowFields) {
    self.init(collection: fields.collection, position: fields.position)
  }
}

/// One document before and after a transaction.
struct DocumentChange {
  /// The position and the revision of the row; nil if there was no document.
  var before: (position: DocumentPosition, revision: UInt64)?
  /// nil if the document was deleted.
  var after: DocumentPosition?
  var isUpdated = false
  var isMoved = false

  init() {}

  init(from row: RowFields) {
    before = (DocumentPosition(row), row.revision)
  }
}
