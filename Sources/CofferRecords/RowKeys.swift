package import CofferDocuments
package import CofferSealing

/// One epoch's keys with their contexts, for one thread at a time.
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

  /// The key of index pages, made at its first use: most transactions use no index.
  package func index() throws(SealingError) -> XAESKey {
    if let pages { return pages }
    let made = try XAESKey(keys.index)
    pages = made
    return made
  }

  /// Whether the epoch's keys could have sealed such a row while they were active (FORMAT, "Closed epochs").
  @inline(__always)
  func allows(_ row: RowFields) -> Bool {
    UInt64(row.id) >= bounds.floor
      && (bounds.closed == 0 || row.revision < bounds.closed && UInt64(row.id) < bounds.ceiling)
  }
}

/// The contexts of every live epoch, for one thread at a time; replaced when the session's keys change.
package final class RowKeys {
  package let session: SessionKeys
  package let nonces: RandomBytes
  /// Sums elements into set hashes.
  package let summer: SetSummer
  package let binding: RowBinding
  package let active: EpochContext
  /// Sorted by epoch, the active one included.
  package let epochs: [EpochContext]

  package init(_ session: SessionKeys) throws(StoreError) {
    self.session = session
    binding = RowBinding(storeID: session.storeID)
    do throws(SealingError) {
      nonces = try RandomBytes()
      summer = try SetSummer()
      var contexts: [EpochContext] = []
      for keys in session.keyring.epochs { contexts.append(try EpochContext(keys)) }
      epochs = contexts
    } catch {
      throw StoreError(error)
    }
    active = epochs.first { $0.epoch == session.keyring.active }!
  }

  /// The identity of a new document or collection.
  package func newUID() throws(StoreError) -> UInt64 {
    var uid: UInt64 = 0
    do throws(SealingError) {
      try withUnsafeMutableBytes(of: &uid) { bytes throws(SealingError) in try nonces.draw(into: bytes) }
    } catch {
      throw StoreError(error)
    }
    return uid
  }

  /// Starts the run of one transaction: all rows sealed in it share the first half of their nonces. That reveals no
  /// more than their revisions do.
  package func beginRun(_ source: NonceSource) {
    active.body.beginRun(source)
    active.head.beginRun(source)
  }

  /// Starts the run of the pages that one transaction writes into an index.
  package func beginIndexRun(_ source: NonceSource) throws(StoreError) {
    try sealing { () throws(SealingError) in try active.index().beginRun(source) }
  }

  package func context(of epoch: UInt32) -> EpochContext? {
    epoch == active.epoch ? active : epochs.first { $0.epoch == epoch }
  }

  /// The blind index of a key: 16 bytes of an HMAC over collection and folded key (FORMAT, "Lookup").
  package func blindIndex(of key: ExternalKey, in collection: CollectionRecord, under context: EpochContext)
    throws(StoreError)
    -> [UInt8]
  {
    try blindIndex(ofFolded: collection.folded(key), in: collection.id, under: context)
  }

  package func blindIndex(ofFolded folded: [UInt8], in collection: UInt32, under context: EpochContext)
    throws(StoreError)
    -> [UInt8]
  {
    do throws(SealingError) {
      return try context.blindIndex.authenticate(
        binding.blindIndex(ofFolded: folded, in: collection), prefix: StoreFormat.blindIndexCount)
    } catch {
      throw StoreError(error)
    }
  }

  /// The blind index of a head's key under the active epoch. A key of a collection that is gone is not folded.
  package func blindIndex(of key: UnsafeRawBufferPointer?, in collection: UInt32, of collections: [CollectionRecord])
    throws(StoreError) -> [UInt8]?
  {
    guard let key else { return nil }
    guard let record = collections.first(where: { $0.id == collection }) else {
      return try blindIndex(ofFolded: Array(key), in: collection, under: active)
    }
    return try blindIndex(of: ExternalKey(bytes: key), in: record, under: active)
  }
}
