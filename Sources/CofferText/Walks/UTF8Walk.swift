internal import CCofferText

/// UTF-8 checked and copied: runs are checked 32 bytes at a time, by the kernel where the processor has what it needs,
/// and copied whole.
enum UTF8Walk {
  /// Bytes that are checked and then copied while they are still near the processor.
  private static let stretch = 16 << 10

  /// - Parameter refusingNUL: U+0000 is a fault.
  static func copy(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, refusingNUL: Bool
  ) -> Walk {
    var walk = Walk()
    guard let source = input.baseAddress, let target = output.baseAddress else { return walk }
    while true {
      let left = input.count &- walk.consumed
      let room = output.count &- walk.written
      let count = min(left, room, stretch)
      let from = source + walk.consumed
      let checked = refusingNUL ? checkWithoutNUL(from, count: count) : check(from, count: count)
      (target + walk.written).copyMemory(from: from, byteCount: checked.consumed)
      walk.consumed &+= checked.consumed
      walk.written &+= checked.consumed
      walk.stop = checked.stop
      switch checked.stop {
      case .fault:
        return walk
      case .inputEnd, .incompleteTail, .outputFull:
        if count == left { return walk }
        if count == room {
          walk.stop = .outputFull
          return walk
        }
      }
    }
  }

  static func isValid(_ input: UnsafeRawBufferPointer) -> Bool {
    guard let source = input.baseAddress else { return true }
    let walk = check(source, count: input.count)
    if case .inputEnd = walk.stop { return walk.consumed == input.count }
    return false
  }

  private static let hasKernel = coffer_has_kernels()
  /// Shorter texts aren't worth the kernel's tables.
  private static let leastForKernel = 64

  /// How much is valid. Writes nothing.
  @inline(never)
  private static func check(_ source: UnsafeRawPointer, count: Int) -> Walk {
    check(source, count: count, refusingNUL: false, machine: UTF8Machine.any)
  }

  @inline(never)
  private static func checkWithoutNUL(_ source: UnsafeRawPointer, count: Int) -> Walk {
    check(source, count: count, refusingNUL: true, machine: UTF8Machine.withoutNUL)
  }

  @inline(__always)
  private static func check(
    _ source: UnsafeRawPointer, count: Int, refusingNUL: Bool, machine: UTF8Machine
  ) -> Walk {
    var position =
      count >= leastForKernel && hasKernel
      ? Int(coffer_utf8_prefix(source.assumingMemoryBound(to: UInt8.self), count, refusingNUL)) : 0
    var state = UTF8Machine.start
    machine.transitions.withUnsafeBufferPointer { transitions in
      let lastWord = count &- 8
      let lastBlock = count &- 32
      while position <= lastWord {
        if UTF8Machine.isStart(state) {
          while position <= lastBlock {
            let first = source.word(at: position)
            let second = source.word(at: position &+ 8)
            let third = source.word(at: position &+ 16)
            let fourth = source.word(at: position &+ 24)
            var bad = first | second | third | fourth
            if refusingNUL {
              // Exact for words of ASCII: a byte less one has its top bit set only where it, or one below it, was 0.
              bad |= (first &- ones) | (second &- ones) | (third &- ones) | (fourth &- ones)
            }
            guard bad & tops == 0 else { break }
            position &+= 32
          }
          guard position <= lastWord else { return }
        }
        let word = source.word(at: position)
        var next = state
        for byte in 0..<8 {
          let index = Int(truncatingIfNeeded: word &>> UInt64(truncatingIfNeeded: byte &* 8) & 0xFF)
          next = transitions[index] &>> next
        }
        guard !UTF8Machine.isRefused(next) else { return }
        state = next
        position &+= 8
      }
    }
    // What is left, or where it went wrong, is looked at one character at a time, from the last beginning of one.
    if !UTF8Machine.isStart(state) {
      repeat { position &-= 1 } while source.load(fromByteOffset: position, as: UInt8.self) & 0xC0 == 0x80
    }
    return checkSlowly(source, from: position, count: count, refusingNUL: refusingNUL)
  }

  private static func checkSlowly(
    _ source: UnsafeRawPointer, from position: Int, count: Int, refusingNUL: Bool
  ) -> Walk {
    var walk = Walk(consumed: position)
    while walk.consumed < count {
      switch UTF8Scalar.read(source + walk.consumed, available: count &- walk.consumed) {
      case .character(let scalar, let length):
        if refusingNUL, scalar == 0 {
          walk.stop = .fault(.nul, length: 1)
          return walk
        }
        walk.consumed &+= length
      case .incomplete:
        walk.stop = .incompleteTail
        return walk
      case .fault(let fault, let length):
        walk.stop = .fault(fault, length: length)
        return walk
      }
    }
    return walk
  }

  private static var tops: UInt64 { 0x8080_8080_8080_8080 }
  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
