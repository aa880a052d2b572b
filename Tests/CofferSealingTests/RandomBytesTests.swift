import CofferPlatform
import Foundation
import Testing

@testable import CofferSealing

@Suite struct RandomBytesTests {
  @Test func drawsNeverRepeatAcrossPages() throws {
    let random = try RandomBytes()
    let draws = try (0..<2000).map { _ in try random.draw(24) }
    #expect(Set(draws).count == draws.count)
  }

  @Test func drawsOfEverySizeNeverOverlap() throws {
    let random = try RandomBytes()
    var seen = Set<[UInt8]>()
    for count in [16, 24, 4071, 32, 4095, 17, 2048, 2048, 24] {
      let bytes = try random.draw(count)
      #expect(bytes.count == count)
      #expect(seen.insert(Array(bytes[..<16])).inserted)
      #expect(seen.insert(Array(bytes[(count - 16)...])).inserted || count < 32)
    }
    #expect(try random.draw(0) == [])
  }

  @Test func sourcesDrawDifferentBytes() throws {
    #expect(try RandomBytes().draw(24) != RandomBytes().draw(24))
  }

  // MARK: - Operating system

  /// getentropy returns at most 256 bytes in a call.
  @Test(arguments: [0, 1, 12, 32, 255, 256, 257, 512, 513, 4096])
  func operatingSystemFillsEveryByte(_ count: Int) throws {
    // A byte is zero in 40 random fills with a probability of 2^-320.
    var union = [UInt8](repeating: 0, count: count)
    for _ in 0..<40 {
      let bytes = try SystemRandom.bytes(count)
      #expect(bytes.count == count)
      for index in bytes.indices { union[index] |= bytes[index] }
    }
    #expect(!union.contains(0))
  }

  @Test func longFillNeverRepeats() throws {
    let bytes = try SystemRandom.bytes(4096)
    let parts = stride(from: 0, to: 4096, by: 16).map { Array(bytes[$0..<$0 + 16]) }
    #expect(Set(parts).count == parts.count)
    #expect(try SystemRandom.bytes(32) != SystemRandom.bytes(32))
  }

  // MARK: - Forks

  /// Forks in a separate process, because a child can't do much if the parent has other threads.
  @Test func forkedProcessesDrawDifferentBytes() async {
    await #expect(processExitsWith: .success) {
      let random = try RandomBytes()
      _ = try random.draw(24)
      let child = try Fork.childBytes(24) { try random.draw(24) }
      let parent = try random.draw(24)
      #expect(child.count == 24 && child != parent)
      let secondChild = try Fork.childBytes(24) { try random.draw(24) }
      #expect(secondChild != child && secondChild != parent)
      #expect(try random.draw(24) != secondChild)
    }
  }

  @Test func forkedProcessesUseDifferentKeysAndHalves() async {
    await #expect(processExitsWith: .success) {
      let source = NonceSource(state: [])
      func drawn() throws -> [UInt8] {
        var half = [UInt8](repeating: 0, count: 12)
        try half.withUnsafeMutableBytes { try source.half(at: 5).store(to: $0) }
        return try SystemRandom.bytes(32) + Secret.random(byteCount: 32).bytes + half
      }
      // The parent used each part before the fork.
      let draws = try [drawn(), Fork.childBytes(76, drawn), Fork.childBytes(76, drawn), drawn()]
      for part in [0..<32, 32..<64, 64..<76] {
        #expect(Set(draws.map { Array($0[part]) }).count == 4)
      }
    }
  }
}

extension RandomBytes {
  func draw(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    try bytes.withUnsafeMutableBytes { try draw(into: $0) }
    return bytes
  }
}

/// fork(2), looked up by name because Swift doesn't import it.
enum Fork {
  /// Returns the bytes that `draw` returns in a child process.
  static func childBytes(_ count: Int, _ draw: () throws -> [UInt8]) throws -> [UInt8] {
    typealias Function = @convention(c) () -> pid_t
    let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Function.self)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let child = fork()
    if child == 0 {
      let drawn = (try? draw()) ?? []
      write(ends[1], drawn, drawn.count)
      _exit(0)
    }
    close(ends[1])
    var bytes = [UInt8](repeating: 0, count: count)
    let got = read(ends[0], &bytes, count)
    close(ends[0])
    var status: Int32 = 0
    waitpid(child, &status, 0)
    try #require(got == count && status == 0)
    return bytes
  }
}
