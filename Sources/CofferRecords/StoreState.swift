package import CofferSealing

/// The sealed state row: it ties header and rows together; every transaction writes it (FORMAT, "State").
package struct StoreState: Sendable, Equatable {
  package static let byteCount = 124

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
  /// The store that an exported store or an editable copy was made from; zeros if none.
  package var originStoreID: [UInt8]
  package var originGeneration: UInt64

  package init(headerMAC: [UInt8]) {
    generation = 1
    nextID = 1
    count = 0
    set = SetHash()
    target = 0
    cursor = 0
    self.headerMAC = headerMAC
    originStoreID = [UInt8](repeating: 0, count: StoreFormat.storeIDCount)
    originGeneration = 0
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: Self.byteCount)
    builder.append(generation)
    builder.append(nextID)
    builder.append(count)
    builder.append(bytes: set.bytes)
    builder.append(target)
    builder.append(cursor)
    builder.append(bytes: headerMAC)
    builder.append(bytes: originStoreID)
    builder.append(originGeneration)
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
        let mac = reader.bytes(StoreFormat.macCount), let origin = reader.bytes(StoreFormat.storeIDCount),
        let originGeneration: UInt64 = reader.integer(), reader.isAtEnd
      else { return nil }
      // Columns hold 0…2^63−1, and both counters start at 1. The count may be any number: after someone deleted rows
      // behind our back it no longer fits the ids, and the rest must still be readable.
      let limit = UInt64(Int64.max)
      guard (1...limit).contains(generation), (1...limit).contains(nextID), count <= limit, cursor <= limit,
        target <= StoreFormat.maximumNumber, originGeneration <= limit
      else { return nil }
      var state = StoreState(headerMAC: Array(mac))
      state.generation = generation
      state.nextID = nextID
      state.count = count
      state.set = SetHash(bytes: set)
      state.target = target
      state.cursor = cursor
      state.originStoreID = Array(origin)
      state.originGeneration = originGeneration
      return state
    }
    guard let state else { return nil }
    self = state
  }
}

/// Seals and opens the state row with the keys of one session.
package struct StateCipher {
  private let key: XAESKey
  private let binding: [UInt8]

  package init(_ keys: SessionKeys) throws(StoreError) {
    do throws(SealingError) { key = try XAESKey(keys.stateKey) } catch { throw StoreError(error) }
    binding = keys.stateBinding
  }

  package func seal(_ state: StoreState, nonces: RandomBytes) throws(StoreError) -> [UInt8] {
    do throws(SealingError) {
      return try key.seal(state.bytes, authenticating: binding, nonces: nonces)
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
    guard let state = StoreState(bytes: bytes) else { throw .damagedStore("its state is not one that a writer makes") }
    return state
  }
}
