import CofferSealing
import Testing

@Suite struct Ed25519Tests {
  /// The coordinates of points of small order, without their sign bits.
  private static let smallOrder: [Hex] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  private let secret = Secret([UInt8](repeating: 9, count: 32))
  private let message = Array("the text that was published\n".utf8)

  /// RFC 8032, section 7.1.
  @Test(
    arguments: [
      (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
          + "d25bf5f0595bbe24655141438e7a100b"
      ),
      (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
          + "387b2eaeb4302aeeb00d291612bb0c00"
      ),
      (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
          + "4a7c15e9716ed28dc027beceea1ec40a"
      ),
    ] as [(String, String, String, String)])
  func rfc8032(_ secret: String, _ publicKey: String, _ message: String, _ signature: String) throws {
    let secret = Secret(Hex(stringLiteral: secret).bytes)
    let (publicKey, message) = (Hex(stringLiteral: publicKey).bytes, Hex(stringLiteral: message).bytes)
    let signature = Hex(stringLiteral: signature).bytes
    #expect(try Ed25519.publicKey(of: secret) == publicKey)
    #expect(try Ed25519.sign(message, with: secret) == signature)
    #expect(try Ed25519.isValid(signature, of: message, by: publicKey))
  }

  @Test func rejectsEveryFlippedBit() throws {
    let publicKey = try Ed25519.publicKey(of: secret)
    let signature = try Ed25519.sign(message, with: secret)
    for bit in 0..<8 * signature.count {
      var broken = signature
      broken[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try !Ed25519.isValid(broken, of: message, by: publicKey), "signature, bit \(bit)")
    }
    for bit in 0..<8 * message.count {
      var broken = message
      broken[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try !Ed25519.isValid(signature, of: broken, by: publicKey), "message, bit \(bit)")
    }
    for bit in 0..<8 * publicKey.count {
      var broken = publicKey
      broken[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try !Ed25519.isValid(signature, of: message, by: broken), "public key, bit \(bit)")
    }
  }

  @Test func rejectsOtherLengths() throws {
    let publicKey = try Ed25519.publicKey(of: secret)
    let signature = try Ed25519.sign(message, with: secret)
    #expect(try !Ed25519.isValid(signature.dropLast(), of: message, by: publicKey))
    #expect(try !Ed25519.isValid(signature + [0], of: message, by: publicKey))
    #expect(try !Ed25519.isValid([], of: message, by: publicKey))
    #expect(try !Ed25519.isValid(signature, of: message, by: publicKey.dropLast()))
  }

  /// Under such a key, the neutral point and 0 are a signature of every eighth message or more.
  @Test(arguments: smallOrder) func rejectsKeyOfSmallOrder(_ point: Hex) throws {
    let signature = [1] + [UInt8](repeating: 0, count: 63)
    for sign in [0, 0x80] as [UInt8] {
      var key = point.bytes
      key[31] |= sign
      #expect(Ed25519.isSmallOrder(key))
      for number in 0..<64 as Range<UInt8> {
        #expect(try !Ed25519.isValid(signature, of: [number], by: key))
      }
    }
  }

  @Test func acceptsSoundKeys() throws {
    for number in 0..<100 as Range<UInt8> {
      let key = try Ed25519.publicKey(of: Secret([UInt8](repeating: number, count: 32)))
      #expect(!Ed25519.isSmallOrder(key))
    }
    #expect(!Ed25519.isSmallOrder([]))
  }
}
