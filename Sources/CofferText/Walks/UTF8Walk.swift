/// UTF-8 checked and copied: runs are checked eight bytes at a time and copied whole.
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

  /// How much is valid. Writes nothing.
  @inline(never)
  static func check(_ source: UnsafeRawPointer, count: Int) -> Walk {
    check(source, count: count, refusingNUL: false)
  }

  @inline(never)
  private static func checkWithoutNUL(_ source: UnsafeRawPointer, count: Int) -> Walk {
    check(source, count: count, refusingNUL: true)
  }

  @inline(__always)
  private static func check(_ source: UnsafeRawPointer, count: Int, refusingNUL: Bool) -> Walk {
    var walk = Walk()
    let lastWord = count &- 8
    let lastBlock = count &- 32
    while walk.consumed < count {
      let position = walk.consumed
      if position <= lastBlock {
        let first = source.word(at: position)
        let second = source.word(at: position &+ 8)
        let third = source.word(at: position &+ 16)
        let fourth = source.word(at: position &+ 24)
        var bad = first | second | third | fourth
        if refusingNUL {
          // Exact for words of ASCII: a byte less one has its top bit set only where it, or one below it, was 0.
          bad |= (first &- ones) | (second &- ones) | (third &- ones) | (fourth &- ones)
        }
        if bad & tops == 0 {
          walk.consumed &+= 32
          continue
        }
      }
      if position <= lastWord {
        let word = source.word(at: position)
        if word & tops == 0, !refusingNUL || (word &- ones) & tops == 0 {
          walk.consumed &+= 8
          continue
        }
        // Four characters of two bytes, none of them overlong.
        if word & UInt64(lanes: 0xC0E0) == UInt64(lanes: 0x80C0),
          (word & UInt64(lanes: 0x1E) &+ UInt64(lanes: 0x7E)) & UInt64(lanes: 0x80) == UInt64(lanes: 0x80)
        {
          walk.consumed &+= 8
          continue
        }
        // A character of three bytes, neither overlong nor a surrogate, and another one after it.
        if isThreeBytes(word) {
          walk.consumed &+= isThreeBytes(word &>> 24) ? 6 : 3
          continue
        }
      }
      switch UTF8Scalar.read(source + position, available: count &- position) {
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

  @inline(__always)
  private static func isThreeBytes(_ word: UInt64) -> Bool {
    // 0000 there would be overlong, 200D a surrogate.
    let range = word & 0x200F
    return word & 0xC0C0F0 == 0x8080E0 && range != 0 && range != 0x200D
  }

  private static var tops: UInt64 { 0x8080_8080_8080_8080 }
  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
