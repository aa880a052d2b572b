internal import CofferRecords

/// The result of a rekey, or the state of a rekey that hasn't finished.
public struct RekeyReport: Sendable {
  /// The number of documents that the call encrypted with the new keys.
  public package(set) var documents = 0
  /// The documents that can't be decrypted. They're unchanged, and their keys are kept.
  public package(set) var skipped: [Verdict.Damage] = []
  /// The attachments whose contents can't be opened. Their keys are kept, although their documents have new keys.
  public package(set) var skippedAttachments: [Verdict.DamagedAttachment] = []
  /// The IDs in ``skipped`` and ``skippedAttachments``.
  var skippedIDs: (documents: Set<DocumentID>, attachments: Set<Attachment.ID>) = ([], [])
  /// A Boolean value that indicates whether the rows match the sealed state. If not, the old keys are kept, and
  /// `verify` reports the mismatch.
  public package(set) var setMatches = true
  /// The slots that open the new root key with their old secret, including kept recipients. Empty if the call didn't
  /// change the keys.
  public package(set) var unchangedSlots: [KeySlot] = []
  /// A Boolean value that indicates whether the old keys are deleted because all data is under the new keys.
  public package(set) var isFinished: Bool
  /// A Boolean value that indicates whether the write-ahead log still contains pages from before the last key or slot
  /// change. Resuming the rekey empties the log.
  public package(set) var hasOldPages: Bool
  /// A Boolean value that indicates whether a rekey needs to be resumed.
  public var needsResuming: Bool { !isFinished || hasOldPages }
  /// A Boolean value that indicates whether the store syncs through a folder, whose keys a rekey doesn't change.
  ///
  /// Anyone who had a former key of the store can read and forge files in the folder. After a leak, stop syncing on all
  /// devices with ``DocumentStore/stopSyncing()``, and start again in a new folder.
  public package(set) var isSyncing = false
  /// The number of documents under old keys, or with an attachment under old keys.
  public package(set) var remaining = 0
  /// The number of documents in the store, according to the sealed state.
  public let total: Int
  /// The epochs whose keys are kept.
  package private(set) var epochs: [UInt32]
  /// The store's current pin.
  public private(set) var pin: StorePin
  /// The store's pin after the rekey, equal to ``pin`` if the rekey is finished.
  public private(set) var finalPin: StorePin

  init(_ keys: SessionKeys, _ state: StoreState) throws(StoreError) {
    isFinished = state.target == 0
    hasOldPages = state.unwiped != 0
    total = Int(state.count)
    epochs = []
    pin = StorePin(keys.header)
    finalPin = pin
    try update(keys)
  }

  /// Sets the pins and epochs for the store's current keys.
  mutating func update(_ keys: SessionKeys) throws(StoreError) {
    epochs = keys.keyring.epochs.map(\.epoch)
    pin = StorePin(keys.header)
    finalPin = try isFinished ? pin : StorePin(keys.root, phase: keys.header.phase + 1)
  }
}
