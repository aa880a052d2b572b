internal import CofferRecords
internal import CofferSealing

/// The result of comparing a store with an anchor.
public enum AnchorCheck: Sendable, Hashable {
  /// Exactly the state that the anchor names.
  case same
  /// Newer by this many write transactions, and made from the state that the anchor names.
  case descends(by: UInt64)
  /// Newer by this many write transactions. The store no longer holds the mark of the anchor's state: it may be made
  /// from another state of the same generation.
  case newer(by: UInt64)
  /// Its root key was changed since, as the caller knew. The anchor says nothing about the writes before and after.
  case rekeyed
}

/// The demands of a comparison with an anchor.
public struct AnchorOptions: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Refuses a store that can't prove that it is made from the anchor's state.
  public static let descends = AnchorOptions(rawValue: 1)
  /// Accepts a newer root key: the caller knows that the store was rekeyed. Only a passphrase or a key file shows then
  /// that the new root key was made by someone who has it; for other keys, give the new pin.
  public static let rekeyKnown = AnchorOptions(rawValue: 2)
  /// Refuses a newer store.
  public static let exact = AnchorOptions(rawValue: 4)
}

/// An anchor line (FORMAT, "Anchor"): `coffer2:`, then store id, root key generation, phase, generation, commitment and
/// mark, with colons between them.
struct Anchor {
  private static let prefix = "coffer2"

  let pin: StorePin
  let generation: UInt64
  let mark: [UInt8]

  init(_ state: StoreState, _ keys: SessionKeys, mark: [UInt8]) {
    pin = StorePin(keys.header)
    generation = state.generation
    self.mark = mark
  }

  /// - Throws: `invalidArgument` for a line that is no anchor.
  init(_ line: String) throws(StoreError) {
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
      let commitment = bytes(parts[5], StoreFormat.shortCommitmentCount),
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

  var line: String {
    let numbers = "\(pin.rootGeneration):\(pin.phase):\(generation)"
    return
      "\(Self.prefix):\(Hexadecimal.text(pin.storeID)):\(numbers):\(Hexadecimal.text(pin.commitment)):\(Hexadecimal.text(mark))"
  }

  /// The anchor of the state that a store was made from.
  init(_ origin: StoreOrigin) {
    pin = StorePin(
      storeID: origin.storeID, rootGeneration: origin.rootGeneration, phase: origin.phase,
      commitment: origin.commitment)
    generation = origin.generation
    mark = origin.mark
  }

  /// A store that is not the anchor's, or not from after it.
  enum Fault: Error {
    case otherStore
    case older
    /// The root key was changed, and nothing vouches for the new one.
    case newerRootKey
    /// Another root key of the same number.
    case otherRootKey
    /// Another state of the anchor's generation.
    case forked
    /// Newer, where only the anchor's state would do.
    case newer
    /// Newer, and too much has been written since to prove more.
    case unproved
  }

  /// - Parameters:
  ///   - mark: of the state.
  ///   - provesRootKey: whether the session shows who made the root key: it was opened with a passphrase, a key file or
  ///     a pin.
  func compare(
    with state: StoreState, of keys: SessionKeys, mark found: [UInt8], _ options: AnchorOptions,
    hasPin: Bool, provesRootKey: Bool
  ) throws(StoreError) -> Result<AnchorCheck, Fault> {
    let store = StorePin(keys.header)
    guard pin.storeID == store.storeID else { return .failure(.otherStore) }
    guard (pin.rootGeneration, pin.phase) <= (store.rootGeneration, store.phase) else { return .failure(.older) }
    guard pin.rootGeneration == store.rootGeneration else {
      let isVouchedFor = hasPin || options.contains(.rekeyKnown) && provesRootKey
      // An anchor from before a rekey can only be compared by its generation.
      guard !isVouchedFor || state.generation > generation else { return .failure(.older) }
      guard isVouchedFor, options.isDisjoint(with: [.descends, .exact]) else { return .failure(.newerRootKey) }
      return .success(.rekeyed)
    }
    // The same root key proves the commitment of every phase.
    guard try StorePin(keys.root, phase: pin.phase) == pin else { return .failure(.otherRootKey) }
    guard state.generation >= generation else { return .failure(.older) }
    guard state.generation > generation else {
      return ConstantTime.equal(found, mark) ? .success(.same) : .failure(.forked)
    }
    guard !options.contains(.exact) else { return .failure(.newer) }
    guard let earlier = state.ring.mark(of: generation) else {
      guard !options.contains(.descends) else { return .failure(.unproved) }
      return .success(.newer(by: state.generation - generation))
    }
    guard mark.starts(with: earlier) else { return .failure(.forked) }
    return .success(.descends(by: state.generation - generation))
  }

  func error(_ fault: Fault, found state: StoreState) -> StoreError {
    switch fault {
    case .otherStore: StoreError(.anchorMismatch, "the anchor is of another store")
    case .older:
      StoreError(
        .rolledBack,
        state.generation < generation
          ? "the store is older than its anchor: generation \(state.generation), the anchor has \(generation)"
          : "the store is older than its anchor: the anchor is of a later key or phase",
        hint: "an older file is in its place: put back a newer copy")
    case .newerRootKey:
      StoreError(
        .anchorMismatch, "the store has a newer root key than its anchor",
        hint: "if you know of the rekey, open the store with its new pin, and keep a new anchor")
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
        hint: "keep a newer anchor: the store remembers its last fifty or so writes")
    }
  }
}
