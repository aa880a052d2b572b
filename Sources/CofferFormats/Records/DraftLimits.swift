internal import CofferDocuments

/// Checks documents against the limits of a store while their place in the input is still known.
enum DraftLimits {
  private static let titleByteCount = 1 << 16
  /// The most bytes of key and attributes together: a head without its title has 900 KiB, 70 of them for other parts
  /// (FORMAT, "Head").
  private static let headByteCount = (900 << 10) - 70
  private static let collectionByteCounts = 1...1024
  /// The store's id counter continues behind every given id; when bad records are skipped, later ones need ids too.
  private static let surelyFollowedID = Int64.max - 1 << 32

  /// The reason to refuse a document; nil if the store will accept it.
  ///
  /// When bad records are skipped, every document that passes must be acceptable to any store, since a refusal by the
  /// store would end the import; otherwise the store may still decide.
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
