import CofferSealing
import CofferTestSupport
import Testing

/// Tests the cipher of XAES and key slots with vectors that have a 96-bit nonce and a 128-bit tag.
///
/// The module doesn't support the other key, nonce and tag sizes in the vector files.
@Suite struct AES256GCMVectorTests {
  private static let wycheproof = "wycheproof/testvectors_v1/aes_gcm_test.json"
  private static let nistOpening = "nist-cavp/ciphers/AES/GCM/gcmDecrypt256.rsp"
  private static let nistSealing = "nist-cavp/ciphers/AES/GCM/gcmEncryptExtIV256.rsp"

  @Test(.corpora(nistOpening))
  func opensOrRejectsNISTVectors() throws {
    let cipher = AES256GCM()
    var opened = 0
    var refused = 0
    for vector in try NISTVector.all(in: Self.nistOpening) {
      let plaintext = try cipher.open(
        vector["CT"], tag: vector["Tag"], key: vector["Key"], nonce: vector["IV"], authenticating: vector["AAD"])
      #expect(plaintext == (vector.isRefused ? nil : vector["PT"]), "count \(vector.number)")
      if plaintext == nil { refused += 1 } else { opened += 1 }
    }
    #expect(opened > 100 && refused > 100)
  }

  @Test(.corpora(nistSealing))
  func sealsNISTVectors() throws {
    let cipher = AES256GCM()
    var count = 0
    for vector in try NISTVector.all(in: Self.nistSealing) {
      let (ciphertext, tag) = try cipher.seal(
        vector["PT"], key: vector["Key"], nonce: vector["IV"], authenticating: vector["AAD"])
      #expect(ciphertext == vector["CT"] && tag == vector["Tag"], "count \(vector.number)")
      count += 1
    }
    #expect(count > 100)
  }

  @Test(.corpora(wycheproof))
  func handlesWycheproofVectors() throws {
    let cipher = AES256GCM()
    let groups = try Corpora.json(Self.wycheproof, as: Wycheproof<Case>.self).testGroups
    var count = 0
    for group in groups where group.keySize == 256 && group.ivSize == 96 && group.tagSize == 128 {
      for test in group.tests {
        let opened = try cipher.open(
          test.ct.bytes, tag: test.tag.bytes, key: test.key.bytes, nonce: test.iv.bytes, authenticating: test.aad.bytes)
        #expect(opened == (test.result == "invalid" ? nil : test.msg.bytes), "test \(test.tcId)")
        if test.result == "valid" {
          let (ciphertext, tag) = try cipher.seal(
            test.msg.bytes, key: test.key.bytes, nonce: test.iv.bytes, authenticating: test.aad.bytes)
          #expect(ciphertext == test.ct.bytes && tag == test.tag.bytes, "test \(test.tcId)")
        }
        count += 1
      }
    }
    #expect(count > 50)
  }

  private struct Case: Decodable {
    var tcId: Int
    var key, iv, aad, msg, ct, tag: Hex
    var result: String
  }
}

/// The parts of a Wycheproof file that the tests use.
struct Wycheproof<Case: Decodable>: Decodable {
  struct Group: Decodable {
    var keySize, ivSize, tagSize: Int?
    var tests: [Case]
  }
  var testGroups: [Group]
}

/// A test vector from a CAVP response file.
private struct NISTVector {
  var number = 0
  var isRefused = false
  var fields: [Substring: [UInt8]] = [:]

  subscript(_ name: Substring) -> [UInt8] { fields[name] ?? [] }

  static func all(in path: String) throws -> [NISTVector] {
    var vectors: [NISTVector] = []
    for line in try Corpora.lines(path) where !line.hasPrefix("#") && !line.hasPrefix("[") {
      let words = line.split(separator: " ")
      if words == ["FAIL"] {
        vectors[vectors.count - 1].isRefused = true
      } else if words.first == "Count" {
        vectors.append(NISTVector(number: Int(words[2]) ?? -1))
      } else if words.count == 3 {
        vectors[vectors.count - 1].fields[words[0]] = Hex(words[2]).bytes
      }
    }
    return vectors.filter { $0["IV"].count == 12 && $0["Tag"].count == 16 }
  }
}

extension AES256GCM {
  fileprivate func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating additional: [UInt8]) throws
    -> (ciphertext: [UInt8], tag: [UInt8])
  {
    var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
    var tag = [UInt8](repeating: 0, count: Self.tagCount)
    try ciphertext.withUnsafeMutableBytes { ciphertext in
      try tag.withUnsafeMutableBytes { tag in
        try plaintext.withUnsafeBytes { plaintext in
          try additional.withUnsafeBytes { additional in
            try key.withUnsafeBytes { key in
              try nonce.withUnsafeBytes { nonce in
                try seal(
                  plaintext, authenticating: additional, key: key, nonce: nonce, ciphertext: ciphertext, tag: tag)
              }
            }
          }
        }
      }
    }
    return (ciphertext, tag)
  }

  /// Returns the plaintext, or `nil` if the tag doesn't match.
  fileprivate func open(
    _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], authenticating additional: [UInt8]
  ) throws -> [UInt8]? {
    var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
    do {
      try plaintext.withUnsafeMutableBytes { plaintext in
        try ciphertext.withUnsafeBytes { ciphertext in
          try additional.withUnsafeBytes { additional in
            try key.withUnsafeBytes { key in
              try nonce.withUnsafeBytes { nonce in
                try tag.withUnsafeBytes { tag in
                  try open(
                    ciphertext, authenticating: additional, key: key, nonce: nonce, tag: tag, plaintext: plaintext)
                }
              }
            }
          }
        }
      }
    } catch SealingError(.notAuthentic, "") {
      return nil
    }
    return plaintext
  }
}

private func ~= (pattern: SealingError, error: any Error) -> Bool {
  error as? SealingError == pattern
}
