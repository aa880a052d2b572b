internal import CCofferOpenSSL

/// HKDF-SHA-256 (RFC 5869) with 32 bytes out unless said otherwise.
///
/// Never KBKDF for XAES: OpenSSL 3.0 ignores its parameter `r` and derives another key without a word.
package func hkdf(_ material: Secret, salt: [UInt8], info: [UInt8], byteCount: Int = 32) throws(SealingError) -> Secret
{
  guard let context = EVP_KDF_CTX_new(try Algorithms.hkdf.pointer()) else { throw .openSSL("an HKDF context") }
  defer { EVP_KDF_CTX_free(context) }
  let secret = material.withUnsafeBytes { material in
    salt.withUnsafeBytes { salt in
      info.withUnsafeBytes { info in
        var parameters = Parameters()
        parameters.add(OSSL_KDF_PARAM_DIGEST, text: "SHA256")
        parameters.add(OSSL_KDF_PARAM_KEY, bytes: material)
        parameters.add(OSSL_KDF_PARAM_SALT, bytes: salt)
        parameters.add(OSSL_KDF_PARAM_INFO, bytes: info)
        return derive(context, parameters, byteCount)
      }
    }
  }
  guard let secret else { throw .openSSL("HKDF") }
  return secret
}

/// scrypt (RFC 7914) with 32 bytes out. Takes 128·r·2^logN bytes of memory while it runs.
///
/// The caller has checked the bounds of `cost` (``ScryptCost/check(isTest:)``).
package func scrypt(_ passphrase: Secret, salt: [UInt8], cost: ScryptCost, byteCount: Int = 32) throws(SealingError)
  -> Secret
{
  guard let context = EVP_KDF_CTX_new(try Algorithms.scrypt.pointer()) else { throw .openSSL("a scrypt context") }
  defer { EVP_KDF_CTX_free(context) }
  let secret = passphrase.withUnsafeBytes { passphrase in
    salt.withUnsafeBytes { salt in
      var parameters = Parameters()
      parameters.add(OSSL_KDF_PARAM_PASSWORD, bytes: passphrase)
      parameters.add(OSSL_KDF_PARAM_SALT, bytes: salt)
      parameters.add(OSSL_KDF_PARAM_SCRYPT_N, number: cost.n)
      parameters.add(OSSL_KDF_PARAM_SCRYPT_R, number: UInt64(cost.r))
      parameters.add(OSSL_KDF_PARAM_SCRYPT_P, number: UInt64(cost.p))
      parameters.add(OSSL_KDF_PARAM_SCRYPT_MAXMEM, number: cost.maximumMemory)
      return derive(context, parameters, byteCount)
    }
  }
  guard let secret else { throw .openSSL("scrypt") }
  return secret
}

private func derive(_ context: OpaquePointer, _ parameters: borrowing Parameters, _ byteCount: Int) -> Secret? {
  parameters.withList { list in
    var succeeded = false
    let secret = Secret(byteCount: byteCount) { memory in
      succeeded = EVP_KDF_derive(context, memory.bytePointer, memory.count, list) == 1
      return memory.count
    }
    return succeeded ? secret : nil
  }
}

/// How much work a passphrase slot asks for (FORMAT, "Slots").
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
  /// For TEST stores: about 2 ms.
  package static let test = ScryptCost(logN: 10, r: 8, p: 1)
  /// The sum of p·2^logN over all slots to be tried, at most.
  package static let maximumTotalWork: UInt64 = 1 << 19
  /// Memory of one derivation, at most.
  package static let maximumBlockMemory: UInt64 = 512 << 20

  package var n: UInt64 { 1 << UInt64(logN) }
  package var work: UInt64 { UInt64(p) * n }
  var maximumMemory: UInt64 { 128 * UInt64(r) * (n + UInt64(p) + 2) + (1 << 20) }

  /// Refuses invalid parameters by the name of the field, before any work.
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

  /// The one that takes more work; of two that take the same, the one that takes more memory.
  package func strengthened(to other: ScryptCost) -> ScryptCost {
    (work, n) >= (other.work, other.n) ? self : other
  }
}
