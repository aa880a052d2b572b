/// An XAES-256-GCM key (C2SP) with its contexts. XAES-256-GCM is AES-256-GCM with a key derived from the nonce's first
/// half.
///
/// Use it on one thread at a time. Sealing 1 KiB takes about 0.6 µs, or a third less if the previous seal's nonce had
/// the same first half, and doesn't allocate memory. FORMAT, "XAES-256-GCM" and "Sealing": `XSeal(K, A, P)` is nonce
/// (24), ciphertext (as long as the text), tag (16).
package final class XAESKey {
  package static let byteCount = 32
  package static let nonceCount = 24
  package static let tagCount = AES256GCM.tagCount
  /// The bytes that sealing adds to a text in one blob.
  package static let overhead = nonceCount + tagCount

  private let block: BlockCipher
  @exclusivity(unchecked) private var sealing = DerivedCipher()
  @exclusivity(unchecked) private var opening: [DerivedCipher] = [DerivedCipher()]
  /// The indexes in `opening` of the cipher used last, and of the cipher replaced last.
  @exclusivity(unchecked) private var latest = 0
  private var oldest = 0
  var run = NonceRun()
  /// K1 (16 bytes), followed by scratch memory for the two blocks (32) and the derived key (32).
  private let scratch: Secret

  package init(_ key: Secret) throws(SealingError) {
    precondition(key.count == Self.byteCount, "internal error: an XAES key has 32 bytes")
    block = try BlockCipher(key)
    scratch = Secret(byteCount: 80) { $0.count }
    try deriveK1()
  }

  /// Seals `plaintext` with `nonce` (24 bytes) into `ciphertext` (the same length) and `tag` (16 bytes).
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    let half = NonceHalf(nonce)
    let key = sealing.half == half ? nil : try derivedKey(nonce)
    sealing.half = nil
    try sealing.cipher.seal(
      plaintext, authenticating: additional, key: key, nonce: UnsafeRawBufferPointer(rebasing: nonce[12...]),
      ciphertext: ciphertext, tag: tag)
    sealing.half = half
  }

  /// Opens a ciphertext of `seal` into `plaintext`, which has the same length.
  ///
  /// - Throws: `notAuthentic` for a wrong tag. After any error, `plaintext` has been wiped.
  package func open(
    _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, plaintext: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    let half = NonceHalf(nonce)
    let isKnown = isKnown(half)
    let key = isKnown ? nil : try derivedKey(nonce)
    let cipher = opening[latest].cipher
    try cipher.open(
      ciphertext, authenticating: additional, key: key, nonce: UnsafeRawBufferPointer(rebasing: nonce[12...]),
      tag: tag, plaintext: plaintext)
    // Don't keep the half before authentication, so forged nonces share one entry instead of evicting all cached keys.
    if !isKnown { opening[latest].half = half }
  }

  // MARK: - Keys kept by the first half of the nonce

  /// A cipher with the key for a nonce's first half.
  private struct DerivedCipher {
    let cipher = AES256GCM()
    /// The nonce's first half, or `nil` until a call with its key succeeds.
    var half: NonceHalf?
  }

  /// The maximum number of cached ciphers for opening, which use about a kilobyte each. They cover four million seals
  /// in complete runs.
  private static let openingLimit = 16

  /// Sets `latest` to the cipher for opening, and returns whether the cipher already has the key.
  @inline(__always)
  private func isKnown(_ half: NonceHalf) -> Bool {
    if opening[latest].half == half { return true }
    return find(half)
  }

  private func find(_ half: NonceHalf) -> Bool {
    if let place = opening.firstIndex(where: { $0.half == half }) {
      latest = place
      return true
    }
    if opening[oldest].half != nil {
      if opening.count < Self.openingLimit {
        opening.append(DerivedCipher())
        oldest = opening.count - 1
      } else {
        oldest = (oldest + 1) % Self.openingLimit
      }
    }
    opening[oldest].half = nil
    latest = oldest
    return false
  }

  // MARK: - Derivation (C2SP XAES-256-GCM)

  /// Computes K1, which is AES_K(0^16) shifted left by one bit and reduced. K1 is CMAC's subkey for complete blocks.
  private func deriveK1() throws(SealingError) {
    try scratch.withUnsafeMutableBytes { memory throws(SealingError) in
      let bytes = memory.bytePointer!
      try block.encrypt(bytes + 16, blockCount: 1, into: bytes)
      let carry = bytes[0] >> 7
      for index in 0..<15 { bytes[index] = bytes[index] << 1 | bytes[index + 1] >> 7 }
      bytes[15] = bytes[15] << 1 ^ carry * 0x87
    }
  }

  /// Derives the key for a nonce. The key consists of the CMACs of two blocks, each with a counter, "X", zero and the
  /// nonce's first half.
  ///
  /// The key is in scratch memory, and is valid until the next derivation.
  @inline(__always)
  private func derivedKey(_ nonce: UnsafeRawBufferPointer) throws(SealingError) -> UnsafeRawBufferPointer {
    precondition(nonce.count == Self.nonceCount, "internal error: an XAES nonce has 24 bytes")
    return try scratch.withUnsafeMutableBytes { memory throws(SealingError) in
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
      try block.encrypt(
        blocks.assumingMemoryBound(to: UInt8.self), blockCount: 2, into: derived.assumingMemoryBound(to: UInt8.self))
      return UnsafeRawBufferPointer(start: derived, count: Self.byteCount)
    }
  }
}

// MARK: - One blob: nonce, ciphertext, tag

extension XAESKey {
  /// Seals into one blob with a fresh nonce from the run.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer, nonces: RandomBytes,
    into blob: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    try draw(
      UnsafeMutableRawBufferPointer(rebasing: blob[..<Self.nonceCount]), for: plaintext.count, from: nonces)
    try seal(plaintext, authenticating: additional, behindNonceIn: blob)
  }

  /// Seals into a blob that begins with the nonce.
  private func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    behindNonceIn blob: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    precondition(blob.count == plaintext.count + Self.overhead, "internal error: seal into a blob of another size")
    let nonce = UnsafeMutableRawBufferPointer(rebasing: blob[..<Self.nonceCount])
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

  /// Seals into one blob with a nonce whose first half no other seal has.
  package func seal(_ plaintext: [UInt8], authenticating additional: [UInt8]) throws(SealingError) -> [UInt8] {
    try plaintext.withBytes { plaintext throws(SealingError) in try seal(plaintext, authenticating: additional) }
  }

  /// Seals a secret into one blob with a nonce whose first half no other seal has.
  package func seal(_ secret: Secret, authenticating additional: [UInt8]) throws(SealingError) -> [UInt8] {
    try secret.withUnsafeBytes { secret throws(SealingError) in try seal(secret, authenticating: additional) }
  }

  private func seal(_ plaintext: UnsafeRawBufferPointer, authenticating additional: [UInt8]) throws(SealingError)
    -> [UInt8]
  {
    var blob = [UInt8](repeating: 0, count: plaintext.count + Self.overhead)
    try blob.withMutableBytes { blob throws(SealingError) in
      try Self.draw(UnsafeMutableRawBufferPointer(rebasing: blob[..<Self.nonceCount]))
      try additional.withBytes { additional throws(SealingError) in
        try seal(plaintext, authenticating: additional, behindNonceIn: blob)
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
  /// Calls `body` with the secret's bytes as scratch memory for a context on one thread at a time.
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
