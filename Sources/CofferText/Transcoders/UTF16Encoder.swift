/// Encodes UTF-8 as UTF-16.
enum UTF16Encoder {
  @inline(never)
  static func littleEndian(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer)
    -> TranscodingProgress
  {
    transcode(input, into: output, swapping: false)
  }

  @inline(never)
  static func bigEndian(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer)
    -> TranscodingProgress
  {
    transcode(input, into: output, swapping: true)
  }

  @inline(__always)
  private static func transcode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, swapping: Bool
  ) -> TranscodingProgress {
    var progress = TranscodingProgress()
    guard let source = input.baseAddress, let target = output.baseAddress else { return progress }
    let lastWord = input.count &- 8
    let lastRoom = output.count &- 16
    while progress.consumed < input.count {
      if progress.consumed <= lastWord, progress.written <= lastRoom {
        let word = source.word(at: progress.consumed)
        if word & 0x8080_8080_8080_8080 == 0 {
          let shift: UInt64 = swapping ? 8 : 0
          target.put(spread(word & 0xFFFF_FFFF) &<< shift, at: progress.written)
          target.put(spread(word &>> 32) &<< shift, at: progress.written &+ 8)
          progress.consumed &+= 8
          progress.written &+= 16
          continue
        }
        let size = UTF8Scalar.lengthInBasicPlane(word)
        if size > 0 {
          let lead = UInt32(truncatingIfNeeded: word) & 0xFF
          let second = UInt32(truncatingIfNeeded: word &>> 8) & 0x3F
          let third = UInt32(truncatingIfNeeded: word &>> 16) & 0x3F
          let value =
            size == 1 ? lead : size == 2 ? (lead & 0x1F) &<< 6 | second : (lead & 0x0F) &<< 12 | second &<< 6 | third
          target.put(unit(value, swapping: swapping), at: progress.written)
          progress.consumed &+= size
          progress.written &+= 2
          continue
        }
      }
      switch UTF8Scalar.read(source + progress.consumed, available: input.count &- progress.consumed) {
      case .character(let scalar, let length):
        let size = scalar < 0x10000 ? 2 : 4
        guard output.count &- progress.written >= size else {
          progress.stop = .outputFull
          return progress
        }
        let above = scalar &- 0x10000
        let first = size == 2 ? scalar : 0xD800 &+ above &>> 10
        target.put(unit(first, swapping: swapping), at: progress.written)
        if size == 4 {
          target.put(unit(0xDC00 &+ above & 0x3FF, swapping: swapping), at: progress.written &+ 2)
        }
        progress.consumed &+= length
        progress.written &+= size
      case .incomplete:
        progress.stop = .incompleteTail
        return progress
      case .fault(let fault, let length):
        progress.stop = .fault(fault, length: length)
        return progress
      }
    }
    return progress
  }

  /// Returns four bytes as four 16-bit lanes.
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
