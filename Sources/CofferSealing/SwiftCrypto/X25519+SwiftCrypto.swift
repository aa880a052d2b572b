#if SwiftCrypto
  internal import Crypto
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  extension X25519 {
    package static func publicKey(of secret: Secret) throws(SealingError) -> [UInt8] {
      Array(try privateKey(secret).publicKey.rawRepresentation)
    }

    /// Returns the shared secret, which swift-crypto returns even if it consists of zeros.
    ///
    /// - Throws: `systemFailure` for keys with another length.
    static func derive(_ secret: Secret, with publicKey: [UInt8]) throws(SealingError) -> Secret {
      let mine = try privateKey(secret)
      do {
        let shared = try mine.sharedSecretFromKeyAgreement(with: .init(rawRepresentation: publicKey))
        return shared.withUnsafeBytes { Secret(copying: $0) }
      } catch {
        throw .swiftCrypto("an X25519 public key")
      }
    }

    /// Returns a copy in ordinary memory, which is wiped when it's freed.
    private static func privateKey(_ secret: Secret) throws(SealingError) -> Curve25519.KeyAgreement.PrivateKey {
      do {
        return try secret.withUnsafeBytes { try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0) }
      } catch {
        throw .swiftCrypto("an X25519 secret")
      }
    }
  }
#endif
