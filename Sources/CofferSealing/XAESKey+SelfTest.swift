internal import Synchronization

extension XAESKey {
  private static let hasPassed = Atomic<Bool>(false)

  /// Whether ``selfTest()`` succeeds in this process, which must be checked before any key is used.
  ///
  /// Success is cached, but failure isn't, because memory may have been short.
  package static var selfTestPassed: Bool {
    if hasPassed.load(ordering: .relaxed) { return true }
    let passed = selfTest()
    if passed { hasPassed.store(true, ordering: .relaxed) }
    return passed
  }

  /// Seals and opens both published XAES-256-GCM vectors (C2SP), whose derivations differ in K1's carry.
  ///
  /// This detects a library that silently computes something else.
  package static func selfTest() -> Bool {
    let plaintext = Array("XAES-256-GCM".utf8)
    let nonce = Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8)
    let first: [UInt8] = [
      0xCE, 0x54, 0x6E, 0xF6, 0x3C, 0x9C, 0xC6, 0x07, 0x65, 0x92, 0x36, 0x09, 0xB3, 0x3A,
      0x9A, 0x19, 0x74, 0xE9, 0x6E, 0x52, 0xDA, 0xF2, 0xFC, 0xF7, 0x07, 0x5E, 0x22, 0x71,
    ]
    let second: [UInt8] = [
      0x98, 0x6E, 0xC1, 0x83, 0x25, 0x93, 0xDF, 0x54, 0x43, 0xA1, 0x79, 0x43, 0x7F, 0xD0,
      0x83, 0xBF, 0x3F, 0xDB, 0x41, 0xAB, 0xD7, 0x40, 0xA2, 0x1F, 0x71, 0xEB, 0x76, 0x9D,
    ]
    return gives(first, keyByte: 1, plaintext, nonce: nonce, additional: [])
      && gives(second, keyByte: 3, plaintext, nonce: nonce, additional: Array("c2sp.org/XAES-256-GCM".utf8))
  }

  private static func gives(
    _ expected: [UInt8], keyByte: UInt8, _ plaintext: [UInt8], nonce: [UInt8], additional: [UInt8]
  ) -> Bool {
    let secret = Secret(byteCount: byteCount) { memory in
      memory.initializeMemory(as: UInt8.self, repeating: keyByte)
      return memory.count
    }
    do throws(SealingError) {
      let key = try XAESKey(secret)
      let sealed = try key.seal(plaintext, authenticating: additional, nonce: nonce)
      let opened = try key.open(nonce + expected, authenticating: additional)
      return sealed == nonce + expected && opened == plaintext
    } catch {
      return false
    }
  }

  /// Seals into a blob with the caller's nonce. Use this method only for published vectors.
  package func seal(_ plaintext: [UInt8], authenticating additional: [UInt8], nonce: [UInt8]) throws(SealingError)
    -> [UInt8]
  {
    var blob = nonce + [UInt8](repeating: 0, count: plaintext.count + Self.tagCount)
    let end = Self.nonceCount + plaintext.count
    try blob.withMutableBytes { blob throws(SealingError) in
      try nonce.withBytes { nonce throws(SealingError) in
        try plaintext.withBytes { plaintext throws(SealingError) in
          try additional.withBytes { additional throws(SealingError) in
            try seal(
              plaintext, authenticating: additional, nonce: nonce,
              ciphertext: UnsafeMutableRawBufferPointer(rebasing: blob[Self.nonceCount..<end]),
              tag: UnsafeMutableRawBufferPointer(rebasing: blob[end...]))
          }
        }
      }
    }
    return blob
  }
}
