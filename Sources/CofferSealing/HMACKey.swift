internal import CCofferOpenSSL

/// A key of HMAC-SHA-256 with its context, used again for every message. Belongs to one thread at a time.
package final class HMACKey {
  package static let byteCount = 32

  private let context: OpaquePointer
  /// Scratch memory for a code that is used as a number.
  let code = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 8)

  package init(_ key: Secret) throws(SealingError) {
    guard let context = EVP_MAC_CTX_new(try Algorithms.hmac.pointer()) else { throw .openSSL("an HMAC context") }
    self.context = context
    var parameters = Parameters()
    parameters.add(OSSL_MAC_PARAM_DIGEST, text: "SHA256")
    let succeeded = parameters.withList { list in
      key.withUnsafeBytes { EVP_MAC_init(context, $0.bytePointer, $0.count, list) == 1 }
    }
    guard succeeded else { throw .openSSL("keying HMAC") }
  }

  deinit {
    EVP_MAC_CTX_free(context)
    code.deallocate()
  }

  /// The code of `message` into `code` (32 bytes).
  package func authenticate(_ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer)
    throws(SealingError)
  {
    precondition(code.count == Self.byteCount, "internal error: an HMAC-SHA-256 code has 32 bytes")
    var written = 0
    guard EVP_MAC_init(context, nil, 0, nil) == 1,
      message.isEmpty || EVP_MAC_update(context, message.bytePointer, message.count) == 1,
      EVP_MAC_final(context, code.bytePointer, &written, code.count) == 1, written == Self.byteCount
    else { throw .openSSL("HMAC") }
  }

  /// The first `count` bytes of the code of `message`.
  package func authenticate(_ message: UnsafeRawBufferPointer, prefix count: Int) throws(SealingError) -> [UInt8] {
    let code = UnsafeMutableRawBufferPointer(start: code, count: Self.byteCount)
    try authenticate(message, into: code)
    return Array(code[..<count])
  }

  package func authenticate(_ message: [UInt8]) throws(SealingError) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Self.byteCount)
    try code.withMutableBytes { code throws(SealingError) in
      try message.withBytes { message throws(SealingError) in try authenticate(message, into: code) }
    }
    return code
  }
}
