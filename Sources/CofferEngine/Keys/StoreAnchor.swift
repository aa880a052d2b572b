internal import CofferRecords
internal import CofferSealing

/// One state of a store, which you keep outside the store to detect that an older file replaced the current file.
///
/// An anchor doesn't contain a secret. Its text is one line: `coffer3`, store ID, root key generation, phase,
/// generation, commitment and mark, separated by colons (FORMAT, "Anchor").
///
/// ```swift
/// let anchor = try store.anchor()
/// let verdict = try store.verify(against: anchor)
/// ```
public struct StoreAnchor: Sendable, Hashable, Codable, LosslessStringConvertible {
  /// The relation to the anchor's state that a store must have.
  public enum Requirement: Sendable, Hashable {
    /// The store has the anchor's state or a newer state, even if it no longer proves that the newer state descends
    /// from the anchor's state.
    case sameOrNewer
    /// The store has the anchor's state, or proves that its newer state descends from the anchor's state. A store can
    /// prove this for about its last 180 write transactions.
    case descendant
    /// The store has the anchor's state.
    case same
  }

  /// The proved relation of a store to an anchor's state.
  public enum Relation: Sendable, Hashable {
    /// The store has the anchor's state.
    case same
    /// The store is this many write transactions newer, and descends from the anchor's state.
    case descendant(by: UInt64)
    /// The store is this many write transactions newer. It may descend from another state with the same generation,
    /// because it no longer contains the mark for the anchor's state.
    case newer(by: UInt64)
    /// The root key has changed, as the caller allowed. The anchor doesn't prove any writes before or after the change.
    case rekeyed
  }

  private static let prefix = "coffer3"

  package let pin: StorePin
  /// The number of the state's last write transaction.
  public let generation: UInt64
  package let mark: [UInt8]

  package init(_ state: StoreState, _ keys: SessionKeys, mark: [UInt8]) {
    pin = StorePin(keys.header)
    generation = state.generation
    self.mark = mark
  }

  /// Creates an anchor from its line, or returns `nil` if the line isn't an anchor.
  public init?(_ description: String) {
    guard let anchor = try? StoreAnchor(parsing: description) else { return nil }
    self = anchor
  }

  /// - Throws: `invalidArgument` if the line isn't an anchor.
  package init(parsing line: String) throws(StoreError) {
    let line = line.last?.isNewline == true ? String(line.dropLast()) : line
    let parts = line.split(separator: ":", omittingEmptySubsequences: false)
    func number(_ part: Substring) -> UInt64? {
      guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), part.first != "0", let number = UInt64(part),
        number <= UInt64(StoreFormat.maximumCounter)
      else { return nil }
      return number
    }
    func bytes(_ part: Substring, _ count: Int) -> [UInt8]? {
      Hexadecimal.bytes(part).flatMap { $0.count == count ? $0 : nil }
    }
    guard parts.count == 7, parts[0] == Self.prefix, let storeID = bytes(parts[1], StoreFormat.storeIDCount),
      let rootGeneration = number(parts[2]), let phase = number(parts[3]), let generation = number(parts[4]),
      let commitment = bytes(parts[5], StoreFormat.commitmentCount),
      let mark = bytes(parts[6], StoreFormat.macCount)
    else {
      throw StoreError(
        .invalidArgument, "this is no anchor line",
        hint: "it reads \(Self.prefix):<store id>:<root key>:<phase>:<generation>:<commitment>:<mark>")
    }
    pin = StorePin(storeID: storeID, rootGeneration: rootGeneration, phase: phase, commitment: commitment)
    self.generation = generation
    self.mark = mark
  }

  /// The anchor's line.
  public var description: String {
    let numbers = "\(pin.rootGeneration):\(pin.phase):\(generation)"
    let bytes = [pin.storeID, pin.commitment, mark].map { Hexadecimal.text($0) }
    return "\(Self.prefix):\(bytes[0]):\(numbers):\(bytes[1]):\(bytes[2])"
  }

  /// Decodes an anchor from its line.
  ///
  /// - Throws: `DecodingError` if the string isn't an anchor.
  public init(from decoder: any Decoder) throws {
    self = try .decode(lineFrom: decoder)
  }

  /// Encodes the anchor's line.
  ///
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    try description.encode(to: encoder)
  }

  /// A reason why a store doesn't match an anchor.
  package enum Fault: Error {
    case otherStore
    case older
    /// The root key has changed, and the new key can't be trusted.
    case newerRootKey
    /// The root key has the same number but differs.
    case otherRootKey
    /// The anchor's generation has another state.
    case forked
    /// The store is newer, but the anchor's exact state is required.
    case newer
    /// The store is newer, and too many writes followed to prove more.
    case unproved
  }

  /// - Parameters:
  ///   - mark: The state's mark.
  ///   - allowsRekey: Whether a newer root key is accepted if the session proves who made it.
  ///   - provesRootKey: Whether the session proves who made the root key, because it was opened with a passphrase, key
  ///     file or pin.
  package func compare(
    with state: StoreState, of keys: SessionKeys, mark found: [UInt8], requiring requirement: Requirement,
    allowingRekey allowsRekey: Bool, hasPin: Bool, provesRootKey: Bool
  ) throws(StoreError) -> Result<Relation, Fault> {
    let store = StorePin(keys.header)
    guard pin.storeID == store.storeID else { return .failure(.otherStore) }
    guard (pin.rootGeneration, pin.phase) <= (store.rootGeneration, store.phase) else { return .failure(.older) }
    guard pin.rootGeneration == store.rootGeneration else {
      let isTrusted = hasPin || allowsRekey && provesRootKey
      // After a trusted key change, only the generations can be compared.
      guard !isTrusted || state.generation > generation else { return .failure(.older) }
      guard isTrusted, requirement == .sameOrNewer else { return .failure(.newerRootKey) }
      return .success(.rekeyed)
    }
    // The root key determines the commitment for each phase.
    guard try StorePin(keys.root, phase: pin.phase) == pin else { return .failure(.otherRootKey) }
    guard state.generation >= generation else { return .failure(.older) }
    guard state.generation > generation else {
      return ConstantTime.equal(found, mark) ? .success(.same) : .failure(.forked)
    }
    guard requirement != .same else { return .failure(.newer) }
    guard let earlier = state.ring.mark(of: generation) else {
      guard requirement != .descendant else { return .failure(.unproved) }
      return .success(.newer(by: state.generation - generation))
    }
    guard mark.starts(with: earlier) else { return .failure(.forked) }
    return .success(.descendant(by: state.generation - generation))
  }

  /// Returns the evidence that a store is older than the anchor.
  ///
  /// - Parameter name: The words for the anchor's source.
  package func comparison(with state: StoreState, naming name: String) -> String {
    state.generation < generation
      ? "generation \(state.generation), \(name) has \(generation)" : "\(name) is of a later key or phase"
  }

  package func error(_ fault: Fault, found state: StoreState) -> StoreError {
    switch fault {
    case .otherStore: StoreError(.anchorMismatch, "the anchor is of another store")
    case .older:
      StoreError(
        .rolledBack, "the store is older than its anchor: \(comparison(with: state, naming: "the anchor"))",
        hint: "an older file is in its place: put back a newer copy")
    case .newerRootKey:
      StoreError(
        .anchorMismatch, "the store has a newer root key than its anchor",
        hint: """
          if you know of the rekey, accept it with \(.acceptRekey), or open the store with its new pin; keep a new anchor
          """)
    case .otherRootKey:
      StoreError(.anchorMismatch, "the store has another root key than its anchor, of the same number")
    case .forked:
      StoreError(
        .anchorMismatch, "the store does not descend from its anchor: generation \(generation) had another state",
        hint: "it took other writes, or its key was changed in another copy")
    case .newer:
      StoreError(
        .anchorMismatch,
        "the store was written to since: generation \(state.generation), the anchor has \(generation)")
    case .unproved:
      StoreError(
        .anchorMismatch, "the store is newer than its anchor, and it can't prove any more that it descends from it",
        hint: "keep a newer anchor: the store remembers its last 180 or so writes")
    }
  }
}
