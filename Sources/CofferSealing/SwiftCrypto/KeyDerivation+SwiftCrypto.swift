#if SwiftCrypto
  internal import CofferPlatform
  internal import Crypto
  internal import CryptoExtras
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  extension KeyDerivation {
    /// Fills `memory` by HKDF-SHA-256, from ``CodeContext``.
    ///
    /// swift-crypto's own HKDF ends the process for more than 8,160 bytes, and leaves its keys behind like its HMAC.
    static func hkdf(
      _ material: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer,
      into memory: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let size = HMACKey.byteCount
      guard memory.count <= 255 * size else { throw .swiftCrypto("HKDF: no more than 8,160 bytes can be derived") }
      // Of the pseudorandom key, then of the last block.
      let scratch = Secret(byteCount: size) { $0.count }
      scratch.withUnsafeMutableBytes { scratch in
        CodeContext(key: salt).authenticate(into: scratch) { $0.update(bufferPointer: material) }
        let context = CodeContext(key: UnsafeRawBufferPointer(scratch))
        var (number, start): (UInt8, Int) = (0, 0)
        while start < memory.count {
          number += 1
          let last = UnsafeRawBufferPointer(rebasing: scratch[..<(number == 1 ? 0 : size)])
          context.authenticate(into: scratch) { hasher in
            hasher.update(bufferPointer: last)
            hasher.update(bufferPointer: info)
            withUnsafeBytes(of: number) { hasher.update(bufferPointer: $0) }
          }
          let count = min(size, memory.count - start)
          UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + count])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[..<count]))
          start += count
        }
      }
    }

    /// The memory of a derivation with raised bounds, at most: 1 GiB, and one block of 128·r bytes for each of the rest.
    private static let maximumScryptMemory = ScryptCost(logN: 20, r: 8, p: 16).maximumMemory

    /// Fills `memory` by scrypt.
    ///
    /// swift-crypto takes no limit of memory: it ignores the one that it is given, and multiplies without a check. It also
    /// needs an address for a salt without bytes. Of the key that it derives, one copy stays in freed memory.
    static func scrypt(
      _ passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, cost: ScryptCost,
      into memory: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      guard cost.logN < 32, cost.maximumMemory <= maximumScryptMemory else {
        throw .swiftCrypto("scrypt: the memory limit is exceeded")
      }
      let salt = salt.baseAddress == nil ? UnsafeRawBufferPointer(start: memory.baseAddress, count: 0) : salt
      do {
        let key = try KDF.Scrypt.deriveKey(
          from: passphrase, salt: salt, outputByteCount: memory.count, rounds: Int(cost.n), blockSize: Int(cost.r),
          parallelism: Int(cost.p))
        key.withUnsafeBytes { memory.copyMemory(from: $0) }
      } catch {
        throw .swiftCrypto("scrypt")
      }
    }
  }
#endif
