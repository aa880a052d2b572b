#if SwiftCrypto
  internal import CofferPlatform
  internal import Crypto
  internal import CryptoExtras

  /// AES-256 on single blocks with swift-crypto.
  ///
  /// The key remains in locked memory between calls, because the library recomputes its rounds for each block.
  struct BlockCipher: ~Copyable {
    private let key: Secret

    init(_ key: Secret) throws(SealingError) {
      self.key = key
    }

    /// Encrypts each 16-byte block separately.
    func encrypt(_ blocks: UnsafePointer<UInt8>, blockCount: Int, into output: UnsafeMutablePointer<UInt8>)
      throws(SealingError)
    {
      output.update(from: blocks, count: 16 * blockCount)
      do {
        // The library wipes the key when it's freed.
        let key = key.withUnsafeBytes { SymmetricKey(data: $0) }
        for index in 0..<blockCount {
          var block = UnsafeMutableBufferPointer(start: output + 16 * index, count: 16)
          try AES.permute(&block, key: key)
        }
      } catch {
        throw .swiftCrypto("AES-256")
      }
      // Wipe the rounds, which begin with the key.
      coffer_wipe_stack()
    }
  }
#endif
