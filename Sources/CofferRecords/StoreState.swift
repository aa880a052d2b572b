package import CofferSealing

/// The store that an exported or salvaged store or an editable copy was made from, as it was then (FORMAT, "State").
package struct StoreOrigin: Hashable, Sendable {
  package enum Kind: UInt8, Sendable {
    case none = 0
    /// An export or the result of a salvage.
    case export = 1
    case editableCopy = 2
  }

  package var kind: Kind
  package var storeID: [UInt8]
  package var rootGeneration: UInt64
  package var phase: UInt64
  package var generation: UInt64
  /// The first 16 bytes of the commitment.
  package var commitment: [UInt8]
  /// The mark of the original's state.
  package var mark: [UInt8]
  package var nextID: UInt64

  package static let none = StoreOrigin(
    kind: .none, storeID: zeros(StoreFormat.storeIDCount), rootGeneration: 0, phase: 0, generation: 0,
    commitment: zeros(StoreFormat.shortCommitmentCount), mark: zeros(StoreFormat.macCount), nextID: 0)

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

  /// The distance between the numbers of an original and those of its copy, both of ids and of generations.
  package static let step: UInt64 = 1 << 40

  /// The first generation of an editable copy of a store that has reached this one: the next multiple of ``step``, so
  /// that generations below it are the original's.
  package static func firstGeneration(ofCopyAt generation: UInt64) -> UInt64 {
    (generation / step + 1) * step
  }
}

/// The sealed state row: it ties header and rows together; every transaction writes it (FORMAT, "State").
package struct StoreState: Sendable, Equatable {
  package static let byteCount = 4279
  package static let sealedByteCount = byteCount + XAESKey.overhead

  /// Rises by one with every write transaction.
  package var generation: UInt64
  // Only the row writer changes these three.
  package internal(set) var nextID: UInt64
  /// Number of documents.
  package internal(set) var count: UInt64
  package internal(set) var set: SetHash
  /// The target epoch of a running rekey; 0 if none runs.
  package var target: UInt32
  /// The next id that a rekey looks at.
  package var cursor: UInt64
  package var headerMAC: [UInt8]
  package var origin: StoreOrigin
  /// The changes of the latest generations.
  package var ring: ChangeRing
  /// The generation of the last change of keys or slots whose old pages may still be in the write-ahead log; 0 if none.
  package var unwiped: UInt64

  /// The state of a new store.
  package init(headerMAC: [UInt8], generation: UInt64 = 1, origin: StoreOrigin = .none) {
    self.generation = generation
    nextID = 1
    count = 0
    set = SetHash()
    target = 0
    cursor = 0
    self.headerMAC = headerMAC
    self.origin = origin
    ring = ChangeRing(after: generation)
    unwiped = 0
  }

  /// The lowest id that the store gives out by itself: an editable copy leaves those below to its original.
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
    builder.append(ring.known)
    builder.append(ChangeRing.byteCount) { ring.write(to: $0) }
    builder.append(unwiped)
    // The length of extensions, of which there are none yet.
    builder.append(UInt16(0))
    return builder.bytes
  }

  /// - Returns: nil for invalid bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    let state: StoreState? = bytes.withBytes { bytes in
      var reader = ByteReader(bytes)
      guard let generation: UInt64 = reader.integer(), let nextID: UInt64 = reader.integer(),
        let count: UInt64 = reader.integer(), let set = reader.bytes(SetHash.byteCount),
        let target: UInt32 = reader.integer(), let cursor: UInt64 = reader.integer(),
        let mac = reader.bytes(StoreFormat.macCount), let origin = StoreOrigin(&reader),
        let known: UInt64 = reader.integer(), let ringBytes = reader.bytes(ChangeRing.byteCount),
        let unwiped: UInt64 = reader.integer(), let extensions: UInt16 = reader.integer(), reader.isAtEnd
      else { return nil }
      // The count may be any number: after someone deleted rows behind our back it no longer fits the ids, and the rest
      // must still be readable.
      let ids = 1...UInt64(Int64.max)
      let counters = 1...UInt64(StoreFormat.maximumCounter)
      guard counters.contains(generation), ids.contains(nextID), count <= ids.upperBound, cursor <= ids.upperBound,
        target <= StoreFormat.maximumNumber, unwiped <= counters.upperBound, extensions == 0,
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
      return state
    }
    guard let state else { return nil }
    self = state
  }
}

extension StoreOrigin {
  /// - Returns: nil for invalid bytes.
  fileprivate init?(_ reader: inout ByteReader) {
    guard let kind = reader.integer(UInt8.self).flatMap(Kind.init(rawValue:)),
      let storeID = reader.bytes(StoreFormat.storeIDCount), let rootGeneration: UInt64 = reader.integer(),
      let phase: UInt64 = reader.integer(), let generation: UInt64 = reader.integer(),
      let commitment = reader.bytes(StoreFormat.shortCommitmentCount),
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

/// Seals, opens and marks states with the keys of one session. Belongs to one thread at a time.
package struct StateCipher {
  private let key: XAESKey
  private let marks: HMACKey
  private let binding: [UInt8]
  private let activeEpoch: UInt32

  package init(_ keys: SessionKeys) throws(StoreError) {
    do throws(SealingError) {
      key = try XAESKey(keys.stateKey)
      marks = try HMACKey(keys.anchorKey)
    } catch {
      throw StoreError(error)
    }
    binding = keys.stateBinding
    activeEpoch = keys.keyring.active
  }

  package func seal(_ state: StoreState) throws(StoreError) -> [UInt8] {
    do throws(SealingError) {
      return try key.seal(state.bytes, authenticating: binding)
    } catch {
      throw StoreError(error)
    }
  }

  /// - Throws: `damaged`.
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
    return state
  }

  /// The mark of a state: 32 bytes that only who has the root key can compute (FORMAT, "Anchor").
  package func mark(of state: StoreState) throws(StoreError) -> [UInt8] {
    do throws(SealingError) { return try marks.authenticate(state.bytes) } catch { throw StoreError(error) }
  }
}
