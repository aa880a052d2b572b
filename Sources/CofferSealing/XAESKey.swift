internal import CCofferOpenSSL

/// A key of XAES-256-GCM (C2SP) with its contexts: AES-256-GCM under a key derived per seal from a random nonce.
///
/// Belongs to one thread at a time. Sealing 1 KiB takes about 0.6 µs and allocates nothing.
/// FORMAT, "XAES" and "Conventions": `XSeal(K, A, P)` is nonce (24), ciphertext (as long as the text), tag (16).
package final class XAESKey {
  package static let nonceCount = 24
  package static let tagCount = 16
  /// What sealing adds to a text in one blob.
  package static let overhead = nonceCount + tagCount

  private let block: OpaquePointer
  private let sealing: OpaquePointer
  private let opening: OpaquePointer
  /// K1 (16 bytes), then scratch for the two blocks (32) and the derived key (32).
  private let scratch: Secret

  package init(_ key: Secret) throws(SealingError) {
    precondition(key.count == 32, "internal error: an XAES key has 32 bytes")
    guard let block = EVP_CIPHER_CTX_new(), let sealing = EVP_CIPHER_CTX_new(), let opening = EVP_CIPHER_CTX_new()
    else { throw .openSSL("a cipher context") }
    self.block = block
    self.sealing = sealing
    self.opening = opening
    scratch = Secret(byteCount: 80) { $0.count }
    let succeeded = key.withUnsafeBytes { bytes in
      EVP_EncryptInit_ex2(block, Algorithms.aes256ECB, bytes.bindMemory(to: UInt8.self).baseAddress, nil, nil) == 1
        && EVP_CIPHER_CTX_set_padding(block, 0) == 1
        && EVP_EncryptInit_ex2(sealing, Algorithms.aes256GCM, nil, nil, nil) == 1
        && EVP_DecryptInit_ex2(opening, Algorithms.aes256GCM, nil, nil, nil) == 1
    }
    guard succeeded, deriveK1() else { throw .openSSL("keying AES-256") }
  }

  deinit {
    EVP_CIPHER_CTX_free(block)
    EVP_CIPHER_CTX_free(sealing)
    EVP_CIPHER_CTX_free(opening)
  }

  /// Seals `plaintext` under `nonce` (24 bytes) into `ciphertext` (as long) and `tag` (16 bytes).
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    precondition(
      nonce.count == Self.nonceCount && tag.count == Self.tagCount && ciphertext.count == plaintext.count,
      "internal error: seal into buffers of other sizes")
    let succeeded = withDerivedKey(nonce) { key, shortNonce in
      var written: Int32 = 0
      return EVP_EncryptInit_ex2(sealing, nil, key, shortNonce, nil) == 1
        && (additional.isEmpty
          || EVP_EncryptUpdate(sealing, nil, &written, additional.bytePointer, Int32(additional.count)) == 1)
        && (plaintext.isEmpty
          || EVP_EncryptUpdate(
            sealing, ciphertext.bytePointer, &written, plaintext.bytePointer, Int32(plaintext.count)) == 1)
        && EVP_EncryptFinal_ex(sealing, ciphertext.bytePointer ?? tag.bytePointer, &written) == 1
        && EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagCount), tag.baseAddress) == 1
    }
    guard succeeded else { throw .openSSL("sealing") }
  }

  /// Opens what `seal` made into `plaintext` (as long as the ciphertext).
  ///
  /// - Throws: `notAuthentic` when the tag does not fit; `plaintext` is wiped then.
  package func open(
    _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, plaintext: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    precondition(
      nonce.count == Self.nonceCount && tag.count == Self.tagCount && ciphertext.count == plaintext.count,
      "internal error: open into buffers of other sizes")
    var isAuthentic = false
    let succeeded = withDerivedKey(nonce) { key, shortNonce in
      var written: Int32 = 0
      guard EVP_DecryptInit_ex2(opening, nil, key, shortNonce, nil) == 1,
        additional.isEmpty
          || EVP_DecryptUpdate(opening, nil, &written, additional.bytePointer, Int32(additional.count)) == 1,
        ciphertext.isEmpty
          || EVP_DecryptUpdate(
            opening, plaintext.bytePointer, &written, ciphertext.bytePointer, Int32(ciphertext.count)) == 1,
        EVP_CIPHER_CTX_ctrl(
          opening, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagCount), UnsafeMutableRawPointer(mutating: tag.baseAddress)) == 1
      else { return false }
      var last: UInt8 = 0
      isAuthentic = EVP_DecryptFinal_ex(opening, &last, &written) == 1
      return true
    }
    guard isAuthentic else {
      if !plaintext.isEmpty { OPENSSL_cleanse(plaintext.baseAddress, plaintext.count) }
      guard succeeded else { throw .openSSL("opening") }
      ERR_clear_error()
      throw SealingError(.notAuthentic, "not authentic")
    }
  }

  // MARK: - Derivation (C2SP XAES-256-GCM)

  /// K1 = AES_K(0^16) shifted left by a bit, reduced: the subkey of CMAC for whole blocks.
  private func deriveK1() -> Bool {
    scratch.withUnsafeMutableBytes { memory in
      let bytes = memory.bindMemory(to: UInt8.self).baseAddress!
      var written: Int32 = 0
      guard EVP_EncryptUpdate(block, bytes, &written, bytes + 16, 16) == 1 else { return false }
      let carry = bytes[0] >> 7
      for index in 0..<15 { bytes[index] = bytes[index] << 1 | bytes[index + 1] >> 7 }
      bytes[15] = bytes[15] << 1 ^ carry * 0x87
      return true
    }
  }

  /// The key for one nonce, and the last 12 bytes of that nonce.
  @inline(__always)
  private func withDerivedKey(
    _ nonce: UnsafeRawBufferPointer, _ body: (UnsafePointer<UInt8>, UnsafePointer<UInt8>) -> Bool
  ) -> Bool {
    scratch.withUnsafeMutableBytes { memory in
      let base = memory.baseAddress!
      let blocks = base + 16
      let derived = base + 48
      for half in 0..<2 {
        let target = blocks + 16 * half
        target.storeBytes(of: UInt32(0x0001_5800 + UInt32(half) * 0x0001_0000).bigEndian, as: UInt32.self)
        (target + 4).copyMemory(from: nonce.baseAddress!, byteCount: 12)
        for word in 0..<2 {
          let offset = 8 * word
          let mixed =
            target.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            ^ base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
          target.storeBytes(of: mixed, toByteOffset: offset, as: UInt64.self)
        }
      }
      var written: Int32 = 0
      let output = derived.assumingMemoryBound(to: UInt8.self)
      guard EVP_EncryptUpdate(block, output, &written, blocks.assumingMemoryBound(to: UInt8.self), 32) == 1
      else { return false }
      return body(output, (nonce.baseAddress! + 12).assumingMemoryBound(to: UInt8.self))
    }
  }
}

// MARK: - One blob: nonce, ciphertext, tag

extension XAESKey {
  /// Seals into one blob under a fresh nonce.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer, nonces: RandomBytes,
    into blob: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    precondition(blob.count == plaintext.count + Self.overhead, "internal error: seal into a blob of another size")
    let nonce = UnsafeMutableRawBufferPointer(rebasing: blob[..<Self.nonceCount])
    try nonces.draw(into: nonce)
    try seal(
      plaintext, authenticating: additional, nonce: UnsafeRawBufferPointer(nonce),
      ciphertext: UnsafeMutableRawBufferPointer(rebasing: blob[Self.nonceCount..<blob.count - Self.tagCount]),
      tag: UnsafeMutableRawBufferPointer(rebasing: blob[(blob.count - Self.tagCount)...]))
  }

  /// Opens one blob into `plaintext`, which is shorter by ``overhead``.
  package func open(
    _ blob: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    plaintext: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    guard blob.count >= Self.overhead, plaintext.count == blob.count - Self.overhead else {
      throw SealingError(.notAuthentic, "too short to be sealed")
    }
    try open(
      UnsafeRawBufferPointer(rebasing: blob[Self.nonceCount..<blob.count - Self.tagCount]),
      authenticating: additional, nonce: UnsafeRawBufferPointer(rebasing: blob[..<Self.nonceCount]),
      tag: UnsafeRawBufferPointer(rebasing: blob[(blob.count - Self.tagCount)...]), plaintext: plaintext)
  }

  package func seal(_ plaintext: [UInt8], authenticating additional: [UInt8], nonces: RandomBytes)
    throws(SealingError) -> [UInt8]
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

  package func open(_ blob: [UInt8], authenticating additional: [UInt8]) throws(SealingError) -> [UInt8] {
    var plaintext = [UInt8](repeating: 0, count: max(0, blob.count - Self.overhead))
    try plaintext.withMutableBytes { plaintext throws(SealingError) in
      try blob.withBytes { blob throws(SealingError) in
        try additional.withBytes { additional throws(SealingError) in
          try open(blob, authenticating: additional, plaintext: plaintext)
        }
      }
    }
    return plaintext
  }
}

extension Secret {
  /// Scratch memory of a context that one thread uses at a time.
  func withUnsafeMutableBytes<R, E: Error>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { bytes throws(E) in try body(UnsafeMutableRawBufferPointer(mutating: bytes)) }
  }
}

extension UnsafeRawBufferPointer {
  var bytePointer: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
  var bytePointer: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
