#if SwiftCrypto
  internal import Crypto
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  extension Ed25519 {
    package static func publicKey(of secret: Secret) throws(SealingError) -> [UInt8] {
      Array(try privateKey(secret).publicKey.rawRepresentation)
    }

    package static func sign(_ message: [UInt8], with secret: Secret) throws(SealingError) -> [UInt8] {
      let key = try privateKey(secret)
      do {
        return Array(try key.signature(for: message))
      } catch {
        throw .swiftCrypto("signing with Ed25519")
      }
    }

    /// Returns whether the signature (64 bytes) matches the public key (32 bytes).
    static func verify(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) throws(SealingError) -> Bool {
      do {
        return try Curve25519.Signing.PublicKey(rawRepresentation: publicKey).isValidSignature(signature, for: message)
      } catch {
        throw .swiftCrypto("an Ed25519 public key")
      }
    }

    /// Returns a copy in ordinary memory, which is wiped when it's freed.
    private static func privateKey(_ secret: Secret) throws(SealingError) -> Curve25519.Signing.PrivateKey {
      do {
        return try secret.withUnsafeBytes { try Curve25519.Signing.PrivateKey(rawRepresentation: $0) }
      } catch {
        throw .swiftCrypto("an Ed25519 secret")
      }
    }
  }
#endif
