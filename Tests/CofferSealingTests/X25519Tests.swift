import CofferSealing
import CofferTestSupport
import Testing

@Suite struct X25519Tests {
  private static let wycheproof = "wycheproof/testvectors_v1/x25519_test.json"
  private let secret = Secret([UInt8](repeating: 9, count: 32))

  /// Points of small order on the curve and its twist produce zero with every secret.
  private static let smallOrder: [Hex] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  private func isZeroSharedSecret(_ point: [UInt8]) -> Bool {
    code { () throws(SealingError) in try X25519.sharedSecret(of: secret, with: point) } == .notAuthentic
  }

  @Test(arguments: smallOrder) func rejectsZeroSharedSecret(_ point: Hex) {
    #expect(isZeroSharedSecret(point.bytes))
  }

  /// Finds the points that become zeros, with either highest bit, and none beside them.
  @Test(arguments: smallOrder) func findsPointsOfSmallOrder(_ point: Hex) {
    for bit in 0..<256 {
      var other = point.bytes
      other[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(X25519.isSmallOrder(other) == isZeroSharedSecret(other), "bit \(bit)")
    }
    for low in 0...255 as ClosedRange<UInt8> {
      let other = [low] + point.bytes.dropFirst()
      #expect(X25519.isSmallOrder(other) == isZeroSharedSecret(other), "first byte \(low)")
    }
    #expect(X25519.isSmallOrder(point.bytes) && !X25519.isSmallOrder(Array(point.bytes.dropLast())))
  }

  @Test(arguments: [0, 31, 33])
  func rejectsPublicKeyOfOtherLength(_ count: Int) {
    let point = [UInt8](repeating: 9, count: count)
    #expect(code { () throws(SealingError) in try X25519.sharedSecret(of: secret, with: point) } == .systemFailure)
  }

  /// RFC 7748, section 5.2.
  @Test(
    arguments: [
      (
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
      ),
      (
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
      ),
    ] as [(Hex, Hex, Hex)])
  func rfc7748(_ scalar: Hex, _ point: Hex, _ expected: Hex) throws {
    #expect(try X25519.sharedSecret(of: Secret(scalar.bytes), with: point.bytes).bytes == expected.bytes)
  }

  @Test func bothSidesDeriveSameSecret() throws {
    let mine = try Secret.random(byteCount: 32)
    let theirs = try Secret.random(byteCount: 32)
    let here = try X25519.sharedSecret(of: mine, with: X25519.publicKey(of: theirs))
    let there = try X25519.sharedSecret(of: theirs, with: X25519.publicKey(of: mine))
    #expect(here.isEqual(to: there))
  }

  @Test(.corpora(wycheproof))
  func wycheproofVectors() throws {
    var shared = 0
    var refused = 0
    for test in try Corpora.json(Self.wycheproof, as: Wycheproof<Case>.self).testGroups.flatMap(\.tests) {
      let computed = try? X25519.sharedSecret(of: Secret(test.private.bytes), with: test.public.bytes)
      let isZero = test.shared.bytes.allSatisfy { $0 == 0 }
      #expect(computed?.bytes == (isZero || test.result == "invalid" ? nil : test.shared.bytes), "test \(test.tcId)")
      if computed == nil { refused += 1 } else { shared += 1 }
    }
    #expect(shared + refused == 518 && refused > 0 && shared > 400)
  }

  private struct Case: Decodable {
    var tcId: Int
    var `public`, `private`, shared: Hex
    var result: String
  }
}
