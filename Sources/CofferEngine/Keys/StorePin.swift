internal import CofferRecords
internal import CofferSealing

/// The identity of a store under its root key, which a recipient compares before trusting the store.
///
/// A pin contains the store's ID, the root key's number and a commitment to the root key, and no secret. It changes
/// with the root key and at the end of each rekey. Its text is one line that starts with `coffer-pin-3-` (FORMAT, "Key
/// files, pin, anchor").
public struct StorePin: Sendable, Hashable, Codable, LosslessStringConvertible {
  private static let prefix = "coffer-pin-3-"

  package let storeID: [UInt8]
  package let rootGeneration: UInt64
  package let phase: UInt64
  /// The root key's commitment for the phase.
  let commitment: [UInt8]
}

extension StorePin {
  /// Creates the pin from a header. It isn't authenticated until a key has opened the store.
  package init(_ header: StoreHeader) {
    storeID = header.storeID
    rootGeneration = header.rootGeneration
    phase = header.phase
    commitment = header.commitment
  }

  /// Creates the pin for a store with this root key in this phase.
  package init(_ root: RootKey, phase: UInt64) throws(StoreError) {
    storeID = root.storeID
    rootGeneration = root.generation
    self.phase = phase
    commitment = try translatingErrors { () throws(SealingError) in try root.commitment(phase: phase) }
  }

  /// Creates a pin from its line, or returns `nil` if the line isn't a pin.
  public init?(_ description: String) {
    guard let pin = try? StorePin(parsing: description) else { return nil }
    self = pin
  }

  /// - Throws: `invalidArgument` if the line isn't a pin.
  package init(parsing line: String) throws(StoreError) {
    let count = StoreFormat.storeIDCount + 16 + StoreFormat.commitmentCount
    guard line.hasPrefix(Self.prefix), let bytes = Hexadecimal.bytes(line.dropFirst(Self.prefix.count)),
      bytes.count == count
    else {
      throw StoreError(
        .invalidArgument, "this is no pin", hint: "a pin reads \(Self.prefix) and 128 hex digits; \(.pin) gives it")
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

  /// The pin's line.
  public var description: String {
    var builder = ByteBuilder()
    builder.append(bytes: storeID)
    builder.append(rootGeneration)
    builder.append(phase)
    builder.append(bytes: commitment)
    return Self.prefix + Hexadecimal.text(builder.bytes)
  }

  /// Decodes a pin from its line.
  ///
  /// - Throws: `DecodingError` if the string isn't a pin.
  public init(from decoder: any Decoder) throws {
    self = try .decode(lineFrom: decoder)
  }

  /// Encodes the pin's line.
  ///
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    try description.encode(to: encoder)
  }

  // MARK: Comparing

  /// Rejects a header that can't match the pin under any root key. Call this method before asking for a secret.
  ///
  /// - Throws: `pinMismatch`, `rolledBack`.
  package func check(_ header: StoreHeader) throws(StoreError) {
    let found = StorePin(header)
    guard found.storeID == storeID, found.rootGeneration <= rootGeneration else { throw Self.mismatch }
    guard found.rootGeneration == rootGeneration else { throw Self.rolledBack }
    guard found.phase != phase || found == self else { throw Self.mismatch }
  }

  /// Compares the pin with an opened store.
  ///
  /// - Parameter acceptsUnfinished: Whether to accept a store whose unfinished rekey results in this pin.
  /// - Throws: `pinMismatch`, `rolledBack`, `pinUnfinished`.
  package func check(_ keys: SessionKeys, _ state: StoreState, acceptsUnfinished: Bool) throws(StoreError) {
    try check(keys.header)
    try check(keys.root)
    guard keys.header.phase < phase else { return }
    guard state.target != 0 else { throw Self.rolledBack }
    guard acceptsUnfinished else {
      throw StoreError(
        .pinUnfinished, "this pin is the one that the store has when its rekey has ended; the rekey is unfinished",
        hint: "finish it with \(.resumeRekey), or compare the pin that the store has until then")
    }
  }

  /// Compares the pin with the root key, which determines the commitment for each phase.
  ///
  /// - Throws: `pinMismatch`.
  package func check(_ root: RootKey) throws(StoreError) {
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

extension LosslessStringConvertible {
  /// Decodes a value from its description.
  static func decode(lineFrom decoder: any Decoder) throws -> Self {
    let container = try decoder.singleValueContainer()
    guard let value = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "invalid \(Self.self)")
    }
    return value
  }
}
