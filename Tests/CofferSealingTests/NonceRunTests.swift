import Testing

@testable import CofferSealing

/// Tests nonces that share their first half, and their cached keys.
@Suite struct NonceRunTests {
  private let key = Secret([UInt8](repeating: 7, count: 32))
  private let additional = Array("row 1".utf8)
  private let source = NonceSource(state: [UInt8](repeating: 9, count: 4319))
  private let random: RandomBytes

  init() throws {
    random = try RandomBytes()
  }

  private func nonce(of cipher: XAESKey, for byteCount: Int = 100) throws -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: XAESKey.nonceCount)
    try nonce.withUnsafeMutableBytes { try cipher.draw($0, for: byteCount, from: random) }
    return nonce
  }

  private func nonces(_ count: Int, of cipher: XAESKey) throws -> [[UInt8]] {
    try (0..<count).map { _ in try nonce(of: cipher) }
  }

  private func firstHalf(of cipher: XAESKey, for byteCount: Int = 100) throws -> [UInt8] {
    Array(try nonce(of: cipher, for: byteCount)[..<12])
  }

  // MARK: - Outside runs

  @Test func drawsRandomNoncesOutsideRuns() throws {
    let drawn = try nonces(1000, of: XAESKey(key))
    #expect(Set(drawn.map { Array($0[..<12]) }).count == 1000)
    #expect(Set(drawn.map { Array($0[12...]) }).count == 1000)
  }

  @Test func separatesSealsOutsideRuns() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    let shared = try firstHalf(of: cipher)
    let halves = try (0..<100).map { _ in Array(try cipher.seal([1], authenticating: additional)[..<12]) }
    #expect(Set(halves).count == 100 && !halves.contains(shared))
    // The run continues.
    #expect(try firstHalf(of: cipher) == shared)
  }

  // MARK: - Runs

  @Test func sharesFirstHalfWithinRun() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    let drawn = try nonces(1000, of: cipher)
    #expect(Set(drawn.map { Array($0[..<12]) }).count == 1)
    #expect(Set(drawn.map { Array($0[12...]) }).count == 1000)
  }

  @Test func changesHalfWithNextRun() throws {
    let cipher = try XAESKey(key)
    var halves: Set<[UInt8]> = []
    for _ in 0..<100 {
      cipher.beginRun(source)
      _ = try nonce(of: cipher)
      halves.insert(try firstHalf(of: cipher))
    }
    #expect(halves.count == 100)
  }

  @Test func separatesKeysOfSameSource() throws {
    let (heads, bodies) = (try XAESKey(key), try XAESKey(key))
    heads.beginRun(source)
    bodies.beginRun(source)
    #expect(try firstHalf(of: heads) != firstHalf(of: bodies))
  }

  @Test func changesHalfAfter262144Seals() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    let limit = 1 << 18
    let first = try nonces(limit, of: cipher)
    #expect(first.allSatisfy { $0[..<12] == first[0][..<12] })
    let next = try nonces(limit, of: cipher)
    #expect(next.allSatisfy { $0[..<12] == next[0][..<12] })
    #expect(next[0][..<12] != first[0][..<12])
    #expect(try nonce(of: cipher)[..<12] != next[0][..<12])
  }

  @Test func changesHalfAfter16GiB() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    // Use the maximum body length.
    let part = 1 << 28
    let halves = try (0..<64).map { _ in try firstHalf(of: cipher, for: part) }
    #expect(Set(halves).count == 1)
    let next = try firstHalf(of: cipher, for: 1)
    #expect(next != halves[0])
    // 63 more seals reach 2^34 - 2^28 + 1 bytes, so another seal would exceed the limit by one byte.
    let more = try (0..<63).map { _ in try firstHalf(of: cipher, for: part) }
    #expect(Set(more) == [next])
    let last = try firstHalf(of: cipher, for: part - 1)
    #expect(last == next)
    #expect(try firstHalf(of: cipher, for: 1) != next)
  }

  @Test func changesHalfBeforeExceedingByteLimit() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    let first = try firstHalf(of: cipher, for: 1 << 34 - 10)
    let second = try firstHalf(of: cipher, for: 11)
    #expect(first != second)
    #expect(try firstHalf(of: cipher, for: 10) == second)
  }

  // MARK: - Nonce halves

  private func bytes(_ half: NonceHalf) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NonceHalf.byteCount)
    bytes.withUnsafeMutableBytes { half.store(to: $0) }
    return bytes
  }

  @Test func halvesDifferForEqualClocksAndStates() throws {
    let halves = try (0..<1000).map { _ in bytes(try source.half(at: 5)) }
    #expect(Set(halves).count == 1000)
  }

  @Test func halvesDependOnClockAndState() throws {
    let halves = try [
      source.half(at: 5, key: key), source.half(at: 6, key: key), NonceSource(state: []).half(at: 5, key: key),
      NonceSource(state: [UInt8](repeating: 9, count: 4318) + [8]).half(at: 5, key: key),
      NonceSource(state: [8] + [UInt8](repeating: 9, count: 4318)).half(at: 5, key: key),
    ].map(bytes)
    #expect(Set(halves).count == 5)
    #expect(try bytes(source.half(at: 5, key: key)) == halves[0])
  }

  /// Python's hmac computed the value from the key, and from u64 clock || N and T of the state.
  @Test func derivesHalfFromClockNonceAndTag() throws {
    let key = Secret(Array(0..<32))
    let state = (0..<4319).map { UInt8(truncatingIfNeeded: $0) }
    let clock: UInt64 = 1_700_000_000_123_456_789
    #expect(
      try bytes(NonceSource(state: state).half(at: clock, key: key)) == Hex("1d28d4230412dbf46c1c40a8").bytes)
    #expect(try bytes(NonceSource(state: []).half(at: clock, key: key)) == Hex("0cd9cf11f9c3296209c6b1c6").bytes)
  }

  // MARK: - Opening

  @Test func opensSealsOfManyRuns() throws {
    let cipher = try XAESKey(key)
    var blobs: [(text: [UInt8], blob: [UInt8])] = []
    // Start more runs than the cache has keys.
    for run in 0..<40 {
      cipher.beginRun(source)
      for number in 0..<5 {
        let text = Array("run \(run), text \(number)".utf8)
        blobs.append((text, try cipher.sealInRun(text, authenticating: additional, nonces: random)))
      }
    }
    #expect(Set(blobs.map { Array($0.blob[..<12]) }).count == 40)
    let reader = try XAESKey(key)
    for round in 1...7 {
      for index in blobs.indices {
        let (text, blob) = blobs[index * round * 37 % blobs.count]
        #expect(try reader.open(blob, authenticating: additional) == text)
      }
    }
  }

  @Test func rejectsSealUnderOtherHalf() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    let first = try cipher.sealInRun([1, 2, 3], authenticating: additional, nonces: random)
    cipher.beginRun(source)
    let second = try cipher.sealInRun([1, 2, 3], authenticating: additional, nonces: random)
    let mixed = Array(second[..<12]) + Array(first[12...])
    for _ in 0..<2 {
      #expect(try cipher.open(first, authenticating: additional) == [1, 2, 3])
      #expect(throws: SealingError(.notAuthentic, "")) { try cipher.open(mixed, authenticating: additional) }
      #expect(try cipher.open(second, authenticating: additional) == [1, 2, 3])
    }
  }

  @Test func forgedHalvesKeepRunKeyCached() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun(source)
    let blob = try cipher.sealInRun([1, 2, 3], authenticating: additional, nonces: random)
    for _ in 0..<50 {
      let forged = try SystemRandom.bytes(12) + Array(blob[12...])
      #expect(throws: SealingError(.notAuthentic, "")) { try cipher.open(forged, authenticating: additional) }
      #expect(try cipher.open(blob, authenticating: additional) == [1, 2, 3])
    }
  }
}

extension XAESKey {
  /// Seals a blob under a nonce from the current run.
  fileprivate func sealInRun(_ plaintext: [UInt8], authenticating additional: [UInt8], nonces: RandomBytes) throws
    -> [UInt8]
  {
    var blob = [UInt8](repeating: 0, count: plaintext.count + Self.overhead)
    try blob.withMutableBytes { blob throws(SealingError) in
      try plaintext.withBytes { plaintext throws(SealingError) in
        try additional.withBytes { additional throws(SealingError) in
          try seal(plaintext, authenticating: additional, nonces: nonces, into: blob)
        }
      }
    }
    return blob
  }
}
