internal import CofferDocuments

/// Checks documents against the limits of a store while their place in the input is still known.
enum DraftLimits {
  /// The longest that a store takes of title, key and attributes together, and what every store takes, also one that
  /// pads: in steps of 16 KiB at this length, with 46 bytes of its own (FORMAT, "Frames" and "Head").
  private static let headByteCount = 1 << 20
  private static let surelyTakenHeadByteCount = headByteCount - (16 << 10) - 46
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
    guard draft.text.count <= textLimit else { return (.tooLarge, "a text longer than \(textLimit) bytes") }
    let head = (draft.title?.count ?? 0) + (draft.key?.count ?? 0) + (draft.attributes?.count ?? 0)
    guard head <= (options.onError == .skip ? surelyTakenHeadByteCount : headByteCount) else {
      return (.tooLarge, "title, key and attributes longer than 1 MiB together")
    }
    if options.namesCollections, let collection = draft.collection, !collectionByteCounts.contains(collection.count) {
      return (.malformed, "a collection's name that has not 1 to \(collectionByteCounts.upperBound) bytes")
    }
    let highestID = options.onError == .skip ? surelyFollowedID : Int64.max - 1
    if options.keepsIDs, let id = draft.id, id.rawValue > highestID { return (.malformed, "an id beyond \(highestID)") }
    return nil
  }
}
