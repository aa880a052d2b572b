/// How a rekey is done.
public struct RekeyOptions: Sendable {
  /// Stops after the key change: instant, whatever the size; documents stay under old keys until a resumed one.
  public var isKeysOnly = false
  /// Goes on with an unfinished rekey, keys as they are.
  public var isResuming = false
  /// Documents per transaction; fewer where they are large. Small batches let others in more often, and write the
  /// pages of the index of keys more often.
  public var batchSize = 16384
  /// Lets go of slots whose secret was not given, instead of stopping before the first write.
  public var dropsOtherSlots = false
  /// Secrets of other slots, so that they open the new root key too.
  public var otherKeys: [StoreKey] = []
  /// How titles are kept from now on; nil leaves that as it is.
  private(set) var titles: TitleMode?

  public init() {}

  /// Changes how titles are kept: from the key change on for whatever is written, and for every document as the rekey
  /// comes to it.
  ///
  /// `TitleMode.none` drops every title for good. Goes neither with `isKeysOnly` nor with `isResuming`, which goes on in
  /// the mode that the rekey began with.
  public mutating func changeTitles(to mode: TitleMode) {
    titles = mode
  }
}

/// How far a rekey has come.
public struct RekeyProgress: Sendable, Hashable {
  public enum Phase: Sendable, Hashable {
    case keys, documents, finishing
    /// All is sealed anew; a reader holds on to old pages in the write-ahead log. Told again and again.
    case waiting
  }

  public let phase: Phase
  public let done: Int
  public let total: Int
}

/// What a rekey did.
public struct RekeyReport: Sendable {
  /// Documents that were sealed under the new keys.
  public internal(set) var documents = 0
  /// Documents that don't open, or whose title is too long to be sealed: left as they are, under keys that are therefore
  /// kept.
  public internal(set) var skipped: [DamagedDocument] = []
  /// Whether nothing in the file is under an old key any more, and the old keys are gone.
  public internal(set) var isFinished = false
  /// False when the rows were not the set that was written; the old keys are then kept, and verify reports it.
  public internal(set) var setMatches = true
  /// The store's pin from now on.
  public internal(set) var pin = ""
}

/// Whether a rekey is under way.
public struct RekeyStatus: Sendable {
  public let isUnfinished: Bool
  /// Documents under old keys.
  public let remaining: Int
  public let total: Int
  /// The epochs whose keys are kept.
  public let epochs: [UInt32]
}
