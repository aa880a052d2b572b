package import CofferSealing

/// The sealed state row, which authenticates the header and rows. Every transaction that writes replaces it (FORMAT, "State").
package struct StoreState: Sendable, Equatable {
  /// With this size, the row fills a page of 8 KiB without overflow.
  package static let byteCount = 8113
  /// The number of bytes before the ring.
  private static let fixedCount = 2240
  /// The ring's size without an extension part, in bytes.
  package static let ringByteCount = byteCount - fixedCount
  private static let indexCount = 2
  package static let sealedByteCount = byteCount + XAESKey.overhead

  /// The generation, which every write transaction increases by one.
  package var generation: UInt64
  // Only the row writer changes these seven properties.
  /// The ID of the next new document (FORMAT, "Ids").
  package internal(set) var nextID: UInt64
  /// A number above all current and former IDs.
  package internal(set) var bound: UInt64
  /// The number of documents.
  package internal(set) var count: UInt64
  /// The number of deletions.
  package internal(set) var deletionCount: UInt64
  /// A number above all current and former attachment numbers.
  package internal(set) var nextAttachment: UInt64 = 1

  /// Returns the next attachment, or `nil` in a store without attachment tables.
  ///
  /// The transaction that creates the tables sets the header's bit at its end.
  package func nextAttachment(in header: StoreHeader) -> UInt64? {
    header.hasAttachments || nextAttachment > 1 ? nextAttachment : nil
  }
  /// The number of attachments.
  package internal(set) var attachmentCount: UInt64 = 0
  package internal(set) var set: SetHash
  /// A running rekey's target epoch, or 0.
  package var target: UInt32
  /// The next ID that a rekey checks.
  package var cursor: UInt64
  package var headerMAC: [UInt8]
  /// The difference between the commit's counter and the generation.
  package internal(set) var lead: UInt64
  /// The digest of the sealed replicas.
  package internal(set) var replicasDigest: TextDigest
  /// The changes in the latest generations.
  package var ring: ChangeRing
  /// The generation of the last key or slot change whose old pages may remain in the write-ahead log, or 0.
  package var unwiped: UInt64
  /// The identities of the indexes 1 and 2, or zeros for an index that the store doesn't have.
  private var indexIdentities = Array(repeating: UniqueID.none, count: Self.indexCount)
  /// The entries of later versions.
  private var extensionBytes: [UInt8] = []
  /// Whether the store was written by a later version, and this version must not read it.
  fileprivate private(set) var isNewer = false

  /// Creates a new store's state.
  ///
  /// - Parameters:
  ///   - nextID: The first ID of the own range.
  ///   - replicas: The digest of the sealed replicas.
  package init(
    headerMAC: [UInt8], generation: UInt64 = 1, nextID: UInt64 = 1, lead: UInt64 = 0, replicas: TextDigest
  ) {
    self.generation = generation
    self.nextID = nextID
    bound = 1
    count = 0
    deletionCount = 0
    set = SetHash()
    target = 0
    cursor = 0
    self.headerMAC = headerMAC
    self.lead = lead
    replicasDigest = replicas
    ring = ChangeRing(after: generation, byteCount: Self.ringByteCount)
    unwiped = 0
  }

  /// The counter of the dot of this generation's commit.
  package var counter: UInt64 { generation + lead }

  /// The identity of the index with this number, or `nil` if the store doesn't have it.
  package subscript(index number: UInt32) -> UniqueID? {
    get {
      // A key holder may have sealed a root with another number.
      guard (1...UInt32(Self.indexCount)).contains(number) else { return nil }
      let identity = indexIdentities[Int(number) - 1]
      return identity == .none ? nil : identity
    }
    set { indexIdentities[Int(number) - 1] = newValue ?? .none }
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: Self.byteCount)
    builder.append(generation)
    builder.append(nextID)
    builder.append(bound)
    builder.append(count)
    builder.append(deletionCount)
    builder.append(SetHash.byteCount) { set.write(to: $0) }
    builder.append(target)
    builder.append(cursor)
    builder.append(bytes: headerMAC)
    builder.append(lead)
    builder.append(TextDigest.byteCount) { replicasDigest.write(to: $0) }
    builder.append(unwiped)
    builder.append(nextAttachment)
    builder.append(attachmentCount)
    for identity in indexIdentities { builder.append(identity) }
    builder.append(ring.known)
    builder.append(UInt32(ring.byteCount))
    builder.append(ring.byteCount) { ring.write(to: $0) }
    builder.append(bytes: extensionBytes)
    return builder.bytes
  }

  /// Reads a state, or returns `nil` for invalid bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    let state: StoreState? = bytes.withBytes { bytes in
      var reader = ByteReader(bytes)
      guard let generation: UInt64 = reader.integer(), let nextID: UInt64 = reader.integer(),
        let bound: UInt64 = reader.integer(), let count: UInt64 = reader.integer(),
        let deletionCount: UInt64 = reader.integer(), let set = reader.bytes(SetHash.byteCount),
        let target: UInt32 = reader.integer(), let cursor: UInt64 = reader.integer(),
        let mac = reader.bytes(StoreFormat.macCount), let lead: UInt64 = reader.integer(),
        let digest = reader.bytes(TextDigest.byteCount),
        let unwiped: UInt64 = reader.integer(), let nextAttachment: UInt64 = reader.integer(),
        let attachmentCount: UInt64 = reader.integer(), let contents = reader.uniqueID(),
        let titles = reader.uniqueID(), let known: UInt64 = reader.integer(),
        let ringCount: UInt32 = reader.integer(), let ringBytes = reader.bytes(Int(ringCount)),
        let rest = reader.bytes(reader.remaining), let part = ExtensionPart(rest, of: .state)
      else { return nil }
      // Allow any count, because if rows were deleted from outside, the other documents must remain readable.
      let ids = 1...UInt64(Int64.max)
      let counters = 1...UInt64(StoreFormat.maximumGeneration)
      guard counters.contains(generation), lead <= counters.upperBound - generation, ids.contains(nextID),
        ids.contains(bound), count <= ids.upperBound, deletionCount <= ids.upperBound, cursor <= ids.upperBound,
        target <= StoreFormat.maximumNumber, unwiped <= counters.upperBound,
        (1...StoreFormat.maximumNextAttachment).contains(nextAttachment), attachmentCount <= ids.upperBound,
        let ring = ChangeRing(known: known, bytes: ringBytes, generation: generation)
      else { return nil }
      var state = StoreState(
        headerMAC: Array(mac), generation: generation, nextID: nextID, lead: lead, replicas: TextDigest(bytes: digest))
      state.bound = bound
      state.count = count
      state.deletionCount = deletionCount
      state.nextAttachment = nextAttachment
      state.attachmentCount = attachmentCount
      state.set = SetHash(bytes: set)
      state.target = target
      state.cursor = cursor
      state.ring = ring
      state.unwiped = unwiped
      state.indexIdentities = [contents, titles]
      state.extensionBytes = Array(part.bytes)
      state.isNewer = part.isNewer
      return state
    }
    guard let state else { return nil }
    self = state
  }
}
/// Seals, opens and marks states with one session's keys. Use it on one thread at a time.
package struct StateCipher {
  private let key: XAESKey
  private let marks: HMACKey
  private let binding: [UInt8]
  private let activeEpoch: UInt32
  private let hasAttachments: Bool

  package init(_ keys: SessionKeys) throws(StoreError) {
    key = try translatingErrors { () throws(SealingError) in try XAESKey(keys.stateKey) }
    marks = try translatingErrors { () throws(SealingError) in try HMACKey(keys.anchorKey) }
    binding = keys.stateBinding
    activeEpoch = keys.keyring.active
    hasAttachments = keys.header.hasAttachments
  }

  package func seal(_ state: StoreState) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try key.seal(state.bytes, authenticating: binding) }
  }

  /// Opens a sealed state, or throws `damaged`.
  package func open(_ sealed: [UInt8]) throws(StoreError) -> StoreState {
    let bytes: [UInt8]
    do throws(SealingError) {
      bytes = try key.open(sealed, authenticating: binding)
    } catch {
      throw .unopened(error, .damagedStore("its state can't be opened"))
    }
    guard let state = StoreState(bytes: bytes),
      state.target == 0 ? state.cursor == 0 : state.target == activeEpoch,
      hasAttachments || (state.nextAttachment, state.attachmentCount) == (1, 0)
    else { throw .damagedStore("its state has invalid fields") }
    guard !state.isNewer else { throw .newerStore }
    return state
  }

  /// Returns a state's mark, which consists of 32 bytes that require the root key (FORMAT, "Anchor").
  package func mark(of state: StoreState) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try marks.authenticate(state.bytes) }
  }
}
