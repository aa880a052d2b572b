/// Derives a key with HKDF-SHA-256 (RFC 5869), which has 32 bytes by default.
///
/// - Throws: `systemFailure`, including for more than 8,160 bytes.
package func hkdf(_ material: Secret, salt: [UInt8], info: [UInt8], byteCount: Int = 32) throws(SealingError) -> Secret
{
  try derive(material, salt, byteCount) { material, salt, memory throws(SealingError) in
    try info.withBytes { info throws(SealingError) in
      try KeyDerivation.hkdf(material, salt: salt, info: info, into: memory)
    }
  }
}

/// Derives a key with scrypt (RFC 7914), which has 32 bytes by default. Uses 128·r·2^logN bytes of memory.
///
/// The caller must already have checked the bounds of `cost` (``ScryptCost/check(isTest:isRaised:)``).
package func scrypt(_ passphrase: Secret, salt: [UInt8], cost: ScryptCost, byteCount: Int = 32) throws(SealingError)
  -> Secret
{
  try derive(passphrase, salt, byteCount) { passphrase, salt, memory throws(SealingError) in
    try KeyDerivation.scrypt(passphrase, salt: salt, cost: cost, into: memory)
  }
}

private func derive(
  _ material: Secret, _ salt: [UInt8], _ byteCount: Int,
  _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) throws(SealingError) -> Void
) throws(SealingError) -> Secret {
  try Secret(byteCount: byteCount) { memory throws(SealingError) in
    try material.withUnsafeBytes { material throws(SealingError) in
      try salt.withBytes { salt throws(SealingError) in try body(material, salt, memory) }
    }
    return memory.count
  }
}

/// The linked library's key derivation functions.
enum KeyDerivation {}

/// The work required by a passphrase slot (FORMAT, "Slots").
package struct ScryptCost: Hashable, Sendable {
  package var logN: UInt8
  package var r: UInt8
  package var p: UInt8

  package init(logN: UInt8, r: UInt8, p: UInt8) {
    self.logN = logN
    self.r = r
    self.p = p
  }

  /// About 0.4 s and 128 MiB.
  package static let standard = ScryptCost(logN: 17, r: 8, p: 1)
  /// The cost for TEST stores, about 2 ms.
  package static let test = ScryptCost(logN: 10, r: 8, p: 1)
  /// The maximum sum of p·2^logN over all slots to try.
  package static let maximumTotalWork: UInt64 = 1 << 19
  /// The maximum memory for one derivation.
  package static let maximumBlockMemory: UInt64 = 512 << 20

  package var n: UInt64 { 1 << UInt64(logN) }
  package var work: UInt64 { UInt64(p) * n }
  var maximumMemory: UInt64 { 128 * UInt64(r) * (n + UInt64(p) + 2) + (1 << 20) }

  /// Rejects invalid parameters before doing any work. The error contains the field's name.
  package func check(isTest: Bool, isRaised: Bool = false) throws(SealingError) {
    let allowed: ClosedRange<UInt8> = isTest ? 10...14 : 15...20
    guard allowed.contains(logN) else {
      throw refused(
        "logN \(logN) is not in \(allowed.lowerBound)…\(allowed.upperBound)\(isTest ? " of a TEST store" : "")")
    }
    guard r == 8 else { throw refused("r \(r) is not 8") }
    guard (1...4).contains(p) else { throw refused("p \(p) is not in 1…4") }
    guard isRaised || 128 * UInt64(r) * n <= Self.maximumBlockMemory else {
      throw refused("logN \(logN) needs more than 512 MiB")
    }
  }

  private func refused(_ what: String) -> SealingError {
    SealingError(.parametersRefused, "scrypt \(what)")
  }

  /// Returns the cost with more work, or with more memory if the work is equal.
  package func strengthened(to other: ScryptCost) -> ScryptCost {
    (work, n) >= (other.work, other.n) ? self : other
  }
}
