#if SwiftCrypto
  internal import CofferPlatform
  internal import Crypto
  internal import CryptoExtras

  /// AES-256 on single blocks, by swift-crypto.
  ///
  /// The key stays in locked memory between calls, because the library computes its rounds again for each block.
  struct BlockCipher: ~Copyable {
    private let key: Secret

    init(_ key: Secret) throws(SealingError) {
      self.key = key
    }

    /// Encrypts blocks of 16 bytes, each by itself.
    func encrypt(_ blocks: UnsafePointer<UInt8>, blockCount: Int, into output: UnsafeMutablePointer<UInt8>)
      throws(SealingError)
    {
      output.update(from: blocks, count: 16 * blockCount)
      do {
        // Wiped when it is freed.
        let key = key.withUnsafeBytes { SymmetricKey(data: $0) }
        for index in 0..<blockCount {
          var block = UnsafeMutableBufferPointer(start: output + 16 * index, count: 16)
          try AES.permute(&block, key: key)
        }
      } catch {
        throw .swiftCrypto("AES-256")
      }
      // The rounds, which begin with the key.
      coffer_wipe_stack()
    }
  }
#endif
