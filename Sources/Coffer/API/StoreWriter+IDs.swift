internal import CofferRecords

// Ids that were given out, and are never given out again.
extension ReadScope where Self: ~Copyable {
  /// The highest id that was ever given to a document, even if that was deleted; nil if there was none.
  public var highestID: DocumentID? {
    transaction.state.nextID > 1 ? DocumentID(transaction.state.nextID - 1) : nil
  }
}

extension DocumentID {
  /// The id of a new document: `wanted`, or the next one. It is taken when the document is inserted.
  ///
  /// - Throws: `invalidArgument` for a wanted id that no document can have, `noNumberLeft`.
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
  /// Counts ids up to this one as given out, so that new documents get higher ones. A lower number than the store's
  /// counter changes nothing.
  ///
  /// - Throws: `invalidArgument` for an id that leaves none to give out.
  public func reserveIDs(through id: DocumentID) throws(StoreError) {
    guard id.rawValue < StoreFormat.documentIDs.upperBound else {
      throw StoreError(.invalidArgument, "no id would be left for new documents after \(id)")
    }
    if id.rawValue >= 1 { try transaction.writer.reserveIDs(through: UInt64(id.rawValue)) }
  }
}
