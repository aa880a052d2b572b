import CofferSealing
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

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

  @Test func twoSourcesDrawOtherBytes() throws {
    #expect(try RandomBytes().draw(24) != RandomBytes().draw(24))
  }

  /// In a separate process: the child of a fork may only do little while other threads run.
  @Test func parentAndChildOfAForkDrawOtherBytes() async {
    await #expect(processExitsWith: .success) {
      let random = try RandomBytes()
      _ = try random.draw(24)
      let child = try Fork.bytesDrawnInAChild(by: random, count: 24)
      let parent = try random.draw(24)
      #expect(child.count == 24 && child != parent)
      let secondChild = try Fork.bytesDrawnInAChild(by: random, count: 24)
      #expect(secondChild != child && secondChild != parent)
      #expect(try random.draw(24) != secondChild)
    }
  }
}

/// fork(2), which Swift does not offer; found by name.
private enum Fork {
  static func bytesDrawnInAChild(by random: RandomBytes, count: Int) throws -> [UInt8] {
    typealias Function = @convention(c) () -> pid_t
    let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Function.self)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let child = fork()
    if child == 0 {
      let drawn = (try? random.draw(count)) ?? []
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
