import CofferSealing
import Testing

/// Nonces that share their first half, and the keys that are kept for them.
@Suite struct NonceRunTests {
  private let key = Secret([UInt8](repeating: 7, count: 32))
  private let additional = Array("row 1".utf8)

  private func nonces(_ count: Int, of cipher: XAESKey, _ random: RandomBytes) throws -> [[UInt8]] {
    try (0..<count).map { _ in
      var nonce = [UInt8](repeating: 0, count: XAESKey.nonceCount)
      try nonce.withUnsafeMutableBytes { try cipher.draw($0, from: random) }
      return nonce
    }
  }

  @Test func withoutARunNothingOfANonceComesTwice() throws {
    let drawn = try nonces(1000, of: XAESKey(key), RandomBytes())
    #expect(Set(drawn.map { Array($0[..<12]) }).count == 1000)
    #expect(Set(drawn.map { Array($0[12...]) }).count == 1000)
  }

  @Test func noncesOfARunShareTheirFirstHalfOnly() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun()
    let drawn = try nonces(1000, of: cipher, RandomBytes())
    #expect(Set(drawn.map { Array($0[..<12]) }).count == 1)
    #expect(Set(drawn.map { Array($0[12...]) }).count == 1000)
  }

  @Test func theNextRunHasAnotherHalf() throws {
    let cipher = try XAESKey(key)
    let random = try RandomBytes()
    var halves: Set<[UInt8]> = []
    for _ in 0..<100 {
      cipher.beginRun()
      halves.insert(Array(try nonces(2, of: cipher, random)[1][..<12]))
    }
    #expect(halves.count == 100)
  }

  @Test func aRunGoesOnUnderAnotherHalfAfterItsLimit() throws {
    let cipher = try XAESKey(key)
    cipher.beginRun()
    let random = try RandomBytes()
    let limit = 1 << 18
    let first = try nonces(limit, of: cipher, random)
    let next = try nonces(1, of: cipher, random)
    #expect(first[0][..<12] == first[limit - 1][..<12])
    #expect(first[0][..<12] != next[0][..<12])
  }

  @Test func sealsOfManyRunsOpenInAnyOrder() throws {
    let cipher = try XAESKey(key)
    let random = try RandomBytes()
    var blobs: [(text: [UInt8], blob: [UInt8])] = []
    // More runs than keys are kept.
    for run in 0..<40 {
      cipher.beginRun()
      for number in 0..<5 {
        let text = Array("run \(run), text \(number)".utf8)
        blobs.append((text, try cipher.seal(text, authenticating: additional, nonces: random)))
      }
    }
    let reader = try XAESKey(key)
    for round in 1...7 {
      for index in blobs.indices {
        let (text, blob) = blobs[index * round * 37 % blobs.count]
        #expect(try reader.open(blob, authenticating: additional) == text)
      }
    }
  }

  @Test func aSealUnderOneHalfDoesNotOpenUnderAnother() throws {
    let cipher = try XAESKey(key)
    let random = try RandomBytes()
    cipher.beginRun()
    let first = try cipher.seal([1, 2, 3], authenticating: additional, nonces: random)
    cipher.beginRun()
    let second = try cipher.seal([1, 2, 3], authenticating: additional, nonces: random)
    let mixed = Array(second[..<12]) + Array(first[12...])
    for _ in 0..<2 {
      #expect(try cipher.open(first, authenticating: additional) == [1, 2, 3])
      #expect(throws: SealingError(.notAuthentic, "")) { try cipher.open(mixed, authenticating: additional) }
      #expect(try cipher.open(second, authenticating: additional) == [1, 2, 3])
    }
  }

  @Test func madeUpHalvesDriveOutNoMoreThanOneKey() throws {
    let cipher = try XAESKey(key)
    let random = try RandomBytes()
    cipher.beginRun()
    let blob = try cipher.seal([1, 2, 3], authenticating: additional, nonces: random)
    for _ in 0..<50 {
      let forged = try random.draw(12) + Array(blob[12...])
      #expect(throws: SealingError(.notAuthentic, "")) { try cipher.open(forged, authenticating: additional) }
      #expect(try cipher.open(blob, authenticating: additional) == [1, 2, 3])
    }
  }
}
