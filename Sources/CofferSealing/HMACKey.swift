/// An HMAC-SHA-256 key with its context, which is reused for all messages. Use it on one thread at a time.
package final class HMACKey {
  package static let byteCount = 32

  private let context: CodeContext
  /// Scratch memory for a code that's used as a number.
  let code = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 8)

  package init(_ key: Secret) throws(SealingError) {
    context = try CodeContext(key)
  }

  deinit {
    code.deallocate()
  }

  /// Writes the message's code into `code` (32 bytes).
  package func authenticate(_ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer)
    throws(SealingError)
  {
    precondition(code.count == Self.byteCount, "internal error: an HMAC-SHA-256 code has 32 bytes")
    try context.authenticate(message, into: code)
  }

  /// Returns the first `count` bytes of the message's code.
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
