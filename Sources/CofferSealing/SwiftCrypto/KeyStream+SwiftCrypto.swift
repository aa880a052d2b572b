#if SwiftCrypto
  internal import Crypto
  internal import CryptoExtras
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  /// The AES-256-CTR key stream from a zero counter block, with swift-crypto.
  struct KeyStream: ~Copyable {
    private let zeros: [UInt8]
    private let counter: AES._CTR.Nonce

    /// - Parameter byteCount: The length of each stream.
    init(byteCount: Int) throws(SealingError) {
      zeros = [UInt8](repeating: 0, count: byteCount)
      do {
        counter = try AES._CTR.Nonce(nonceBytes: zeros.prefix(16))
      } catch {
        throw .swiftCrypto("AES-256-CTR")
      }
    }

    /// Writes a key's stream.
    func write(to stream: UnsafeMutableRawBufferPointer, key: SetElement) throws(SealingError) {
      do {
        let key = withUnsafeBytes(of: key.words) { SymmetricKey(data: $0) }
        let made = try AES._CTR.encrypt(zeros, using: key, nonce: counter)
        made.withUnsafeBytes { stream.copyMemory(from: $0) }
      } catch {
        throw .swiftCrypto("AES-256-CTR")
      }
    }
  }
#endif
