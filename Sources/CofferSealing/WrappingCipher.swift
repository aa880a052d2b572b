/// AES-256-GCM with the zero nonce, for keys that are used once (FORMAT, "Slots").
enum WrappingCipher {
  private static let nonce = [UInt8](repeating: 0, count: AES256GCM.nonceCount)

  static func seal(_ secret: Secret, under key: Secret, authenticating additional: [UInt8]) throws(SealingError)
    -> [UInt8]
  {
    let cipher = AES256GCM()
    var wrapped = [UInt8](repeating: 0, count: secret.count + AES256GCM.tagCount)
    try wrapped.withMutableBytes { wrapped throws(SealingError) in
      try additional.withBytes { additional throws(SealingError) in
        try nonce.withBytes { nonce throws(SealingError) in
          try key.withUnsafeBytes { key throws(SealingError) in
            try secret.withUnsafeBytes { secret throws(SealingError) in
              try cipher.seal(
                secret, authenticating: additional, key: key, nonce: nonce,
                ciphertext: UnsafeMutableRawBufferPointer(rebasing: wrapped[..<secret.count]),
                tag: UnsafeMutableRawBufferPointer(rebasing: wrapped[secret.count...]))
            }
          }
        }
      }
    }
    return wrapped
  }

  /// - Returns: `nil` if the tag doesn't match.
  static func open(_ wrapped: [UInt8], under key: Secret, authenticating additional: [UInt8]) throws(SealingError)
    -> Secret?
  {
    guard wrapped.count > AES256GCM.tagCount else { return nil }
    let cipher = AES256GCM()
    let count = wrapped.count - AES256GCM.tagCount
    do throws(SealingError) {
      return try Secret(byteCount: count) { memory throws(SealingError) in
        try wrapped.withBytes { wrapped throws(SealingError) in
          try additional.withBytes { additional throws(SealingError) in
            try nonce.withBytes { nonce throws(SealingError) in
              try key.withUnsafeBytes { key throws(SealingError) in
                try cipher.open(
                  UnsafeRawBufferPointer(rebasing: wrapped[..<count]), authenticating: additional, key: key,
                  nonce: nonce, tag: UnsafeRawBufferPointer(rebasing: wrapped[count...]), plaintext: memory)
              }
            }
          }
        }
        return count
      }
    } catch {
      guard error.code == .notAuthentic else { throw error }
      return nil
    }
  }
}
