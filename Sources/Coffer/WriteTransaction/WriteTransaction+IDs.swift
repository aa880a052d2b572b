internal import CofferEngine
internal import CofferRecords

extension WriteTransaction {
  /// Marks IDs up to this ID as used, so new documents get higher IDs. Lower IDs than the next ID have no effect.
  ///
  /// - Throws: `invalidArgument` if no IDs would remain for new documents.
  package func reserveIDs(through id: DocumentID) throws(StoreError) {
    guard id.rawValue < StoreFormat.documentIDs.upperBound else {
      throw StoreError(.invalidArgument, "no id would be left for new documents after \(id)")
    }
    if id.rawValue >= 1 { try transaction.writer.reserveIDs(through: UInt64(id.rawValue)) }
  }
}
