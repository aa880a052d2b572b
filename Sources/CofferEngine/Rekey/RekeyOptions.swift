/// The options for a rekey.
public struct RekeyOptions: Sendable {
  /// A Boolean value that indicates whether to stop after the key change, which is immediate for any store size.
  /// Documents remain under the old keys until the rekey is resumed.
  public var isKeysOnly = false
  /// A Boolean value that indicates whether to resume an unfinished rekey with the current keys.
  public var isResuming = false
  /// The maximum number of documents per transaction. Large documents reduce it. With smaller batches, other writers
  /// wait less, but the key index is written more often.
  public var batchSize = 16384
  /// A Boolean value that indicates whether to remove slots without a known secret and recipients that aren't kept.
  /// Otherwise, the rekey stops before the first write.
  public var dropsOtherSlots = false
  /// The secrets of other slots, so they also open the new root key. An identity opens its recipient's slots.
  ///
  /// If a rekey has new keys, it keeps only these other slots. The keys that created or opened the store don't keep
  /// their slots, because one of these keys may be the leaked key.
  public var otherKeys: [StoreKey] = []
  /// The recipients that keep their slots without supplying their identity.
  public var keptRecipients: [RekeyOptions.Kept] = []
  /// A Boolean value that indicates whether all recipients keep their slots. See also ``RekeyReport/unchangedSlots``.
  public var keepsAllRecipients = false
  /// The new title mode, or `nil` to keep the current mode.
  package private(set) var titles: CreateOptions.Titles?

  /// Creates options for a complete rekey that keeps the slots with known secrets.
  public init() {}

  /// Changes the title mode for all writes after the key change, and for existing documents when the rekey reaches
  /// them.
  ///
  /// `TitleMode.none` drops all titles permanently. You can't combine this with `isKeysOnly`, or with `isResuming`,
  /// which continues with the rekey's original mode.
  public mutating func changeTitles(to mode: CreateOptions.Titles) {
    titles = mode
  }

  /// A recipient that keeps its slot in a rekey.
  public enum Kept: Sendable, Hashable {
    /// The slot with this number. Compare its fingerprint or recipient first, because labels can't be trusted.
    case slot(Int)
    /// Every slot of this recipient.
    case recipient(Recipient)
  }
}
