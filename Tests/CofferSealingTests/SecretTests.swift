import CofferPlatform
import CofferSealing
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@Suite struct SecretTests {
  private let word = "unspeakable"

  private func dumped(_ value: Any) -> String {
    var text = "\(value) \(String(describing: value)) \(String(reflecting: value)) "
    dump(value, to: &text)
    return text
  }

  // MARK: - Redaction

  @Test func printsRedactedSecret() {
    let secret = Secret(word)
    #expect("\(secret)" == "Secret(redacted)")
    #expect(String(reflecting: secret) == "Secret(redacted)")
    #expect(Mirror(reflecting: secret).children.isEmpty)
    #expect(!dumped(secret).contains(word))
    #expect(!dumped(["key": Optional(secret)]).contains(word))
  }

  @Test func omitsSecretsFromDescriptions() throws {
    let bytes = [UInt8](repeating: 0x41, count: 32)
    let storeID = [UInt8](repeating: 0x42, count: 16)
    let line = KeyLine(kind: .key, isTest: false, secret: Secret(bytes))
    let root = RootKey(secret: Secret(bytes), storeID: storeID, generation: 1)
    let keys = try EpochKeys(epoch: 1, root: Secret(bytes), storeID: storeID)
    for holder in [
      line, root, keys, Keyring(active: 1, family: Secret(bytes), epochs: [keys]), SlotSecret.line(line),
      SlotSecret.passphrase(Secret(bytes)), SlotTarget.key(line), try line.line(),
    ] as [any Sendable] {
      let text = dumped(holder)
      #expect(!text.contains("AAAA") && !text.contains("41414141") && !text.contains("65, 65"))
    }
  }

  @Test func comparesErrorsByCode() {
    #expect(SealingError(.malformed, "one") == SealingError(.malformed, "another"))
    #expect(SealingError(.malformed, "one") != SealingError(.notAuthentic, "one"))
    #expect("\(SealingError(.malformed, "one"))" == "one")
  }

  // MARK: - Memory

  @Test(.enabled(if: mayLockMemory, "this process may not lock memory"), arguments: [32, 4096, 100_000])
  func locksMemory(_ count: Int) throws {
    let secret = Secret([UInt8](repeating: 1, count: count))
    let address = secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    let flags = try memoryFlags(at: address)
    #expect(flags.contains("lo"))
    #expect(flags.contains("rd"), "the mapping was not found")
    withExtendedLifetime(secret) {}
  }

  private static var mayLockMemory: Bool {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0
    return geteuid() == 0 || isKnown && limit.rlim_cur > 4 << 20
  }

  @Test(arguments: [32, 4096, 4097, 100_000])
  func wipesMemoryWithLastOwner(_ count: Int) throws {
    let pattern = try Secret.random(byteCount: 32).bytes
    var secret: Secret? = Secret(Array(repeating: pattern, count: count / 32).flatMap { $0 })
    let address = try #require(secret?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) })
    #expect(memory(at: address, 32) == pattern)
    secret = nil
    #expect(memory(at: address, 32) != pattern)
  }

  @Test func failedInitializationWipesMemory() throws {
    let pattern = try Secret.random(byteCount: 32).bytes
    var address: UInt = 0
    #expect(throws: SealingError(.malformed, "")) {
      try Secret(byteCount: 32) { memory throws(SealingError) in
        memory.copyBytes(from: pattern)
        address = UInt(bitPattern: memory.baseAddress)
        throw SealingError(.malformed, "not today")
      }
    }
    #expect(memory(at: address, 32) != pattern)
  }

  @Test(arguments: [32, 100_000])
  func zerosNewMemory(_ count: Int) {
    for _ in 0..<10 {
      #expect(Secret(byteCount: count) { $0.count }.bytes.allSatisfy { $0 == 0 })
      _ = Secret([UInt8](repeating: 0xAA, count: count))
    }
  }

  @Test(arguments: [32, 100_000])
  func excludesMemoryFromCoreDumps(_ count: Int) throws {
    let secret = Secret([UInt8](repeating: 1, count: count))
    let address = secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    let flags = try #require(try flags(ofMappingAt: address))
    #expect(flags.contains("dd"))
  }

  @Test func fullHeapKeepsReserveForOpenSSL() {
    let secrets = (0..<17_000).map { Secret([UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 64)) }
    // A new thread makes OpenSSL allocate new generators in the same heap.
    let isDone = DispatchSemaphore(value: 0)
    let isFailed = Mutex(false)
    Thread.detachNewThread {
      do {
        _ = try X25519.publicKey(of: .random(byteCount: 32))
      } catch {
        isFailed.withLock { $0 = true }
      }
      isDone.signal()
    }
    isDone.wait()
    #expect(!isFailed.withLock { $0 })
    #expect(
      secrets.enumerated().allSatisfy { number, secret in
        secret.count == 64 && secret.withUnsafeBytes { $0.allSatisfy { $0 == UInt8(truncatingIfNeeded: number) } }
      })
  }

  /// Returns the bytes at an address in this process, or `nil` for unmapped memory.
  private func memory(at address: UInt, _ count: Int) -> [UInt8]? {
    let descriptor = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: count)
    return pread(descriptor, &bytes, count, off_t(address)) == count ? bytes : nil
  }

  private func flags(ofMappingAt address: UInt) throws -> [Substring]? {
    // Read to the end, because the kernel reports the file as empty.
    let smaps = try #require(try FileHandle(forReadingAtPath: "/proc/self/smaps")?.readToEnd())
    var isInside = false
    for line in String(decoding: smaps, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      let bounds = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      if bounds.count == 2 { isInside = (bounds[0]..<bounds[1]).contains(address) }
      if isInside, words[0] == "VmFlags:" { return Array(words.dropFirst()) }
    }
    return nil
  }

  // MARK: - Comparing and slicing

  @Test func comparesEveryByte() {
    let bytes = (0..<64).map { UInt8($0) }
    #expect(ConstantTime.equal(bytes, bytes))
    #expect(Secret(bytes).isEqual(to: Secret(bytes)))
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 0x80
      #expect(!ConstantTime.equal(bytes, other))
      #expect(!Secret(bytes).isEqual(to: Secret(other)))
    }
    #expect(!ConstantTime.equal(bytes, Array(bytes.dropLast())))
    #expect(!ConstantTime.equal(bytes, []))
    #expect(ConstantTime.equal([], []))
  }

  @Test func createsIndependentSlice() {
    var whole: Secret? = Secret(word)
    let slice = whole?.slice(2..<5)
    whole = nil
    #expect(slice?.bytes == Array("spe".utf8))
    #expect(Secret(word).slice(0..<0).count == 0)
  }

  @Test func createsEmptySecret() {
    #expect(Secret([]).count == 0 && Secret([]).bytes == [])
    #expect(Secret(copying: UnsafeRawBufferPointer(start: nil, count: 0)).isEqual(to: Secret([])))
  }

  @Test func countsOnlyInitializedBytes() {
    let secret = Secret(byteCount: 8) { memory in
      memory[0] = 7
      return 1
    }
    #expect(secret.count == 1 && secret.bytes == [7])
  }

  // MARK: - Reading

  private func read(_ bytes: [UInt8], limit: Int) throws -> Result<[UInt8], SealingError> {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    try #require(write(ends[1], bytes, bytes.count) == bytes.count)
    close(ends[1])
    return Result { () throws(SealingError) in try Secret.readAll(descriptor: ends[0], limit: limit).bytes }
  }

  @Test func rejectsFileOverLimit() throws {
    #expect(try read([1, 2, 3, 4], limit: 3) == .failure(SealingError(.fileFailure, "")))
    #expect(
      try read([UInt8](repeating: 1, count: 60_000), limit: 100) == .failure(SealingError(.fileFailure, "")))
  }

  @Test func readsFileUpToLimit() throws {
    #expect(try read([1, 2, 3], limit: 3) == .success([1, 2, 3]))
    #expect(try read([], limit: 3) == .success([]))
    let long = (0..<60_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(try read(long, limit: 64 * 1024) == .success(long))
  }

  @Test func reportsInvalidDescriptor() {
    #expect(code { () throws(SealingError) in try Secret.readAll(descriptor: -1) } == .fileFailure)
  }

  @Test func reportsMissingFileByPath() {
    do throws(SealingError) {
      _ = try Secret.readAll(path: "/nowhere/key")
      Issue.record("it was read")
    } catch {
      #expect(error.code == .fileFailure && error.message.contains("/nowhere/key"))
    }
  }
}
