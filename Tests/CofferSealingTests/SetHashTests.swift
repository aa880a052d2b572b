import CofferSealing
import Testing

@Suite struct SetHashTests {
  private let summer: SetSummer
  private let elements: [SetElement]

  init() throws {
    summer = try SetSummer()
    elements = try (0..<20).map { SetElement(try sha256([UInt8($0)])) }
  }

  private func sum(of elements: [SetElement]) throws -> SetHash {
    var sum = SetHash()
    for element in elements { try summer.add(element, to: &sum) }
    return sum
  }

  /// Returns a sum with this value in every lane.
  private func lanes(_ value: UInt16) -> SetHash {
    SetHash((0..<1024).flatMap { _ in [UInt8(value & 0xFF), UInt8(value >> 8)] })
  }

  private func words(_ lanes: [UInt8]) -> [Int] {
    stride(from: 0, to: lanes.count, by: 2).map { Int(lanes[$0]) + 256 * Int(lanes[$0 + 1]) }
  }

  // MARK: - Published vectors

  /// AES-256-CTR with a zero counter block produces GCM's hash key and first blocks, as in test cases 13 and 14
  /// (McGrew and Viega, "The Galois/Counter Mode of Operation").
  @Test func matchesPublishedLanesUnderZeroKey() throws {
    let lanes = try summer.lanes(of: SetElement([UInt8](repeating: 0, count: 32)))
    #expect(lanes[..<16] == Hex("dc95c078a2408989ad48a21492842087").bytes[...])
    #expect(lanes[16..<32] == Hex("530f8afbc74536b9a963b4f1c4cb738b").bytes[...])
    #expect(lanes[32..<48] == Hex("cea7403d4d606b6e074ec5d3baf39d18").bytes[...])
  }

  /// Compares with the encrypted zeros in NIST AESAVS, VarKey of 256 bits.
  @Test func beginsLanesWithEncryptedZeros() throws {
    let lanes = try summer.lanes(of: SetElement([0x80] + [UInt8](repeating: 0, count: 31)))
    #expect(lanes[..<16] == Hex("e35a6dcb19b201a01ebcfa8aa22b5759").bytes[...])
  }

  /// Compares with 2,048 zeros encrypted by `openssl enc -aes-256-ctr`.
  @Test func expandsElementToKeyStream() throws {
    let lanes = try summer.lanes(of: SetElement(Array(0..<32)))
    #expect(lanes.count == 2048)
    #expect(try sha256(lanes) == Hex("7bb5efb323a159a0310e83b87286e596d177ce0b7d0d594f08ea6dc3f9c9d3c2").bytes)
    #expect(lanes.suffix(16) == Hex("fc6ade44ca59894d1c7bc5b6f9f8e399").bytes[...])
  }

  // MARK: - Lanes

  @Test func storesLanesInLittleEndian() {
    let bytes = (0..<2048).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 256) }
    #expect(SetHash(bytes).bytes == bytes)
    // A low byte carries into the following byte.
    var sum = SetHash([0xFF, 0x00, 0x00, 0x80] + [UInt8](repeating: 0, count: 2044))
    sum.add(SetHash([0x01, 0x00, 0x00, 0x80] + [UInt8](repeating: 0, count: 2044)))
    #expect(sum.bytes == [0x00, 0x01, 0x00, 0x00] + [UInt8](repeating: 0, count: 2044))
  }

  @Test func preventsCarryBetweenLanes() {
    for (left, right) in [(0xFFFF, 1), (0x8000, 0x8000), (0xFFFF, 0xFFFF), (0x00FF, 1)] as [(UInt16, UInt16)] {
      var sum = lanes(left)
      sum.add(lanes(right))
      #expect(sum == lanes(left &+ right))
    }
  }

  /// Compares the sum with an independent addition of each element's lanes.
  @Test func addsLanesModulo65536() throws {
    let parts = try elements.map { try words(summer.lanes(of: $0)) }
    let expected = (0..<1024).map { lane in parts.reduce(0) { $0 + $1[lane] } % 65536 }
    #expect(try words(sum(of: elements).bytes) == expected)
  }

  @Test func subtractingFromZeroWrapsAround() throws {
    var difference = SetHash()
    try summer.subtract(elements[0], from: &difference)
    let positive = try words(summer.lanes(of: elements[0]))
    #expect(zip(positive, words(difference.bytes)).allSatisfy { ($0 + $1) % 65536 == 0 })
    try summer.add(elements[0], to: &difference)
    #expect(difference == SetHash())
  }

  // MARK: - Sets

  @Test func detectsMissingReplayedAndChangedElements() throws {
    let whole = try sum(of: elements)
    var missing = whole
    try summer.subtract(elements[3], from: &missing)
    var replayed = missing
    try summer.add(elements[4], to: &replayed)
    var twice = whole
    try summer.add(elements[3], to: &twice)
    #expect(Set([whole, missing, replayed, twice]).count == 4)
  }

  @Test func elementAffectsEveryPartOfSum() throws {
    for element in elements {
      let lanes = try summer.lanes(of: element)
      // The probability of 64 zero bytes is 2^-512.
      for start in stride(from: 0, to: 2048, by: 64) {
        #expect(lanes[start..<start + 64].contains { $0 != 0 })
      }
    }
  }

  @Test func flippedBitChangesMostLanes() throws {
    let bytes = try sha256([1])
    let lanes = try summer.lanes(of: SetElement(bytes))
    for bit in 0..<256 {
      var other = bytes
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(SetElement(other) != SetElement(bytes))
      let changed = try summer.lanes(of: SetElement(other))
      let equal = zip(lanes, changed).count { $0 == $1 }
      // The expected number is eight of 2,048.
      #expect(equal < 64, "bit \(bit)")
    }
  }

  @Test func ignoresOrder() throws {
    let forward = try sum(of: elements)
    #expect(try sum(of: elements.reversed()) == forward)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<10 { #expect(try sum(of: elements.shuffled(using: &generator)) == forward) }
    // Subtract the element before adding it.
    var other = SetHash()
    try summer.subtract(elements[7], from: &other)
    for element in elements { try summer.add(element, to: &other) }
    try summer.add(elements[7], to: &other)
    #expect(other == forward && other.bytes == forward.bytes)
  }

  @Test func addsPartialSums() throws {
    var parts = try sum(of: Array(elements[..<7]))
    parts.add(try sum(of: Array(elements[7...])))
    #expect(try parts == sum(of: elements))
  }

  @Test func subtractingEveryElementLeavesZero() throws {
    var sum = try sum(of: elements)
    for element in elements.shuffled() { try summer.subtract(element, from: &sum) }
    #expect(sum == SetHash() && sum.bytes == [UInt8](repeating: 0, count: 2048))
  }

  @Test func equalElementsCancelAt65536() throws {
    var total = try sum(of: [elements[0]])
    for doubling in 1...16 {
      total.add(total)
      #expect((total == SetHash()) == (doubling == 16))
    }
  }
}

extension SetElement {
  init(_ bytes: [UInt8]) {
    self = bytes.withUnsafeBytes { SetElement(bytes: $0) }
  }
}

extension HMACKey {
  func element(of message: [UInt8]) throws -> SetElement {
    try message.withUnsafeBytes { try element(of: $0) }
  }
}

extension SetHash {
  init(_ bytes: [UInt8]) {
    self = bytes.withUnsafeBytes { SetHash(bytes: $0) }
  }

  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    bytes.withUnsafeMutableBytes { write(to: $0) }
    return bytes
  }
}

extension SetSummer {
  /// Returns an element's lanes in stored form.
  func lanes(of element: SetElement) throws -> [UInt8] {
    var sum = SetHash()
    try add(element, to: &sum)
    return sum.bytes
  }
}
