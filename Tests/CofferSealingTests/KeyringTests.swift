import CofferSealing
import Testing

@Suite struct KeyringTests {
  private let storeID = [UInt8](repeating: 5, count: 16)
  private let root: RootKey

  init() throws {
    root = try .random(storeID: storeID, generation: 3)
  }

  /// A plaintext entry.
  private struct Entry {
    var epoch: UInt32
    var closed: UInt64 = 0
    var ceiling: UInt64 = 0
    var floor: UInt64 = 1

    static func closed(_ epoch: UInt32) -> Entry { Entry(epoch: epoch, closed: 7, ceiling: 12) }
  }

  private func binding(storeID: [UInt8], generation: UInt64, phase: UInt64) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/keyring").adding(storeID).adding(generation).adding(phase).bytes
  }

  /// Seals any plaintext as a keyring under the root key and phase 1.
  private func sealed(_ plaintext: [UInt8]) throws -> [UInt8] {
    try XAESKey(root.derive(.keyring)).seal(
      plaintext, authenticating: binding(storeID: storeID, generation: 3, phase: 1))
  }

  private func plaintext(active: UInt32, _ entries: [Entry]) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(active)
    builder.append(bytes: [UInt8](repeating: 7, count: Keyring.familyByteCount))
    for entry in entries {
      builder.append(entry.epoch)
      builder.append(bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: entry.epoch), count: 32))
      builder.append(entry.closed)
      builder.append(entry.ceiling)
      builder.append(entry.floor)
    }
    return builder.bytes
  }

  /// Returns a plaintext with the last epoch active and the other epochs closed.
  private func plaintext(epochs: [UInt32]) -> [UInt8] {
    let entries = epochs.dropLast().map { Entry.closed($0) } + epochs.suffix(1).map { Entry(epoch: $0) }
    return plaintext(active: epochs.last ?? 1, entries)
  }

  private func refusal(_ plaintext: [UInt8]) throws -> SealingError.Code? {
    let blob = try sealed(plaintext)
    return code { () throws(SealingError) in try Keyring.open(blob, under: root, phase: 1) }
  }

  private func epochs(_ numbers: [UInt32]) throws -> [EpochKeys] {
    try numbers.map { number in
      var keys = try EpochKeys.random(epoch: number, storeID: storeID)
      if number != numbers.last { keys.bounds = EpochBounds(closed: 7, ceiling: 12, floor: 1) }
      return keys
    }
  }

  // MARK: - Invalid epochs

  @Test func rejectsFallingEpochs() throws {
    #expect(try refusal(plaintext(epochs: [4, 3])) == .malformed)
    #expect(try refusal(plaintext(epochs: [1, 4, 2, 5])) == .malformed)
  }

  @Test func rejectsRepeatedEpochs() throws {
    #expect(try refusal(plaintext(active: 3, [Entry(epoch: 3), Entry(epoch: 3)])) == .malformed)
    #expect(try refusal(plaintext(epochs: [2, 2, 3])) == .malformed)
  }

  @Test func rejectsMissingActiveEpoch() throws {
    for active in [0, 1, 5] as [UInt32] {
      #expect(try refusal(plaintext(active: active, [.closed(3), Entry(epoch: 4)])) == .malformed)
      #expect(try refusal(plaintext(active: active, [.closed(3), .closed(4)])) == .malformed)
    }
  }

  @Test func rejectsActiveEpochBeforeLast() throws {
    #expect(try refusal(plaintext(active: 3, [Entry(epoch: 3), .closed(4)])) == .malformed)
    #expect(try refusal(plaintext(active: 3, [.closed(3), Entry(epoch: 4)])) == .malformed)
    #expect(try refusal(plaintext(active: 3, [.closed(2), Entry(epoch: 3), .closed(4)])) == .malformed)
  }

  @Test func rejectsEpochsOutOfRange() throws {
    #expect(try refusal(plaintext(epochs: [0])) == .malformed)
    #expect(try refusal(plaintext(epochs: [0, 1])) == .malformed)
    #expect(try refusal(plaintext(epochs: [1, 1 << 31])) == .malformed)
    #expect(try refusal(plaintext(epochs: [1, UInt32(Int32.max)])) == nil)
  }

  @Test func rejectsEmptyKeyring() throws {
    #expect(try refusal(plaintext(epochs: [])) == .malformed)
    #expect(try refusal([]) == .malformed)
  }

  @Test func rejectsTooManyEpochs() throws {
    #expect(try refusal(plaintext(epochs: Array(1...65))) == .malformed)
    #expect(try refusal(plaintext(epochs: Array(1...64))) == nil)
  }

  @Test func rejectsOtherLengths() throws {
    // Truncated after the first entry, the keyring contains only a closed epoch.
    let whole = plaintext(epochs: [3, 4])
    for count in 0..<whole.count {
      #expect(try refusal(Array(whole[..<count])) == .malformed, "\(count) bytes")
    }
    #expect(try refusal(whole + [0]) == .malformed)
    #expect(try refusal(whole) == nil)
  }

  // MARK: - Invalid bounds

  private static let beyondIDs: [UInt64] = [1 << 63, .max]

  @Test func rejectsInvalidActiveEpochBounds() throws {
    var broken = [
      Entry(epoch: 9, closed: 1), Entry(epoch: 9, ceiling: 1), Entry(epoch: 9, closed: 7, ceiling: 12),
      Entry(epoch: 9, closed: 1 << 47), Entry(epoch: 9, closed: .max), Entry(epoch: 9, ceiling: .max),
      Entry(epoch: 9, floor: 0),
    ]
    broken += Self.beyondIDs.map { Entry(epoch: 9, floor: $0) }
    for entry in broken {
      #expect(try refusal(plaintext(active: 9, [entry])) == .malformed, "\(entry)")
      #expect(try refusal(plaintext(active: 9, [.closed(1), .closed(2), entry])) == .malformed, "\(entry)")
    }
  }

  @Test func rejectsInvalidClosedEpochBounds() throws {
    func broken(_ epoch: UInt32) -> [Entry] {
      [
        Entry(epoch: epoch), Entry(epoch: epoch, ceiling: 12), Entry(epoch: epoch, closed: 7),
        Entry(epoch: epoch, closed: 1 << 48, ceiling: 12), Entry(epoch: epoch, closed: 1 << 63, ceiling: 12),
        Entry(epoch: epoch, closed: .max, ceiling: 12), Entry(epoch: epoch, closed: 7, ceiling: 12, floor: 0),
      ]
        + Self.beyondIDs.flatMap {
          [Entry(epoch: epoch, closed: 7, ceiling: $0), Entry(epoch: epoch, closed: 7, ceiling: 12, floor: $0)]
        }
    }
    // Test each position in a keyring.
    for entry in broken(1) {
      #expect(try refusal(plaintext(active: 9, [entry, Entry(epoch: 9)])) == .malformed, "\(entry)")
      #expect(try refusal(plaintext(active: 9, [entry, .closed(2), Entry(epoch: 9)])) == .malformed, "\(entry)")
    }
    for entry in broken(2) {
      #expect(try refusal(plaintext(active: 9, [.closed(1), entry, Entry(epoch: 9)])) == .malformed, "\(entry)")
    }
  }

  @Test(arguments: [0, 2, UInt64(Int64.max)])
  func rejectsOtherFloorOfActiveEpoch(_ floor: UInt64) throws {
    #expect(try refusal(plaintext(active: 1, [Entry(epoch: 1, floor: floor)])) == .malformed)
  }

  @Test func acceptsBoundsAtLimits() throws {
    let highestID = UInt64(Int64.max)
    for floor in [1, 12, 13, highestID] {
      for closed in [1, 1 << 48 - 1] as [UInt64] {
        for ceiling in [1, highestID] {
          let entry = Entry(epoch: 1, closed: closed, ceiling: ceiling, floor: floor)
          let blob = try sealed(plaintext(active: 2, [entry, Entry(epoch: 2)]))
          let keyring = try Keyring.open(blob, under: root, phase: 1)
          #expect(
            keyring.epochs.map(\.bounds) == [
              EpochBounds(closed: closed, ceiling: ceiling, floor: floor),
              EpochBounds(closed: 0, ceiling: 0, floor: 1),
            ])
        }
      }
    }
  }

  // MARK: - Authentication

  @Test func rejectsOtherGenerationPhaseOrStore() throws {
    let blob = try sealed(plaintext(epochs: [3]))
    #expect(code { () throws(SealingError) in try Keyring.open(blob, under: root, phase: 1) } == nil)
    for phase in [0, 2, 3, 1 << 32, 1 << 62] as [UInt64] {
      #expect(code { () throws(SealingError) in try Keyring.open(blob, under: root, phase: phase) } == .notAuthentic)
    }
    for other in [
      RootKey(secret: root.secret, storeID: storeID, generation: 2),
      RootKey(secret: root.secret, storeID: storeID, generation: 4),
      RootKey(secret: root.secret, storeID: [UInt8](repeating: 6, count: 16), generation: 3),
      try RootKey.random(storeID: storeID, generation: 3),
    ] {
      #expect(code { () throws(SealingError) in try Keyring.open(blob, under: other, phase: 1) } == .notAuthentic)
    }
    // Swap generation and phase.
    let swapped = RootKey(secret: root.secret, storeID: storeID, generation: 1)
    #expect(code { () throws(SealingError) in try Keyring.open(blob, under: swapped, phase: 3) } == .notAuthentic)
  }

  @Test func rejectsEveryTruncation() throws {
    let blob = try sealed(plaintext(epochs: [3]))
    for count in 0..<blob.count {
      let cut = Array(blob[..<count])
      #expect(code { () throws(SealingError) in try Keyring.open(cut, under: root, phase: 1) } == .notAuthentic)
    }
  }

  @Test func sealingRejectsTooManyEpochs() throws {
    let keyring = Keyring(active: 65, family: family, epochs: try epochs(Array(1...65)))
    #expect(code { () throws(SealingError) in try keyring.seal(under: root, phase: 1) } == .malformed)
  }

  // MARK: - Valid keyrings

  private var family: Secret { Secret([UInt8](repeating: 7, count: Keyring.familyByteCount)) }

  @Test func roundTripsKeysAndBounds() throws {
    var epochs = try epochs([2, 7, 9])
    epochs[0].bounds = EpochBounds(closed: 4, ceiling: 100, floor: 50)
    epochs[1].bounds = EpochBounds(closed: 6, ceiling: 80, floor: 2)
    let blob = try Keyring(active: 9, family: family, epochs: epochs).seal(under: root, phase: 4)
    #expect(blob.count == Keyring.byteCount(ofEpochs: 3) && blob.count == 40 + 36 + 3 * 60)
    let opened = try Keyring.open(blob, under: root, phase: 4)
    #expect(opened.active == 9 && opened.family.isEqual(to: family))
    #expect(opened.epochs.map(\.epoch) == [2, 7, 9])
    #expect(opened.epochs.map(\.bounds) == epochs.map(\.bounds))
    for (before, after) in zip(epochs, opened.epochs) {
      #expect(before.body.isEqual(to: after.body) && before.set.isEqual(to: after.set))
    }
    #expect(opened.keys(of: 7)?.epoch == 7)
    #expect(opened.keys(of: 8) == nil)
    #expect(opened.highestCeiling == 100)
  }

  @Test func keyringWithoutClosedEpochsLacksCeiling() throws {
    #expect(Keyring(active: 1, family: family, epochs: try epochs([1])).highestCeiling == 0)
  }

  @Test func opensFormatPageKeyring() throws {
    let vectors = try FormatVectors.load()
    let vector = vectors.keyring
    let keyring = try Keyring.open(vector.sealed.bytes, under: vectors.root, phase: vector.phase)
    #expect(keyring.active == vector.active)
    #expect(keyring.epochs.map(\.epoch) == vector.entries.map(\.epoch))
    #expect(keyring.epochs.map(\.bounds) == vector.entries.map(\.bounds))
    for keys in keyring.epochs {
      let root = try #require(vector.epochs[String(keys.epoch)])
      let expected = try EpochKeys(epoch: keys.epoch, root: Secret(root.bytes), storeID: vectors.storeID.bytes)
      #expect(keys.body.isEqual(to: expected.body) && keys.lookup.isEqual(to: expected.lookup))
    }
  }

  @Test func writesFormatPageKeyring() throws {
    let vectors = try FormatVectors.load()
    let vector = vectors.keyring
    let opened = try Keyring.open(vector.sealed.bytes, under: vectors.root, phase: vector.phase)
    let blob = try opened.seal(under: vectors.root, phase: vector.phase)
    let additional = binding(
      storeID: vectors.storeID.bytes, generation: vectors.header.generation, phase: vector.phase)
    #expect(additional == vector.aad.bytes)
    let key = try XAESKey(vectors.root.derive(.keyring))
    #expect(try key.open(blob, authenticating: additional) == vector.plain.bytes)
  }
}

@Suite struct CommitmentTests {
  private let storeID = [UInt8](repeating: 5, count: 16)

  @Test func commitmentsDifferByKeyStoreGenerationAndPhase() throws {
    let secret = try Secret.random(byteCount: 32)
    var seen: Set<[UInt8]> = []
    var count = 0
    for generation in [1, 2, 256, 1 << 62] as [UInt64] {
      let roots = [
        RootKey(secret: secret, storeID: storeID, generation: generation),
        RootKey(secret: secret, storeID: [UInt8](repeating: 6, count: 16), generation: generation),
        try RootKey.random(storeID: storeID, generation: generation),
      ]
      for root in roots {
        for phase in [1, 2, 256, 1 << 62] as [UInt64] {
          let commitment = try root.commitment(phase: phase)
          #expect(try commitment.count == 32 && commitment == root.commitment(phase: phase))
          seen.insert(commitment)
          count += 1
        }
      }
    }
    #expect(seen.count == count)
  }

  @Test func derivesSameKeysInEveryGeneration() throws {
    let root = try RootKey.random(storeID: storeID, generation: 1)
    let later = RootKey(secret: root.secret, storeID: storeID, generation: 2)
    for label in [RootKey.Label.keyring, .headerMAC, .state, .anchor] {
      #expect(try root.derive(label).isEqual(to: later.derive(label)))
    }
  }
}
