internal import CCofferOpenSSL

/// The algorithms this room uses, fetched once: fetching costs more than a seal.
enum Algorithms {
  // Fetched objects are immutable and reference counted, and these are never freed.
  nonisolated(unsafe) static let aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)!
  // As above.
  nonisolated(unsafe) static let aes256ECB = EVP_CIPHER_fetch(nil, "AES-256-ECB", nil)!
  // As above.
  nonisolated(unsafe) static let hmac = EVP_MAC_fetch(nil, "HMAC", nil)!
  // As above.
  nonisolated(unsafe) static let hkdf = EVP_KDF_fetch(nil, "HKDF", nil)!
  // As above.
  nonisolated(unsafe) static let scrypt = EVP_KDF_fetch(nil, "SCRYPT", nil)!
  // As above.
  nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)!
}

extension SealingError {
  /// A call of OpenSSL that failed, with its own reason; the error queue is left empty.
  static func openSSL(_ what: String) -> SealingError {
    // The last one: earlier ones may be left from calls whose failure was expected.
    let code = ERR_peek_last_error()
    ERR_clear_error()
    let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "no reason given"
    return SealingError(.systemFailure, "OpenSSL failed at \(what): \(reason)")
  }
}

/// SHA-256 of a few bytes.
package func sha256(_ bytes: [UInt8]) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: 32)
  let result = EVP_Digest(bytes, bytes.count, &digest, nil, Algorithms.sha256, nil)
  precondition(result == 1, "internal error: SHA-256 failed")
  return digest
}

/// The parameters of one call of OpenSSL, with the names and numbers they point to; no secret is copied.
///
/// Built by hand because `OSSL_PARAM_construct_*` keep pointers, which `inout` arguments would not keep alive.
struct Parameters: ~Copyable {
  private var list: [OSSL_PARAM] = []
  private var owned: [UnsafeMutableRawPointer] = []

  /// `memory` is the caller's and must outlive the call.
  mutating func add(_ name: String, bytes memory: UnsafeRawBufferPointer) {
    // A null pointer means "not given" to OpenSSL, so that no bytes need some address.
    let address = UnsafeMutableRawPointer(mutating: memory.baseAddress) ?? UnsafeMutableRawPointer(own(UInt64(0)))
    list.append(OSSL_PARAM_construct_octet_string(own(name), address, memory.count))
  }

  mutating func add(_ name: String, text: String) {
    list.append(OSSL_PARAM_construct_utf8_string(own(name), own(text), 0))
  }

  mutating func add(_ name: String, number: UInt64) {
    list.append(OSSL_PARAM_construct_uint64(own(name), own(number)))
  }

  /// The list with its end, for the duration of the call.
  borrowing func withList<R>(_ body: (UnsafePointer<OSSL_PARAM>) -> R) -> R {
    (list + [OSSL_PARAM_construct_end()]).withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  private mutating func own(_ text: String) -> UnsafeMutablePointer<CChar> {
    let bytes = text.utf8CString
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    _ = UnsafeMutableBufferPointer(start: copy, count: bytes.count).initialize(from: bytes)
    owned.append(UnsafeMutableRawPointer(copy))
    return copy
  }

  private mutating func own(_ number: UInt64) -> UnsafeMutablePointer<UInt64> {
    let copy = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    copy.initialize(to: number)
    owned.append(UnsafeMutableRawPointer(copy))
    return copy
  }

  deinit {
    for pointer in owned { pointer.deallocate() }
  }
}
