internal import CofferEngine
internal import CofferRecords

/// The old list's remaining rows, among which other documents are placed.
struct KeptRows {
  private let order: ListOrder
  /// The indexes of removed rows in the old list, in ascending order.
  private let gone: [Int]
  private let collection: CollectionID
  private let transaction: StoreTransaction
  private var known: [Int: DocumentHeader] = [:]

  init(_ order: ListOrder, without gone: [Int], in collection: CollectionID, _ transaction: StoreTransaction) {
    (self.order, self.gone, self.collection, self.transaction) = (order, gone, collection, transaction)
  }

  var count: Int { order.count - gone.count }

  /// Returns a kept row's index in the old list.
  func oldIndex(of kept: Int) -> Int {
    var (low, high) = (0, gone.count)
    while low < high {
      let middle = (low + high) / 2
      if gone[middle] - middle <= kept { low = middle + 1 } else { high = middle }
    }
    return kept + low
  }

  subscript(kept: Int) -> DocumentID { order[oldIndex(of: kept)] }

  /// Returns the header of a kept row, which proves its position.
  mutating func header(at kept: Int) throws(StoreError) -> DocumentHeader {
    if let header = known[kept] { return header }
    let header = try transaction.header(of: self[kept])
    guard header.collection == collection else {
      throw .damagedDocument(header.id.rawValue, "it is not in its collection")
    }
    known[kept] = header
    return header
  }

  /// Returns the number of kept rows before a document, with a binary search.
  mutating func count(before header: DocumentHeader) throws(StoreError) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if try self.header(at: middle).isBefore(header) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension DocumentHeader {
  /// Returns whether this document precedes another document of the same collection.
  func isBefore(_ other: DocumentHeader) -> Bool { (position, id) < (other.position, other.id) }
}
