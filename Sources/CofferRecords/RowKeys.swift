package import CofferDocuments
package import CofferSealing

/// One epoch's keys with their cipher contexts. Use it on one thread at a time.
package final class EpochContext {
  package let epoch: UInt32
  package let bounds: EpochBounds
  package let body: XAESKey
  package let head: XAESKey
  package let name: XAESKey
  package let blindIndex: HMACKey
  package let set: HMACKey
  private let keys: EpochKeys
  private var pages: XAESKey?

  package init(_ keys: EpochKeys) throws(SealingError) {
    self.keys = keys
    epoch = keys.epoch
    bounds = keys.bounds
    body = try XAESKey(keys.body)
    head = try XAESKey(keys.head)
    name = try XAESKey(keys.name)
    blindIndex = try HMACKey(keys.lookup)
    set = try HMACKey(keys.set)
  }

  /// Returns the key for index pages. Creates it on first use, because most transactions don't use an index.
  package func index() throws(SealingError) -> XAESKey {
    if let pages { return pages }
    let made = try XAESKey(keys.index)
    pages = made
    return made
  }

  /// Whether a former key holder may know the epoch's keys.
  package var isClosed: Bool { bounds.closed != 0 }

  /// Returns whether the epoch's keys could have sealed this row while they were active (FORMAT, "Closed epochs").
  @inline(__always)
  func allows(_ row: RowFields) -> Bool {
    UInt64(row.id) >= bounds.floor
      && (bounds.closed == 0 || row.revision < bounds.closed && UInt64(row.id) < bounds.ceiling)
  }
}

/// All live epochs' contexts, replaced when the session's keys change. Use them on one thread at a time.
package final class RowKeys {
  package let session: SessionKeys
  package let nonces: RandomBytes
  /// Adds elements to set hashes.
  package let summer: SetSummer
  /// Computes the digests of texts.
  package let hasher: TextHasher
  package let binding: RowBinding
  package let active: EpochContext
  /// The contexts sorted by epoch, including the active epoch.
  package let epochs: [EpochContext]
  /// The rows of the release that the store was opened as, or `nil` if it was opened without a publisher. Other rows
  /// aren't opened.
  package let proof: RowProof?

  package init(_ session: SessionKeys, proof: RowProof? = nil) throws(StoreError) {
    self.session = session
    self.proof = proof
    binding = RowBinding(storeID: session.storeID)
    nonces = try translatingErrors(RandomBytes.init)
    summer = try translatingErrors(SetSummer.init)
    hasher = try translatingErrors(TextHasher.init)
    epochs = try translatingErrors { () throws(SealingError) in
      try session.keyring.epochs.map { keys throws(SealingError) in try EpochContext(keys) }
    }
    active = epochs.first { $0.epoch == session.keyring.active }!
  }

  /// Returns a random identity for a new document or collection.
  package func newUID() throws(StoreError) -> UniqueID {
    var words: (UInt64, UInt64) = (0, 0)
    try translatingErrors { () throws(SealingError) in
      try withUnsafeMutableBytes(of: &words) { bytes throws(SealingError) in try nonces.draw(into: bytes) }
    }
    return UniqueID(high: words.0, low: words.1)
  }

  /// Returns the identity of a collection created with this name, which is the same in every copy of the store.
  ///
  /// - Parameter count: The number of listed collections that have the identities of lower counts.
  package func collectionUID(named name: String, _ count: UInt32 = 0) throws(StoreError) -> UniqueID {
    try translatingErrors { () throws(SealingError) in
      let binding = PreAuthenticationEncoding("coffer3/collection").adding(count).adding(Array(name.utf8)).bytes
      let mac = try HMACKey(session.keyring.family).authenticate(binding)
      return mac.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        return reader.uniqueID()!
      }
    }
  }

  package func newPositionTag() throws(StoreError) -> PositionTag {
    var tag = [UInt8](repeating: 0, count: PositionTag.byteCount)
    try translatingErrors { () throws(SealingError) in
      try tag.withMutableBytes { bytes throws(SealingError) in try nonces.draw(into: bytes) }
    }
    return PositionTag(tag)
  }

  /// Starts a transaction's run. All its rows share the first half of their nonces, which doesn't reveal more than
  /// their revisions do.
  package func beginRun(_ source: NonceSource) {
    active.body.beginRun(source)
    active.head.beginRun(source)
  }

  /// Starts the run for one transaction's index pages.
  package func beginIndexRun(_ source: NonceSource) throws(StoreError) {
    try translatingErrors { () throws(SealingError) in try active.index().beginRun(source) }
  }

  package func context(of epoch: UInt32) -> EpochContext? {
    epoch == active.epoch ? active : epochs.first { $0.epoch == epoch }
  }

  /// Returns a key's blind index, which is 16 bytes of an HMAC of the collection and the folded key (FORMAT, "Lookup").
  package func blindIndex(of key: DocumentKey, in collection: CollectionRecord, under context: EpochContext)
    throws(StoreError)
    -> [UInt8]
  {
    try blindIndex(ofFolded: collection.folded(key), in: collection.id, under: context)
  }

  /// Returns a key's blind indexes under the epochs before the active epoch, during an unfinished rekey.
  package func olderBlindIndexes(of key: DocumentKey?, in collection: CollectionRecord) throws(StoreError)
    -> [[UInt8]]
  {
    guard epochs.count > 1, let key else { return [] }
    var indexes: [[UInt8]] = []
    for context in epochs where context !== active {
      indexes.append(try blindIndex(of: key, in: collection, under: context))
    }
    return indexes
  }

  package func blindIndex(ofFolded folded: [UInt8], in collection: UInt32, under context: EpochContext)
    throws(StoreError)
    -> [UInt8]
  {
    try translatingErrors { () throws(SealingError) in
      try context.blindIndex.authenticate(
        binding.blindIndex(ofFolded: folded, in: collection), prefix: StoreFormat.blindIndexCount)
    }
  }

  /// Returns the blind index of a head's key in the active epoch. Doesn't fold the key if its collection is missing.
  package func blindIndex(of key: UnsafeRawBufferPointer?, in collection: UInt32, of collections: [CollectionRecord])
    throws(StoreError) -> [UInt8]?
  {
    guard let key else { return nil }
    guard let record = collections.first(where: { $0.id == collection }) else {
      return try blindIndex(ofFolded: Array(key), in: collection, under: active)
    }
    return try blindIndex(of: DocumentKey(bytes: key), in: record, under: active)
  }
}
