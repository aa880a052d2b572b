internal import CofferRecords

// Numbers that were given, and are never given again.
extension ReadScope where Self: ~Copyable {
  /// The highest number that was ever given to a document, be it still there or not; nil where none was.
  public var highestID: DocumentID? {
    transaction.state.nextID > 1 ? DocumentID(transaction.state.nextID - 1) : nil
  }
}

extension DocumentID {
  /// The number of a document to come, `wanted` or the counter's. It is taken when the document is inserted.
  ///
  /// - Throws: `invalidArgument` for a wanted number that no document can have, `noNumberLeft`.
  static func next(_ counter: UInt64, unless wanted: DocumentID?) throws(StoreError) -> Int64 {
    let numbers = StoreFormat.documentIDs
    if let wanted {
      guard numbers.contains(wanted.rawValue) else {
        throw StoreError(
          .invalidArgument, "a document's number is one of 1…\(numbers.upperBound)", documentID: wanted)
      }
      return wanted.rawValue
    }
    guard counter <= UInt64(numbers.upperBound) else {
      throw StoreError(
        .noNumberLeft, "no number is left for a new document: the highest, \(numbers.upperBound), was given already",
        hint: "give it a free number, or export all documents and import them into a new store, which counts from 1")
    }
    return Int64(counter)
  }
}

extension StoreWriter {
  /// Counts numbers up to this one as given, so that new documents get higher ones.
  ///
  /// - Throws: `invalidArgument` for a number that leaves none to give.
  public func reserveIDs(through id: DocumentID) throws(StoreError) {
    guard id.rawValue < StoreFormat.documentIDs.upperBound else {
      throw StoreError(.invalidArgument, "a counter that leaves no number for new documents")
    }
    if id.rawValue >= 1 { try transaction.writer.reserveIDs(through: UInt64(id.rawValue)) }
  }
}
