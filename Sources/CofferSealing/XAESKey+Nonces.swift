extension XAESKey {
  /// Starts a run: nonces share their first half until the next call or for 2^18 seals.
  ///
  /// Writer and readers then derive one key for all of them. The other half stays random: two nonces of a run are equal
  /// with a probability below 2^-60. An attacker sees which seals belong to a run, so that a run is one transaction.
  package func beginRun() {
    run.left = 0
    run.isOn = true
  }

  /// Fills `nonce` (24 bytes): wholly random, or but for the first half where a run has begun.
  package func draw(_ nonce: UnsafeMutableRawBufferPointer, from nonces: RandomBytes) throws(SealingError) {
    precondition(nonce.count == Self.nonceCount, "internal error: an XAES nonce has 24 bytes")
    guard run.left > 0 else {
      try nonces.draw(into: nonce)
      guard run.isOn else { return }
      run.half = NonceHalf(UnsafeRawBufferPointer(nonce))
      run.left = NonceRun.limit - 1
      return
    }
    run.half.store(to: nonce)
    try nonces.draw(into: UnsafeMutableRawBufferPointer(rebasing: nonce[NonceHalf.byteCount...]))
    run.left -= 1
  }
}

/// The half of a nonce that decides the derived key.
struct NonceHalf: Equatable {
  static let byteCount = 12

  private let front: UInt64
  private let back: UInt32

  @inline(__always)
  init(_ nonce: UnsafeRawBufferPointer) {
    precondition(nonce.count >= Self.byteCount, "internal error: a nonce is shorter than its half")
    front = nonce.loadUnaligned(as: UInt64.self)
    back = nonce.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
  }

  init(zero: ()) {
    (front, back) = (0, 0)
  }

  func store(to nonce: UnsafeMutableRawBufferPointer) {
    nonce.storeBytes(of: front, as: UInt64.self)
    nonce.storeBytes(of: back, toByteOffset: 8, as: UInt32.self)
  }
}

/// Seals whose nonces share their first half.
struct NonceRun {
  static let limit = 1 << 18

  var isOn = false
  var half = NonceHalf(zero: ())
  var left = 0
}
