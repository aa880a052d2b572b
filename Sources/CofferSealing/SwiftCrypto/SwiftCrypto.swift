#if SwiftCrypto
  extension CryptographicLibrary {
    package static var name: String { "swift-crypto" }

    /// The library is part of the program, and doesn't provide its version.
    package static var nameAndVersion: String { name }
  }

  extension SealingError {
    /// Creates an error for a failed swift-crypto call.
    static func swiftCrypto(_ what: String) -> SealingError {
      SealingError(.systemFailure, "swift-crypto failed at \(what)")
    }
  }
#endif
