internal import CofferPlatform

/// The first halves of a transaction's nonces (FORMAT, "Sealing" and "Random bytes").
///
/// Each half is derived from new random bytes of the operating system, the clock, and the nonce and tag of the state
/// before the transaction. Therefore, two processes restored from the same memory snapshot don't share halves, unless
/// the snapshot was taken during a transaction.
package struct NonceSource: Sendable {
  private let found: [UInt8]

  /// - Parameter state: The sealed state before the transaction, which is empty in a new store.
  package init(state: [UInt8]) {
    found = Array(state.prefix(XAESKey.nonceCount)) + Array(state.suffix(XAESKey.tagCount))
  }

  /// Returns the half for a time in nanoseconds, by default the present.
  func half(at clock: UInt64 = Self.now) throws(SealingError) -> NonceHalf {
    try half(at: clock, key: .random(byteCount: HMACKey.byteCount))
  }

  private static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  func half(at clock: UInt64, key: Secret) throws(SealingError) -> NonceHalf {
    var message = ByteBuilder(reserving: 64)
    message.append(clock)
    message.append(bytes: found)
    return try HMACKey(key).authenticate(message.bytes).withUnsafeBytes { NonceHalf($0) }
  }
}

extension XAESKey {
  /// Begins a run, whose nonces share their first half for 2^18 seals or 2^34 bytes, and then continue with another
  /// half.
  ///
  /// Writers and readers then derive a single key for the run. The second half remains random, so two nonces in a run
  /// are equal with a probability below 2^-60. Each run is a single transaction, because an attacker can see which
  /// seals belong to a run.
  package func beginRun(_ source: NonceSource) {
    run = NonceRun(source: source)
  }

  /// Fills `nonce` (24 bytes) in the current run for a plaintext with `byteCount` bytes.
  package func draw(_ nonce: UnsafeMutableRawBufferPointer, for byteCount: Int, from nonces: RandomBytes)
    throws(SealingError)
  {
    precondition(nonce.count == Self.nonceCount, "internal error: an XAES nonce has 24 bytes")
    guard let source = run.source else { return try Self.draw(nonce) }
    if run.sealsLeft == 0 || run.bytesLeft < byteCount {
      run.half = try source.half()
      run.sealsLeft = NonceRun.sealLimit
      run.bytesLeft = NonceRun.byteLimit
    }
    run.sealsLeft -= 1
    run.bytesLeft -= byteCount
    run.half.store(to: nonce)
    try nonces.draw(into: UnsafeMutableRawBufferPointer(rebasing: nonce[NonceHalf.byteCount...]))
  }

  /// Fills `nonce` (24 bytes) for a seal that shares its first half with no other seal. The half depends on the clock,
  /// because a resumed snapshot of a machine can repeat the bytes of the operating system.
  static func draw(_ nonce: UnsafeMutableRawBufferPointer) throws(SealingError) {
    try NonceSource(state: []).half().store(to: nonce)
    try SystemRandom.fill(UnsafeMutableRawBufferPointer(rebasing: nonce[NonceHalf.byteCount...]))
  }
}

/// The nonce half that determines the derived key.
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

/// A sequence of nonces that share their first half.
struct NonceRun {
  static let sealLimit = 1 << 18
  static let byteLimit = 1 << 34

  /// The source of first halves, or `nil` outside of runs.
  var source: NonceSource?
  var half = NonceHalf(zero: ())
  var sealsLeft = 0
  var bytesLeft = 0
}
