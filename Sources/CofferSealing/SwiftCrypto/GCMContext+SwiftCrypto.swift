#if SwiftCrypto
  internal import CofferPlatform
  internal import Crypto
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  /// AES-256-GCM by swift-crypto, with the key of the previous call.
  ///
  /// The key is in ordinary memory while it is kept, and wiped when it is freed. Each call also makes a schedule of rounds
  /// for it, which the library frees without wiping it; the next call gets the same memory. The last one is overwritten
  /// by that of a key of zeros.
  struct GCMContext: ~Copyable {
    private var key: SymmetricKey?
    /// Nonce, ciphertext and tag side by side, where the caller has them apart. Nothing in it is secret.
    private var combined: [UInt8] = []

    init() {}

    deinit {
      guard key != nil else { return }
      let zeros = SymmetricKey(data: [UInt8](repeating: 0, count: AES256GCM.keyCount))
      _ = try? AES.GCM.seal([UInt8](), using: zeros)
      coffer_wipe_stack()
    }

    /// Seals between buffers whose sizes fit. The key is `nil` for that of the previous call.
    mutating func seal(
      _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
      key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
      tag: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let key = use(key)
      do {
        let box = try AES.GCM.seal(
          plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: additional)
        // Nonce, ciphertext, tag.
        box.combined!.withUnsafeBytes { bytes in
          let end = nonce.count + plaintext.count
          ciphertext.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[nonce.count..<end]))
          tag.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[end...]))
        }
      } catch {
        throw .swiftCrypto("sealing")
      }
    }

    /// Opens between buffers whose sizes fit. The key is `nil` for that of the previous call.
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
        // The library's copy is in ordinary memory. A text of up to 14 bytes has left another, which it freed already.
        opened.withUnsafeMutableBytes { opened in
          plaintext.copyMemory(from: UnsafeRawBufferPointer(opened))
          if let start = opened.baseAddress { coffer_wipe(start, opened.count) }
        }
      } catch {
        // Between buffers of the right sizes, the library refuses nothing but a wrong tag. Its error doesn't name it.
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

    /// A box with one copy of its parts, which are mostly side by side: three parts cost three times that.
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
