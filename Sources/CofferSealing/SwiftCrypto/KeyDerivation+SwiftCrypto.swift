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
    /// Fills `memory` with HKDF-SHA-256, using ``CodeContext``.
    ///
    /// swift-crypto's own HKDF traps for more than 8,160 bytes, and doesn't wipe its keys, like its HMAC.
    static func hkdf(
      _ material: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer,
      into memory: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let size = HMACKey.byteCount
      guard memory.count <= 255 * size else { throw .swiftCrypto("HKDF: no more than 8,160 bytes can be derived") }
      // Use the memory for the pseudorandom key, then for the last block.
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

    /// The maximum memory of a derivation with raised bounds, which is 1 GiB, p + 2 further blocks of 128·r bytes, and
    /// 1 MiB.
    private static let maximumScryptMemory = ScryptCost(logN: 20, r: 8, p: 16).maximumMemory

    /// Fills `memory` with scrypt.
    ///
    /// swift-crypto ignores its memory limit, and multiplies without checking for overflow. It also requires an address
    /// for an empty salt. One copy of the derived key remains in freed memory.
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
