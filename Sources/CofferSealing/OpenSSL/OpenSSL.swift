#if !SwiftCrypto
  internal import CCofferOpenSSL
  internal import Synchronization

  /// The OpenSSL algorithms in this module.
  enum Algorithms {
    static let aes256GCM = Algorithm("AES-256-GCM") { EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) }
    static let aes256CTR = Algorithm("AES-256-CTR") { EVP_CIPHER_fetch(nil, "AES-256-CTR", nil) }
    static let aes256ECB = Algorithm("AES-256-ECB") { EVP_CIPHER_fetch(nil, "AES-256-ECB", nil) }
    static let hmac = Algorithm("HMAC") { EVP_MAC_fetch(nil, "HMAC", nil) }
    static let hkdf = Algorithm("HKDF") { EVP_KDF_fetch(nil, "HKDF", nil) }
    static let scrypt = Algorithm("scrypt") { EVP_KDF_fetch(nil, "SCRYPT", nil) }
    static let sha256 = Algorithm("SHA-256") { EVP_MD_fetch(nil, "SHA256", nil) }
  }

  /// An OpenSSL algorithm, which is fetched on first use and cached, because fetching costs more than sealing.
  ///
  /// If memory is short, the next use retries.
  final class Algorithm: Sendable {
    private let name: String
    private let fetch: @Sendable () -> OpaquePointer?
    // The address of the fetched algorithm, which is immutable and never freed, or 0 before.
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
      // If two threads fetch the algorithm concurrently, both get the same object.
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
    /// Creates an error for a failed OpenSSL call, with OpenSSL's reason. Clears the error queue.
    static func openSSL(_ what: String) -> SealingError {
      // Use the last error, because earlier errors may come from calls that were expected to fail.
      let code = ERR_peek_last_error()
      ERR_clear_error()
      let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "no reason given"
      return SealingError(.systemFailure, "OpenSSL failed at \(what): \(reason)")
    }
  }

  /// Initializes OpenSSL. Call this function before any OpenSSL call that may be the first in the process.
  ///
  /// - Throws: `systemFailure` if memory is short. The next OpenSSL call would then use a null pointer.
  func requireOpenSSL() throws(SealingError) {
    guard OSSL_LIB_CTX_get0_global_default() != nil else { throw .openSSL("setting itself up") }
  }

  /// The parameters of an OpenSSL call, with their names and numbers. Secrets aren't copied.
  ///
  /// The list is built manually, because `OSSL_PARAM_construct_*` keep pointers, which `inout` arguments wouldn't keep
  /// alive.
  struct Parameters: ~Copyable {
    private var list: [OSSL_PARAM] = []
    private var owned: [UnsafeMutableRawPointer] = []

    /// Adds a parameter whose `memory` belongs to the caller and must outlive the call.
    mutating func add(_ name: String, bytes memory: UnsafeRawBufferPointer) {
      // OpenSSL treats a null pointer as a missing parameter, so an empty buffer also needs an address.
      let address = UnsafeMutableRawPointer(mutating: memory.baseAddress) ?? UnsafeMutableRawPointer(own(UInt64(0)))
      list.append(OSSL_PARAM_construct_octet_string(own(name), address, memory.count))
    }

    mutating func add(_ name: String, text: String) {
      list.append(OSSL_PARAM_construct_utf8_string(own(name), own(text), 0))
    }

    mutating func add(_ name: String, number: UInt64) {
      list.append(OSSL_PARAM_construct_uint64(own(name), own(number)))
    }

    /// Calls `body` with the terminated list, which is valid during the call.
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
