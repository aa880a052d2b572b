import CofferPlatform
import Testing

@testable import CofferSealing

/// What both libraries must do, although one of them doesn't do it by itself.
@Suite struct BackendTests {
  /// The library's own HKDF may end the process beyond this length.
  @Test func derivesLongestOutput() throws {
    let longest = try hkdf(Secret("key"), salt: [1], info: [2], byteCount: 255 * 32)
    let shorter = try hkdf(Secret("key"), salt: [1], info: [2], byteCount: 255 * 32 - 33)
    #expect(longest.count == 8160 && Array(longest.bytes.dropLast(33)) == shorter.bytes)
    #expect(longest.bytes.suffix(32) != longest.bytes.prefix(32))
  }

  @Test func rejectsOutputBeyondLongest() {
    #expect(
      code { () throws(SealingError) in try hkdf(Secret("key"), salt: [], info: [], byteCount: 8161) }
        == .systemFailure)
  }

  @Test func derivesWithoutSalt() throws {
    let cost = ScryptCost(logN: 4, r: 8, p: 1)
    #expect(try scrypt(Secret([]), salt: [], cost: cost).bytes != scrypt(Secret([]), salt: [0], cost: cost).bytes)
    #expect(try hkdf(Secret([]), salt: [], info: []).count == 32)
  }

  /// Refuses costs that take more memory than there is. The first one overflows the number of bytes as an `Int`.
  @Test(arguments: [53, 45] as [UInt8])
  func rejectsCostBeyondMemory(_ logN: UInt8) {
    #expect(
      code { () throws(SealingError) in
        try scrypt(Secret("word"), salt: [1], cost: ScryptCost(logN: logN, r: 8, p: 1))
      } == .systemFailure)
  }

  @Test(arguments: [0, 31, 33, 64])
  func rejectsCurveSecretOfOtherLength(_ count: Int) {
    let secret = Secret([UInt8](repeating: 9, count: count))
    #expect(code { () throws(SealingError) in try X25519.publicKey(of: secret) } == .systemFailure)
    #expect(code { () throws(SealingError) in try Ed25519.sign([1], with: secret) } == .systemFailure)
  }

  /// A nonce, a ciphertext and a tag may be side by side or apart.
  @Test(arguments: [0, 1, 14, 15, 64, 5000])
  func opensPartsFromAnywhere(_ count: Int) throws {
    let key = try XAESKey(.random(byteCount: 32))
    let text = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let blob = try key.seal(text, authenticating: [7])
    #expect(try key.open(blob, authenticating: [7]) == text)
    let (nonce, rest) = (Array(blob[..<24]), blob[24...])
    let (ciphertext, tag) = (Array(rest.dropLast(16)), Array(rest.suffix(16)))
    func open(_ tag: [UInt8]) throws(SealingError) -> [UInt8] {
      var plaintext = [UInt8](repeating: 0xAA, count: count)
      try plaintext.withMutableBytes { plaintext throws(SealingError) in
        try ciphertext.withBytes { ciphertext throws(SealingError) in
          try nonce.withBytes { nonce throws(SealingError) in
            try tag.withBytes { tag throws(SealingError) in
              try [UInt8(7)].withBytes { additional throws(SealingError) in
                try key.open(
                  ciphertext, authenticating: additional, nonce: nonce, tag: tag, plaintext: plaintext)
              }
            }
          }
        }
      }
      return plaintext
    }
    #expect(try open(tag) == text)
    var other = tag
    other[15] ^= 1
    #expect(code { () throws(SealingError) in try open(other) } == .notAuthentic)
    #expect(try open(tag) == text)
  }

  @Test func comparesMemoryInConstantTime() {
    for count in [1, 7, 8, 33] {
      let one = [UInt8](repeating: 0x55, count: count)
      #expect(ConstantTime.equal(one, one))
      for bit in 0..<8 * count {
        var other = one
        other[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(!ConstantTime.equal(one, other))
      }
    }
  }

  #if SwiftCrypto
    /// 1 GiB is the most that raised bounds allow.
    @Test func rejectsCostBeyondRaisedBounds() {
      #expect(
        code { () throws(SealingError) in
          try scrypt(Secret("word"), salt: [1], cost: ScryptCost(logN: 21, r: 8, p: 1))
        } == .systemFailure)
    }

    @Test func namesLibraryThatIsLinked() {
      #expect(CryptographicLibrary.nameAndVersion == "swift-crypto")
    }
  #endif
}

#if SwiftCrypto
  /// The pages for small secrets. The tests run in processes of their own, because each process has one heap.
  @Suite struct SecretHeapTests {
    @Test func givesOutEveryBlockOnce() async {
      await #expect(processExitsWith: .success) {
        for size in [32, 64, 100, 1000, 4096] {
          var blocks: [UnsafeMutableRawPointer] = []
          while let block = SecretHeap.allocate(size) { blocks.append(block) }
          var width = 32
          while width < size { width *= 2 }
          // Emptied pages take blocks of any size.
          #expect(blocks.count == 128 * 4096 / width)
          #expect(SecretHeap.allocate(1) == nil)
          let sorted = blocks.sorted()
          #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $1 - $0 >= size })
          #expect(blocks.allSatisfy(SecretHeap.contains))
          for block in blocks { memset(block, 0xAA, size) }
          for block in blocks { SecretHeap.release(block, size) }
          let again = SecretHeap.allocate(size)!
          #expect(UnsafeRawBufferPointer(start: again, count: size).allSatisfy { $0 == 0 })
          SecretHeap.release(again, size)
        }
      }
    }

    @Test func fillsGapsOfFullPages() async {
      await #expect(processExitsWith: .success) {
        let blocks = (0..<16_384).map { _ in SecretHeap.allocate(32)! }
        #expect(SecretHeap.allocate(32) == nil)
        SecretHeap.release(blocks[5000], 32)
        #expect(SecretHeap.allocate(64) == nil)
        #expect(SecretHeap.allocate(32) == blocks[5000])
      }
    }

    @Test func secretsOfManyThreadsStayApart() async {
      await withTaskGroup(of: Bool.self) { group in
        for number in 0..<8 as Range<UInt8> {
          group.addTask {
            (0..<2000).allSatisfy { round in
              let secret = Secret([UInt8](repeating: number, count: 16 << (round % 8)))
              return secret.bytes.allSatisfy { $0 == number }
            }
          }
        }
        for await isWhole in group { #expect(isWhole) }
      }
    }

    @Test func endsProcessThatFreesTwice() async {
      await #expect(processExitsWith: .failure) {
        let (block, _) = (SecretHeap.allocate(32)!, SecretHeap.allocate(32))
        SecretHeap.release(block, 32)
        SecretHeap.release(block, 32)
      }
    }

    @Test func endsProcessThatReadsBeforeOrBehindPages() async {
      await #expect(processExitsWith: .failure) { _ = (firstBlock() - 1).load(as: UInt8.self) }
      await #expect(processExitsWith: .failure) { _ = (firstBlock() + 128 * 4096).load(as: UInt8.self) }
    }
  }

  private func firstBlock() -> UnsafeMutableRawPointer { SecretHeap.allocate(4096)! }
#endif
