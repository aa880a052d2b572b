/// UTF-8 to UTF-16.
enum UTF16Writing {
  @inline(never)
  static func littleEndian(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Walk {
    walk(input, into: output, swapping: false)
  }

  @inline(never)
  static func bigEndian(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Walk {
    walk(input, into: output, swapping: true)
  }

  @inline(__always)
  private static func walk(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, swapping: Bool
  ) -> Walk {
    var walk = Walk()
    guard let source = input.baseAddress, let target = output.baseAddress else { return walk }
    let lastWord = input.count &- 8
    let lastRoom = output.count &- 16
    while walk.consumed < input.count {
      if walk.consumed <= lastWord, walk.written <= lastRoom {
        let word = source.word(at: walk.consumed)
        if word & 0x8080_8080_8080_8080 == 0 {
          let shift: UInt64 = swapping ? 8 : 0
          target.put(spread(word & 0xFFFF_FFFF) &<< shift, at: walk.written)
          target.put(spread(word &>> 32) &<< shift, at: walk.written &+ 8)
          walk.consumed &+= 8
          walk.written &+= 16
          continue
        }
        let size = UTF8Scalar.lengthInBasicPlane(word)
        if size > 0 {
          let lead = UInt32(truncatingIfNeeded: word) & 0xFF
          let second = UInt32(truncatingIfNeeded: word &>> 8) & 0x3F
          let third = UInt32(truncatingIfNeeded: word &>> 16) & 0x3F
          let value =
            size == 1 ? lead : size == 2 ? (lead & 0x1F) &<< 6 | second : (lead & 0x0F) &<< 12 | second &<< 6 | third
          target.put(unit(value, swapping: swapping), at: walk.written)
          walk.consumed &+= size
          walk.written &+= 2
          continue
        }
      }
      switch UTF8Scalar.read(source + walk.consumed, available: input.count &- walk.consumed) {
      case .character(let scalar, let length):
        let size = scalar < 0x10000 ? 2 : 4
        guard output.count &- walk.written >= size else {
          walk.stop = .outputFull
          return walk
        }
        let above = scalar &- 0x10000
        let first = size == 2 ? scalar : 0xD800 &+ above &>> 10
        target.put(unit(first, swapping: swapping), at: walk.written)
        if size == 4 {
          target.put(unit(0xDC00 &+ above & 0x3FF, swapping: swapping), at: walk.written &+ 2)
        }
        walk.consumed &+= length
        walk.written &+= size
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

  /// Four bytes as four lanes of 16 bits.
  @inline(__always)
  private static func spread(_ bytes: UInt64) -> UInt64 {
    let pairs = (bytes | bytes &<< 16) & 0x0000_FFFF_0000_FFFF
    return (pairs | pairs &<< 8) & UInt64(lanes: 0x00FF)
  }

  @inline(__always)
  private static func unit(_ value: UInt32, swapping: Bool) -> UInt16 {
    let unit = UInt16(truncatingIfNeeded: value)
    return swapping ? unit.byteSwapped : unit
  }
}
