/// Options of a rekey.
public struct RekeyOptions: Sendable {
  /// Stops after the key change, which is immediate at any size; documents stay under old keys until a resumed rekey.
  public var isKeysOnly = false
  /// Resumes an unfinished rekey, with the current keys.
  public var isResuming = false
  /// Documents per transaction; fewer if they are large. Smaller batches let other writers in more often, and write the
  /// pages of the index of keys more often.
  public var batchSize = 16384
  /// Removes slots whose secret was not given and recipients that are not kept, instead of stopping before the first
  /// write.
  public var dropsOtherSlots = false
  /// Secrets of other slots, so that they open the new root key too; an identity opens the slots of its recipient.
  public var otherKeys: [StoreKey] = []
  /// Recipients that keep their slots although their identity is not given.
  public var keptRecipients: [KeptRecipient] = []
  /// Keeps the slots of all recipients. ``RekeyKeys/unchangedSlots`` lists them before the first write.
  public var keepsAllRecipients = false
  /// The title mode from now on; nil doesn't change it.
  private(set) var titles: TitleMode?

  /// Options of a whole rekey that keeps the slots whose secrets are known.
  public init() {}

  /// Changes the title mode: from the key change on for every write, and for every existing document when the rekey
  /// reaches it.
  ///
  /// `TitleMode.none` drops every title for good. Can't be combined with `isKeysOnly`, nor with `isResuming`, which
  /// continues in the mode that the rekey began with.
  public mutating func changeTitles(to mode: TitleMode) {
    titles = mode
  }
}

/// A recipient that keeps its slot in a rekey.
public enum KeptRecipient: Sendable, Hashable {
  /// The slot of this number. Compare its fingerprint or recipient first: a label proves nothing.
  case slot(Int)
  /// Every slot of this `coffer-recipient-1-` line.
  case line(String)
}

/// The keys of a rekey that has begun.
public struct RekeyKeys: Sendable, Hashable {
  /// The slots that open the new root key with the same secret as before, kept recipients among them. Empty when
  /// resuming.
  public let unchangedSlots: [KeySlot]
  /// The pin that the store has when this rekey has ended; nil before the key change.
  public let finalPin: String?
}

/// The result of a rekey.
public struct RekeyReport: Sendable {
  /// Documents that were sealed under the new keys.
  public internal(set) var documents = 0
  /// Documents that don't open: left unchanged. Their keys are therefore kept.
  public internal(set) var skipped: [DamagedDocument] = []
  /// Whether nothing in the file is under an old key any more, and the old keys are deleted.
  public internal(set) var isFinished = false
  /// False if the rows were not the set that was written; the old keys are then kept, and verify reports it.
  public internal(set) var setMatches = true
  /// The store's pin now.
  public internal(set) var pin = ""
  /// The store's pin when the rekey has ended: ``pin`` once it has.
  public internal(set) var finalPin = ""
}

/// The state of a rekey.
public struct RekeyStatus: Sendable {
  /// Whether a rekey has begun and not ended.
  public let isUnfinished: Bool
  /// Whether the write-ahead log kept pages from before the last change of keys or slots: a resumed rekey empties it.
  public let hasOldPages: Bool
  /// Whether a resumed rekey has work to do.
  public var needsResuming: Bool { isUnfinished || hasOldPages }
  /// Documents under old keys.
  public let remaining: Int
  /// The number of documents in the store, as the sealed state has it.
  public let total: Int
  /// The epochs whose keys are kept.
  public let epochs: [UInt32]
  /// The store's pin now, proved.
  public let pin: String
  /// The store's pin when the rekey has ended; nil if none is unfinished.
  public let finalPin: String?
}
