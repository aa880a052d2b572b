internal import CofferRecords

extension DocumentID {
  /// Returns the ID for a new document, which is `wanted` or the next ID. Inserting the document claims the ID.
  ///
  /// - Throws: `invalidArgument` if documents can't have the wanted ID, or `noNumberLeft`.
  package static func next(_ counter: UInt64, unless wanted: DocumentID?) throws(StoreError) -> Int64 {
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
