#if SwiftCrypto
  internal import CofferPlatform
  internal import Crypto
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  /// AES-256-GCM with swift-crypto, which keeps the previous call's key.
  ///
  /// The kept key is in ordinary memory, and wiped when it's freed. Each call also computes the key's schedule of
  /// rounds, which the library frees without wiping. The next call gets the same memory, and a schedule for a zero key
  /// overwrites the last schedule.
  struct GCMContext: ~Copyable {
    private var key: SymmetricKey?
    /// The adjacent nonce, ciphertext and tag, if the caller has them in separate buffers. It doesn't contain secrets.
    private var combined: [UInt8] = []

    init() {}

    deinit {
      guard key != nil else { return }
      let zeros = SymmetricKey(data: [UInt8](repeating: 0, count: AES256GCM.keyCount))
      _ = try? AES.GCM.seal([UInt8](), using: zeros)
      coffer_wipe_stack()
    }

    /// Seals between buffers with matching sizes. If the key is `nil`, the previous call's key is used.
    mutating func seal(
      _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
      key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
      tag: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let key = use(key)
      do {
        let box = try AES.GCM.seal(
          plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: additional)
        // The parts are the nonce, the ciphertext and the tag.
        box.combined!.withUnsafeBytes { bytes in
          let end = nonce.count + plaintext.count
          ciphertext.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[nonce.count..<end]))
          tag.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[end...]))
        }
      } catch {
        throw .swiftCrypto("sealing")
      }
    }

    /// Opens between buffers with matching sizes. If the key is `nil`, the previous call's key is used.
    ///
    /// - Throws: `notAuthentic` for a wrong tag.
    mutating func open(
      _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
      key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
      plaintext: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let key = use(key)
      do {
        let box = try box(nonce, ciphertext, tag)
        var opened = try AES.GCM.open(box, using: key, authenticating: additional)
        // The library's copy is in ordinary memory. For a text with up to 14 bytes, the library has already freed
        // another copy.
        opened.withUnsafeMutableBytes { opened in
          plaintext.copyMemory(from: UnsafeRawBufferPointer(opened))
          if let start = opened.baseAddress { coffer_wipe(start, opened.count) }
        }
      } catch {
        // With matching buffer sizes, the library fails only for a wrong tag. Its error doesn't indicate the reason.
        throw SealingError(.notAuthentic, "not authentic")
      }
    }

    private mutating func use(_ new: UnsafeRawBufferPointer?) -> SymmetricKey {
      guard let new else {
        guard let key else { preconditionFailure("internal error: AES-256-GCM without a key") }
        return key
      }
      let made = SymmetricKey(data: new)
      key = made
      return made
    }

    /// Returns a box with a single copy of the parts, which are usually adjacent. Passing three separate parts would
    /// cost three times as much.
    private mutating func box(
      _ nonce: UnsafeRawBufferPointer, _ ciphertext: UnsafeRawBufferPointer, _ tag: UnsafeRawBufferPointer
    ) throws -> AES.GCM.SealedBox {
      let start = nonce.baseAddress!
      if start + nonce.count == ciphertext.baseAddress, start + nonce.count + ciphertext.count == tag.baseAddress {
        let count = nonce.count + ciphertext.count + tag.count
        return try AES.GCM.SealedBox(combined: UnsafeRawBufferPointer(start: start, count: count))
      }
      combined.removeAll(keepingCapacity: true)
      combined.append(contentsOf: nonce)
      combined.append(contentsOf: ciphertext)
      combined.append(contentsOf: tag)
      return try combined.withUnsafeBytes { try AES.GCM.SealedBox(combined: $0) }
    }
  }
#endif
