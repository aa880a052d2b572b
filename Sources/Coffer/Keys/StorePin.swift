internal import CofferRecords
internal import CofferSealing

/// A store's pin line: its id, and the root key and phase that its header names (FORMAT, "Key files, pin, anchor").
struct StorePin: Equatable {
  private static let prefix = "coffer-pin-2-"

  let storeID: [UInt8]
  let rootGeneration: UInt64
  let phase: UInt64
  /// The first 16 bytes of the root key's commitment for that phase.
  let commitment: [UInt8]

  init(storeID: [UInt8], rootGeneration: UInt64, phase: UInt64, commitment: [UInt8]) {
    self.storeID = storeID
    self.rootGeneration = rootGeneration
    self.phase = phase
    self.commitment = commitment
  }

  /// The pin of a header. Nothing of it is proved before a key has opened the store.
  init(_ header: StoreHeader) {
    storeID = header.storeID
    rootGeneration = header.rootGeneration
    phase = header.phase
    commitment = Array(header.commitment.prefix(StoreFormat.shortCommitmentCount))
  }

  /// The pin that a store has under this root key in this phase.
  init(_ root: RootKey, phase: UInt64) throws(StoreError) {
    storeID = root.storeID
    rootGeneration = root.generation
    self.phase = phase
    let whole = try sealing { () throws(SealingError) in try root.commitment(phase: phase) }
    commitment = Array(whole.prefix(StoreFormat.shortCommitmentCount))
  }

  /// - Throws: `invalidArgument` for a line that is no pin.
  init(_ line: String) throws(StoreError) {
    let count = StoreFormat.storeIDCount + 16 + StoreFormat.shortCommitmentCount
    guard line.hasPrefix(Self.prefix), let bytes = Hexadecimal.bytes(line.dropFirst(Self.prefix.count)),
      bytes.count == count
    else {
      throw StoreError(
        .invalidArgument, "this is no pin", hint: "a pin reads \(Self.prefix) and 96 hex digits; \(.pin) gives it")
    }
    func number(_ offset: Int) -> UInt64 { bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    storeID = Array(bytes[..<StoreFormat.storeIDCount])
    rootGeneration = number(16)
    phase = number(24)
    commitment = Array(bytes[32...])
    let counters = 1...UInt64(StoreFormat.maximumCounter)
    guard counters.contains(rootGeneration), counters.contains(phase) else {
      throw StoreError(.invalidArgument, "this is no pin: its numbers are out of their bounds")
    }
  }

  var line: String {
    var builder = ByteBuilder()
    builder.append(bytes: storeID)
    builder.append(rootGeneration)
    builder.append(phase)
    builder.append(bytes: commitment)
    return Self.prefix + Hexadecimal.text(builder.bytes)
  }

  // MARK: Comparing

  /// Refuses, before any secret is asked for, a header that no root key can make fit.
  ///
  /// - Throws: `pinMismatch`, `rolledBack`.
  func check(_ header: StoreHeader) throws(StoreError) {
    let found = StorePin(header)
    guard found.storeID == storeID, found.rootGeneration <= rootGeneration else { throw Self.mismatch }
    guard found.rootGeneration == rootGeneration else { throw Self.rolledBack }
    guard found.phase != phase || found == self else { throw Self.mismatch }
  }

  /// Compares the pin with an opened store.
  ///
  /// - Parameter acceptsUnfinished: takes a store whose rekey will end with this pin.
  /// - Throws: `pinMismatch`, `rolledBack`, `rekeyUnfinished`.
  func check(_ keys: SessionKeys, _ state: StoreState, acceptsUnfinished: Bool) throws(StoreError) {
    try check(keys.header)
    try check(keys.root)
    guard keys.header.phase < phase else { return }
    guard state.target != 0 else { throw Self.rolledBack }
    guard acceptsUnfinished else {
      throw StoreError(
        .pinUnfinished, "this pin is the one that the store has when its rekey has ended; the rekey is unfinished",
        hint: "finish it with \(.resumeRekey), or compare the pin that the rekey began with")
    }
  }

  /// The root key proves the commitment of every phase.
  ///
  /// - Throws: `pinMismatch`.
  func check(_ root: RootKey) throws(StoreError) {
    guard try StorePin(root, phase: phase) == self else { throw Self.mismatch }
  }

  private static var mismatch: StoreError {
    StoreError(
      .pinMismatch, "this is not the store that was expected: its pin is another",
      hint: "ask the maker of the expected store for its pin, which a rekey changes")
  }

  private static var rolledBack: StoreError {
    StoreError(
      .rolledBack, "the store is older than its pin: an older copy of the file was restored",
      hint: "restore a newer copy")
  }
}

extension StoreOrigin {
  /// A store as the origin of another one that is made from it.
  init(_ state: StoreState, _ keys: SessionKeys, mark: [UInt8], as kind: Kind) {
    let pin = StorePin(keys.header)
    self.init(
      kind: kind, storeID: pin.storeID, rootGeneration: pin.rootGeneration, phase: pin.phase,
      generation: state.generation, commitment: pin.commitment, mark: mark, nextID: state.nextID)
  }
}
