internal import CofferSealing

/// One epoch's keys with their contexts, for one thread at a time.
final class EpochContext {
  let epoch: UInt32
  let body: XAESKey
  let head: XAESKey
  let name: XAESKey
  let lookup: HMACKey
  let set: HMACKey

  init(_ keys: EpochKeys) throws(SealingError) {
    epoch = keys.epoch
    body = try XAESKey(keys.body)
    head = try XAESKey(keys.head)
    name = try XAESKey(keys.name)
    lookup = try HMACKey(keys.lookup)
    set = try HMACKey(keys.set)
  }
}

/// The contexts of every live epoch, for one thread at a time; made anew when the session's keys change.
final class RowKeys {
  let session: SessionKeys
  let nonces: RandomBytes
  let binding: RowBinding
  let active: EpochContext
  /// By rising epoch, the active one among them.
  let epochs: [EpochContext]

  init(_ session: SessionKeys) throws(StoreError) {
    self.session = session
    binding = RowBinding(storeID: session.storeID)
    do throws(SealingError) {
      nonces = try RandomBytes()
      var contexts: [EpochContext] = []
      for keys in session.keyring.epochs { contexts.append(try EpochContext(keys)) }
      epochs = contexts
    } catch {
      throw StoreError(error)
    }
    active = epochs.first { $0.epoch == session.keyring.active }!
  }

  /// Rows sealed from here on are one transaction's: the first halves of their nonces are the same, which tells no more
  /// than their revisions do.
  func beginRun() {
    active.body.beginRun()
    active.head.beginRun()
  }

  func context(of epoch: UInt32) -> EpochContext? {
    epoch == active.epoch ? active : epochs.first { $0.epoch == epoch }
  }

  /// The bytes under which a key is found: 16 of an HMAC over collection and folded key (FORMAT, "Lookup").
  func lookup(of key: ExternalKey, in collection: CollectionRecord, under context: EpochContext) throws(StoreError)
    -> [UInt8]
  {
    try lookup(ofFolded: collection.folded(key), in: collection.id, under: context)
  }

  func lookup(ofFolded folded: [UInt8], in collection: UInt32, under context: EpochContext) throws(StoreError)
    -> [UInt8]
  {
    let message = PreAuthenticationEncoding("coffer1/lookup").adding(collection).adding(folded).bytes
    do throws(SealingError) {
      return Array(try context.lookup.authenticate(message).prefix(StoreFormat.lookupCount))
    } catch {
      throw StoreError(error)
    }
  }

  /// The look-up of a head's key under the active epoch.
  func lookup(of key: UnsafeRawBufferPointer?, in collection: UInt32, of collections: [CollectionRecord])
    throws(StoreError) -> [UInt8]?
  {
    guard let key else { return nil }
    guard let record = collections.first(where: { $0.id == collection }) else {
      throw StoreError(.damaged, "collection #\(collection) is gone, but documents of it are there")
    }
    return try lookup(of: ExternalKey(bytes: key), in: record, under: active)
  }
}
