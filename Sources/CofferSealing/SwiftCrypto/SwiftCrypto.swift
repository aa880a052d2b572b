#if SwiftCrypto
  extension CryptographicLibrary {
    package static var name: String { "swift-crypto" }

    /// The library is a part of the program, and doesn't tell its version.
    package static var nameAndVersion: String { name }
  }

  extension SealingError {
    /// A call of swift-crypto that failed.
    static func swiftCrypto(_ what: String) -> SealingError {
      SealingError(.systemFailure, "swift-crypto failed at \(what)")
    }
  }
#endif
