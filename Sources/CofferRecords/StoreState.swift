package import CofferSealing

/// The state of the original that a copy, salvaged store or editable copy was made from (FORMAT, "State").
package struct StoreOrigin: Hashable, Sendable {
  package enum Kind: UInt8, Sendable {
    case none = 0
    /// A copy or a salvaged store.
    case export = 1
    case editableCopy = 2
  }

  package var kind: Kind
  package var storeID: [UInt8]
  package var rootGeneration: UInt64
  package var phase: UInt64
  package var generation: UInt64
  package var commitment: [UInt8]
  /// The mark of the original's state.
  package var mark: [UInt8]
  package var nextID: UInt64

  package static let none = StoreOrigin(
    kind: .none, storeID: zeros(StoreFormat.storeIDCount), rootGeneration: 0, phase: 0, generation: 0,
    commitment: zeros(StoreFormat.commitmentCount), mark: zeros(StoreFormat.macCount), nextID: 0)

  package init(
    kind: Kind, storeID: [UInt8], rootGeneration: UInt64, phase: UInt64, generation: UInt64, commitment: [UInt8],
    mark: [UInt8], nextID: UInt64
  ) {
    self.kind = kind
    self.storeID = storeID
    self.rootGeneration = rootGeneration
    self.phase = phase
    self.generation = generation
    self.commitment = commitment
    self.mark = mark
    self.nextID = nextID
  }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  // MARK: Numbers of editable copies

  /// The distance between an original's numbers and its copy's numbers, for IDs and generations.
  package static let step: UInt64 = 1 << 40

  /// Returns the first generation of an editable copy, which is the next multiple of ``step`` after the original's
  /// generation. Lower generations belong to the original.
  package static func firstGeneration(ofCopyAt generation: UInt64) -> UInt64 {
    (generation / step + 1) * step
  }
}

/// The sealed state row, which authenticates the header and rows. Every transaction that writes replaces it (FORMAT, "State").
package struct StoreState: Sendable, Equatable {
  /// With this size, the row fills a page of 8 KiB without overflow.
  package static let byteCount = 8113
  /// The number of bytes before the ring.
  private static let fixedCount = 2249
  /// The number of bytes of the ring without an extension part.
  package static let ringByteCount = byteCount - fixedCount
  package static let sealedByteCount = byteCount + XAESKey.overhead

  /// The generation, which increases by one with every write transaction.
  package var generation: UInt64
  // Only the row writer changes these three properties.
  package internal(set) var nextID: UInt64
  /// The number of documents.
  package internal(set) var count: UInt64
  package internal(set) var set: SetHash
  /// A running rekey's target epoch, or 0.
  package var target: UInt32
  /// The next ID that a rekey checks.
  package var cursor: UInt64
  package var headerMAC: [UInt8]
  package var origin: StoreOrigin
  /// The changes in the latest generations.
  package var ring: ChangeRing
  /// The generation of the last key or slot change whose old pages may remain in the write-ahead log, or 0.
  package var unwiped: UInt64
  /// The entries of later versions.
  private var extensionBytes: [UInt8] = []
  /// Whether the store was written by a later version that this one must not read.
  fileprivate private(set) var isNewer = false

  /// Creates a new store's state.
  package init(headerMAC: [UInt8], generation: UInt64 = 1, origin: StoreOrigin = .none) {
    self.generation = generation
    nextID = 1
    count = 0
    set = SetHash()
    target = 0
    cursor = 0
    self.headerMAC = headerMAC
    self.origin = origin
    ring = ChangeRing(after: generation, byteCount: Self.ringByteCount)
    unwiped = 0
  }

  /// The lowest ID that the store assigns automatically. An editable copy leaves lower IDs to its original.
  package var firstOwnID: UInt64 {
    origin.kind == .editableCopy ? min(origin.nextID + StoreOrigin.step, UInt64(Int64.max)) : 1
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: Self.byteCount)
    builder.append(generation)
    builder.append(nextID)
    builder.append(count)
    builder.append(SetHash.byteCount) { set.write(to: $0) }
    builder.append(target)
    builder.append(cursor)
    builder.append(bytes: headerMAC)
    builder.append(origin.kind.rawValue)
    builder.append(bytes: origin.storeID)
    builder.append(origin.rootGeneration)
    builder.append(origin.phase)
    builder.append(origin.generation)
    builder.append(bytes: origin.commitment)
    builder.append(bytes: origin.mark)
    builder.append(origin.nextID)
    builder.append(unwiped)
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
        let count: UInt64 = reader.integer(), let set = reader.bytes(SetHash.byteCount),
        let target: UInt32 = reader.integer(), let cursor: UInt64 = reader.integer(),
        let mac = reader.bytes(StoreFormat.macCount), let origin = StoreOrigin(&reader),
        let unwiped: UInt64 = reader.integer(), let known: UInt64 = reader.integer(),
        let ringCount: UInt32 = reader.integer(), let ringBytes = reader.bytes(Int(ringCount)),
        let rest = reader.bytes(reader.remaining), let part = ExtensionPart(rest, of: .state)
      else { return nil }
      // Allow any count, because if rows were deleted from outside, the other documents must remain readable.
      let ids = 1...UInt64(Int64.max)
      let counters = 1...UInt64(StoreFormat.maximumCounter)
      guard counters.contains(generation), ids.contains(nextID), count <= ids.upperBound, cursor <= ids.upperBound,
        target <= StoreFormat.maximumNumber, unwiped <= counters.upperBound,
        let ring = ChangeRing(known: known, bytes: ringBytes, generation: generation)
      else { return nil }
      var state = StoreState(headerMAC: Array(mac), generation: generation, origin: origin)
      state.nextID = nextID
      state.count = count
      state.set = SetHash(bytes: set)
      state.target = target
      state.cursor = cursor
      state.ring = ring
      state.unwiped = unwiped
      state.extensionBytes = Array(part.bytes)
      state.isNewer = part.isNewer
      return state
    }
    guard let state else { return nil }
    self = state
  }
}

extension StoreOrigin {
  /// Reads an origin, or returns `nil` for invalid bytes.
  fileprivate init?(_ reader: inout ByteReader) {
    guard let kind = reader.integer(UInt8.self).flatMap(Kind.init(rawValue:)),
      let storeID = reader.bytes(StoreFormat.storeIDCount), let rootGeneration: UInt64 = reader.integer(),
      let phase: UInt64 = reader.integer(), let generation: UInt64 = reader.integer(),
      let commitment = reader.bytes(StoreFormat.commitmentCount),
      let mark = reader.bytes(StoreFormat.macCount), let nextID: UInt64 = reader.integer()
    else { return nil }
    self.init(
      kind: kind, storeID: Array(storeID), rootGeneration: rootGeneration, phase: phase, generation: generation,
      commitment: Array(commitment), mark: Array(mark), nextID: nextID)
    guard kind != .none else {
      guard self == .none else { return nil }
      return
    }
    let counters = 1...UInt64(StoreFormat.maximumCounter)
    guard counters.contains(rootGeneration), counters.contains(phase), counters.contains(generation),
      (1...UInt64(Int64.max)).contains(nextID)
    else { return nil }
  }
}

/// Seals, opens and marks states with one session's keys. Use it on one thread at a time.
package struct StateCipher {
  private let key: XAESKey
  private let marks: HMACKey
  private let binding: [UInt8]
  private let activeEpoch: UInt32

  package init(_ keys: SessionKeys) throws(StoreError) {
    key = try translatingErrors { () throws(SealingError) in try XAESKey(keys.stateKey) }
    marks = try translatingErrors { () throws(SealingError) in try HMACKey(keys.anchorKey) }
    binding = keys.stateBinding
    activeEpoch = keys.keyring.active
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
      state.target == 0 ? state.cursor == 0 : state.target == activeEpoch
    else { throw .damagedStore("its state has invalid fields") }
    guard !state.isNewer else { throw .newerStore }
    return state
  }

  /// Returns a state's mark, which consists of 32 bytes that require the root key (FORMAT, "Anchor").
  package func mark(of state: StoreState) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try marks.authenticate(state.bytes) }
  }
}
