internal import CofferDocuments

/// Checks documents against a store's limits while their location in the input is known.
enum DraftLimits {
  private static let titleByteCount = 1 << 16
  /// The maximum size of the key and attributes. Without its title, a head has 900 KiB, including 70 bytes for other
  /// parts (FORMAT, "Head").
  private static let headByteCount = (900 << 10) - 70
  private static let collectionByteCounts = 1...1024
  /// The highest ID that still leaves IDs for the following records. A store's ID counter continues after each given
  /// ID, so records after an invalid record also need IDs.
  private static let surelyFollowedID = Int64.max - 1 << 32

  /// Returns the reason to reject a document, or `nil` if the store will accept it.
  ///
  /// If invalid records are skipped, any store must accept the remaining documents, because a rejection by the store
  /// would end the import. Otherwise, the store may still reject documents.
  static func refusal(
    of draft: DraftBatch.Draft, _ options: ReadingOptions
  ) -> (code: FormatError.Code, reason: String)? {
    let textLimit = ReadingOptions.maximumTextByteCount
    guard draft.text?.count ?? 0 <= textLimit else { return (.tooLarge, "a text longer than \(textLimit) bytes") }
    guard draft.title?.count ?? 0 <= titleByteCount else {
      return (.tooLarge, "a title longer than \(titleByteCount) bytes")
    }
    guard (draft.key?.count ?? 0) + (draft.attributes?.count ?? 0) <= headByteCount else {
      return (.tooLarge, "key and attributes longer than 900 KiB together")
    }
    if options.namesCollections, let collection = draft.collection, !collectionByteCounts.contains(collection.count) {
      return (.malformed, "a collection's name that has not 1 to \(collectionByteCounts.upperBound) bytes")
    }
    let highestID = options.onError == .skip ? surelyFollowedID : Int64.max - 1
    if options.keepsIDs, let id = draft.id, id.rawValue > highestID { return (.malformed, "an id beyond \(highestID)") }
    return nil
  }
}
