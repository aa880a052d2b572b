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
    let code = ERR_get_error()
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

/// The parameters of one call: names, and memory that outlives the call.
///
/// Built by hand because `OSSL_PARAM_construct_*` keep pointers, which `inout` arguments would not keep alive.
struct Parameters {
  private var list: [OSSL_PARAM] = []

  mutating func bytes(_ name: String, _ memory: UnsafeRawBufferPointer, _ names: inout CStrings) {
    // A null pointer means "not given" to OpenSSL, so that no bytes need some address.
    let address = UnsafeMutableRawPointer(mutating: memory.baseAddress) ?? names.somewhere
    list.append(OSSL_PARAM_construct_octet_string(names.pointer(name), address, memory.count))
  }

  mutating func text(_ name: String, _ value: String, _ names: inout CStrings) {
    list.append(OSSL_PARAM_construct_utf8_string(names.pointer(name), names.pointer(value), 0))
  }

  mutating func number(_ name: String, _ value: UInt64, _ names: inout CStrings) {
    list.append(OSSL_PARAM_construct_uint64(names.pointer(name), names.number(value)))
  }

  func terminated() -> [OSSL_PARAM] {
    list + [OSSL_PARAM_construct_end()]
  }
}

/// C strings and numbers that stay where they are until the end of the scope; never secret ones.
struct CStrings: ~Copyable {
  private var memory: [UnsafeMutableRawPointer] = []

  /// An address that may be read for no bytes.
  var somewhere: UnsafeMutableRawPointer {
    mutating get { UnsafeMutableRawPointer(number(0)) }
  }

  mutating func pointer(_ text: String) -> UnsafeMutablePointer<CChar> {
    let bytes = text.utf8CString
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    for (offset, byte) in bytes.enumerated() { copy[offset] = byte }
    memory.append(UnsafeMutableRawPointer(copy))
    return copy
  }

  mutating func number(_ value: UInt64) -> UnsafeMutablePointer<UInt64> {
    let copy = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    copy.pointee = value
    memory.append(UnsafeMutableRawPointer(copy))
    return copy
  }

  deinit {
    for pointer in memory { pointer.deallocate() }
  }
}
