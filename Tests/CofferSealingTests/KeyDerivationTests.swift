import CofferSealing
import CofferTestSupport
import Testing

@Suite struct HKDFTests {
  private static let wycheproof = "wycheproof/testvectors_v1/hkdf_sha256_test.json"

  @Test func rejectsOverlongOutput() {
    #expect(
      code { () throws(SealingError) in
        try hkdf(Secret("key"), salt: [1], info: [], byteCount: 255 * 32 + 1)
      } == .systemFailure)
  }

  /// RFC 5869, appendix A.1 to A.3.
  @Test(
    arguments: [
      (
        "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
      ),
      (
        counting(0x00), counting(0x60), counting(0xB0),
        Hex(
          "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
            + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87")
      ),
      (
        "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
      ),
    ] as [(Hex, Hex, Hex, Hex)])
  func rfc5869(_ material: Hex, _ salt: Hex, _ info: Hex, _ expected: Hex) throws {
    let derived = try hkdf(
      Secret(material.bytes), salt: salt.bytes, info: info.bytes, byteCount: expected.bytes.count)
    #expect(derived.bytes == expected.bytes)
  }

  /// Returns 80 consecutive byte values.
  private static func counting(_ first: UInt8) -> Hex {
    Hex(bytes: (0..<80).map { first + $0 })
  }

  @Test(.corpora(wycheproof))
  func wycheproofVectors() throws {
    var count = 0
    for test in try Corpora.json(Self.wycheproof, as: Wycheproof<Case>.self).testGroups.flatMap(\.tests) {
      let derived = try? hkdf(
        Secret(test.ikm.bytes), salt: test.salt.bytes, info: test.info.bytes, byteCount: test.size)
      #expect(derived?.bytes == (test.result == "valid" ? test.okm.bytes : nil), "test \(test.tcId)")
      count += 1
    }
    #expect(count == 86)
  }

  private struct Case: Decodable {
    var tcId: Int
    var ikm, salt, info, okm: Hex
    var size: Int
    var result: String
  }
}

@Suite struct ScryptTests {
  /// RFC 7914, section 12.
  @Test(
    arguments: [
      (
        "", "", ScryptCost(logN: 4, r: 1, p: 1),
        "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
          + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
      ),
      (
        "password", "NaCl", ScryptCost(logN: 10, r: 8, p: 16),
        "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
          + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
      ),
      (
        "pleaseletmein", "SodiumChloride", ScryptCost(logN: 14, r: 8, p: 1),
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
          + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
      ),
    ] as [(String, String, ScryptCost, String)])
  func rfc7914(_ passphrase: String, _ salt: String, _ cost: ScryptCost, _ expected: String) throws {
    let derived = try scrypt(Secret(passphrase), salt: Array(salt.utf8), cost: cost, byteCount: 64)
    #expect(derived.bytes == Hex(expected).bytes)
  }

  @Test(.enabled(if: isLongRun, "takes 1 GiB of memory: set COFFER_LONG=1"))
  func rfc7914WithAGibibyte() throws {
    let derived = try scrypt(
      Secret("pleaseletmein"), salt: Array("SodiumChloride".utf8), cost: ScryptCost(logN: 20, r: 8, p: 1),
      byteCount: 64)
    #expect(
      derived.bytes
        == Hex(
          "2101cb9b6a511aaeaddbbe09cf70f881ec568d574a2ffd4dabe5ee9820adaa47"
            + "8e56fd8f4ba5d09ffa1c6d927c40f4c337304049e8a952fbcbf45c6fa77a41a4"
        ).bytes)
  }
}

@Suite struct ScryptCostTests {
  private func refusal(_ logN: UInt8, _ r: UInt8, _ p: UInt8, isTest: Bool = false, isRaised: Bool = false) -> String? {
    do throws(SealingError) {
      try ScryptCost(logN: logN, r: r, p: p).check(isTest: isTest, isRaised: isRaised)
      return nil
    } catch {
      return error.code == .parametersRefused ? error.message : "another error"
    }
  }

  @Test(arguments: [0, 1, 10, 14, 21, 31, 63, 64, 255] as [UInt8])
  func rejectsLogNOutOfBounds(_ logN: UInt8) {
    #expect(refusal(logN, 8, 1)?.contains("logN \(logN)") == true)
    #expect(refusal(logN, 8, 1, isRaised: true)?.contains("logN \(logN)") == true)
  }

  @Test(arguments: [0, 1, 9, 15, 17, 255] as [UInt8])
  func rejectsRealLogNInTestStore(_ logN: UInt8) {
    #expect(refusal(logN, 8, 1, isTest: true)?.contains("logN \(logN)") == true)
  }

  @Test(arguments: [0, 1, 7, 9, 255] as [UInt8])
  func rejectsROutOfBounds(_ r: UInt8) {
    #expect(refusal(17, r, 1)?.contains("r \(r)") == true)
  }

  @Test(arguments: [0, 5, 255] as [UInt8])
  func rejectsPOutOfBounds(_ p: UInt8) {
    #expect(refusal(17, 8, p)?.contains("p \(p)") == true)
  }

  @Test func rejectsGibibyteUnlessBoundsAreRaised() {
    #expect(refusal(20, 8, 1)?.contains("logN 20") == true)
    #expect(refusal(20, 8, 1, isRaised: true) == nil)
  }

  @Test func acceptsBounds() {
    for (logN, p) in [(15, 1), (15, 4), (17, 1), (19, 4)] as [(UInt8, UInt8)] {
      #expect(refusal(logN, 8, p) == nil)
    }
    for (logN, p) in [(10, 1), (14, 4)] as [(UInt8, UInt8)] {
      #expect(refusal(logN, 8, p, isTest: true) == nil)
    }
  }

  @Test func defaultWorkFitsFourTimes() {
    #expect(ScryptCost.standard.work * 4 == ScryptCost.maximumTotalWork)
    #expect(ScryptCost(logN: 15, r: 8, p: 4).work == 1 << 17)
  }

  @Test func rewrappingKeepsStrongerCost() {
    let weak = ScryptCost(logN: 15, r: 8, p: 2)
    let strong = ScryptCost(logN: 19, r: 8, p: 1)
    #expect(weak.strengthened(to: .standard) == .standard)
    #expect(strong.strengthened(to: .standard) == strong)
    #expect(ScryptCost(logN: 15, r: 8, p: 4).strengthened(to: .standard) == .standard)
    #expect(ScryptCost.standard.strengthened(to: ScryptCost(logN: 15, r: 8, p: 4)) == .standard)
  }
}

@Suite struct HMACTests {
  private static let wycheproof = "wycheproof/testvectors_v1/hmac_sha256_test.json"

  /// RFC 4231, test cases 1, 2 and 6.
  @Test(
    arguments: [
      (
        "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        Hex(bytes: [UInt8](repeating: 0xAA, count: 131)),
        Hex(bytes: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ] as [(Hex, Hex, Hex)])
  func rfc4231(_ key: Hex, _ message: Hex, _ expected: Hex) throws {
    #expect(try HMACKey(Secret(key.bytes)).authenticate(message.bytes) == expected.bytes)
  }

  @Test func reusesKeyForEveryMessage() throws {
    let key = try HMACKey(Secret("Jefe"))
    let message = Array("what do ya want for nothing?".utf8)
    let first = try key.authenticate(message)
    _ = try key.authenticate([])
    #expect(try key.authenticate(message) == first)
  }

  @Test(.corpora(wycheproof))
  func wycheproofVectors() throws {
    var count = 0
    for test in try Corpora.json(Self.wycheproof, as: Wycheproof<Case>.self).testGroups.flatMap(\.tests) {
      let computed = try HMACKey(Secret(test.key.bytes)).authenticate(test.msg.bytes)
      let isEqual = ConstantTime.equal(Array(computed[..<test.tag.bytes.count]), test.tag.bytes)
      #expect(isEqual == (test.result == "valid"), "test \(test.tcId)")
      count += 1
    }
    #expect(count == 174)
  }

  private struct Case: Decodable {
    var tcId: Int
    var key, msg, tag: Hex
    var result: String
  }
}
