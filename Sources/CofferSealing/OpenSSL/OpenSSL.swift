#if !SwiftCrypto
  internal import CCofferOpenSSL
  internal import Synchronization

  /// OpenSSL algorithms that this module uses.
  enum Algorithms {
    static let aes256GCM = Algorithm("AES-256-GCM") { EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) }
    static let aes256CTR = Algorithm("AES-256-CTR") { EVP_CIPHER_fetch(nil, "AES-256-CTR", nil) }
    static let aes256ECB = Algorithm("AES-256-ECB") { EVP_CIPHER_fetch(nil, "AES-256-ECB", nil) }
    static let hmac = Algorithm("HMAC") { EVP_MAC_fetch(nil, "HMAC", nil) }
    static let hkdf = Algorithm("HKDF") { EVP_KDF_fetch(nil, "HKDF", nil) }
    static let scrypt = Algorithm("scrypt") { EVP_KDF_fetch(nil, "SCRYPT", nil) }
    static let sha256 = Algorithm("SHA-256") { EVP_MD_fetch(nil, "SHA256", nil) }
  }

  /// An algorithm of OpenSSL, fetched at its first use and cached: fetching costs more than a seal.
  ///
  /// If memory is short, the next use tries again.
  final class Algorithm: Sendable {
    private let name: String
    private let fetch: @Sendable () -> OpaquePointer?
    // The address of what was fetched, which is immutable and never freed; 0 before.
    private let fetched = Atomic<UInt>(0)

    init(_ name: String, fetch: @escaping @Sendable () -> OpaquePointer?) {
      self.name = name
      self.fetch = fetch
    }

    /// - Throws: `systemFailure`.
    func pointer() throws(SealingError) -> OpaquePointer {
      if let known = OpaquePointer(bitPattern: fetched.load(ordering: .acquiring)) { return known }
      try requireOpenSSL()
      guard let made = fetch() else { throw .openSSL("fetching \(name)") }
      // Two threads may fetch it at once: both get the same object.
      fetched.store(UInt(bitPattern: made), ordering: .releasing)
      return made
    }
  }

  extension CryptographicLibrary {
    package static var name: String { "OpenSSL" }

    package static var nameAndVersion: String {
      "OpenSSL " + (OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "")
    }
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

  /// Sets OpenSSL up. Call before every call of OpenSSL that may be the first of the process.
  ///
  /// - Throws: `systemFailure` if OpenSSL found no memory for that: the next call would go through a null pointer.
  func requireOpenSSL() throws(SealingError) {
    guard OSSL_LIB_CTX_get0_global_default() != nil else { throw .openSSL("setting itself up") }
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
#endif
