/// UTF-16 to UTF-8, four units at a time as the lanes of one UInt64.
///
/// Three classes of four units each have a loop without branches per unit: ASCII; below U+0800; no surrogate among
/// them. Surrogates, and the ends of the buffers, go one character at a time. Where there is a kernel, it takes what it
/// can first.
enum UTF16Decoder {
  @inline(never)
  static func littleEndian(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, with kernel: UTF16Kernel?
  ) -> TranscodingProgress {
    transcode(input, into: output, with: kernel, swapping: false)
  }

  @inline(never)
  static func bigEndian(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, with kernel: UTF16Kernel?
  ) -> TranscodingProgress {
    transcode(input, into: output, with: kernel, swapping: true)
  }

  @inline(__always)
  private static func transcode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, with kernel: UTF16Kernel?,
    swapping: Bool
  ) -> TranscodingProgress {
    guard let source = input.baseAddress, let target = output.baseAddress else { return TranscodingProgress() }
    // Words are read up to here before the kernel runs again.
    var limit = kernel == nil ? input.count : 0
    // Four units become 12 bytes at most, and each store may touch 2 bytes more.
    let lastRoom = output.count - 16
    var progress = TranscodingProgress()
    while true {
      if let kernel, progress.consumed >= limit {
        kernel.advance(&progress, source, input.count, target, output.count, swapping: swapping)
        limit = min(progress.consumed + UTF16Kernel.block, input.count)
      }
      let lastWord = limit - 8
      let lastPair = limit - 16
      let lastBlock = limit - 32
      while progress.consumed <= lastWord, progress.written <= lastRoom {
        let units = source.units(at: progress.consumed, swapping: swapping)
        if units & UInt64(lanes: 0xFF80) == 0 {
          target.put(packASCII(units), at: progress.written)
          progress.consumed &+= 8
          progress.written &+= 4
          while progress.consumed <= lastBlock, progress.written <= lastRoom {
            let first = source.word(at: progress.consumed)
            let second = source.word(at: progress.consumed &+ 8)
            let third = source.word(at: progress.consumed &+ 16)
            let fourth = source.word(at: progress.consumed &+ 24)
            let mask = UInt64(lanes: swapping ? 0x80FF : 0xFF80)
            guard (first | second | third | fourth) & mask == 0 else { break }
            let shift: UInt64 = swapping ? 8 : 0
            target.put(
              UInt64(packASCII(first &>> shift)) | UInt64(packASCII(second &>> shift)) &<< 32, at: progress.written)
            target.put(
              UInt64(packASCII(third &>> shift)) | UInt64(packASCII(fourth &>> shift)) &<< 32, at: progress.written &+ 8
            )
            progress.consumed &+= 32
            progress.written &+= 16
          }
        } else if units & UInt64(lanes: 0xF800) == 0 {
          progress.written = putShort(units, at: progress.written, of: target)
          progress.consumed &+= 8
        } else if !holdsSurrogate(units) {
          // Text of this class holds others in between: it is left only where 8 units in a row need it no more.
          var some = units
          repeat {
            progress.written = putAny(some, at: progress.written, of: target)
            progress.consumed &+= 8
            guard progress.consumed <= lastPair, progress.written <= lastRoom else { break }
            some = source.units(at: progress.consumed, swapping: swapping)
            let next = source.units(at: progress.consumed &+ 8, swapping: swapping)
            if (some | next) & UInt64(lanes: 0xF800) == 0 { break }
          } while !holdsSurrogate(some)
        } else {
          break
        }
      }
      guard step(&progress, source, input.count, target, output.count, swapping: swapping) else { return progress }
    }
  }

  /// Takes one character.
  ///
  /// - Returns: false when the pass stops here.
  @inline(__always)
  private static func step(
    _ progress: inout TranscodingProgress, _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutableRawPointer,
    _ capacity: Int,
    swapping: Bool
  ) -> Bool {
    let left = count &- progress.consumed
    guard left >= 2 else {
      progress.stop = left == 0 ? .inputEnd : .incompleteTail
      return false
    }
    let unit = UInt32(source.unit(at: progress.consumed, swapping: swapping))
    var scalar = unit
    var taken = 2
    if unit & 0xF800 == 0xD800 {
      guard unit < 0xDC00 else {
        progress.stop = .fault(.unpairedSurrogate, length: 2)
        return false
      }
      guard left >= 4 else {
        progress.stop = .incompleteTail
        return false
      }
      let trail = UInt32(source.unit(at: progress.consumed &+ 2, swapping: swapping))
      guard trail & 0xFC00 == 0xDC00 else {
        progress.stop = .fault(.unpairedSurrogate, length: 2)
        return false
      }
      scalar = 0x10000 &+ (unit & 0x3FF) &<< 10 &+ (trail & 0x3FF)
      taken = 4
    }
    let length = UTF8Scalar.length(scalar)
    guard capacity &- progress.written >= length else {
      progress.stop = .outputFull
      return false
    }
    UTF8Scalar.put(scalar, length, at: progress.written, of: target)
    progress.consumed &+= taken
    progress.written &+= length
    return true
  }

  /// Four ASCII units as four bytes.
  @inline(__always)
  private static func packASCII(_ units: UInt64) -> UInt32 {
    let pairs = units | units &>> 8
    return UInt32(truncatingIfNeeded: pairs & 0xFFFF | pairs &>> 16 & 0xFFFF_0000)
  }

  /// Four units below 0x800 as one or two bytes each.
  @inline(__always)
  private static func putShort(_ units: UInt64, at start: Int, of target: UnsafeMutableRawPointer) -> Int {
    let two = units &>> 6 & UInt64(lanes: 0x1F) | (units & UInt64(lanes: 0x3F)) &<< 8 | UInt64(lanes: 0x80C0)
    // 1 in each lane that is not ASCII; the sum carries into bit 15 and never out of the lane.
    let notASCII = (units &+ UInt64(lanes: 0x7F80)) &>> 15 & UInt64(lanes: 1)
    let bytes = units ^ (units ^ two) & (notASCII &<< 16 &- notASCII)
    let ends = Ends(lengths: UInt64(lanes: 1) &+ notASCII, start: start)
    target.put(UInt16(truncatingIfNeeded: bytes), at: start)
    target.put(UInt16(truncatingIfNeeded: bytes &>> 16), at: ends.first)
    target.put(UInt16(truncatingIfNeeded: bytes &>> 32), at: ends.second)
    target.put(UInt16(truncatingIfNeeded: bytes &>> 48), at: ends.third)
    return ends.fourth
  }

  /// Four units of which none is a surrogate as one to three bytes each.
  @inline(__always)
  private static func putAny(_ units: UInt64, at start: Int, of target: UnsafeMutableRawPointer) -> Int {
    let two = units &>> 6 & UInt64(lanes: 0x1F) | (units & UInt64(lanes: 0x3F)) &<< 8 | UInt64(lanes: 0x80C0)
    let three = units &>> 12 & UInt64(lanes: 0x0F) | (units & UInt64(lanes: 0xFC0)) &<< 2 | UInt64(lanes: 0x80E0)
    let last = units & UInt64(lanes: 0x3F) | UInt64(lanes: 0x80)
    // 1 in each lane that is not ASCII, and in each that is at or above 0x800.
    let notASCII = (units &>> 7 & UInt64(lanes: 0x1FF) &+ UInt64(lanes: 0x7FFF)) &>> 15 & UInt64(lanes: 1)
    let long = (units &>> 11 & UInt64(lanes: 0x1F) &+ UInt64(lanes: 0x7FFF)) &>> 15 & UInt64(lanes: 1)
    let short = units ^ (units ^ two) & (notASCII &<< 16 &- notASCII)
    let bytes = short ^ (short ^ three) & (long &<< 16 &- long)
    let ends = Ends(lengths: UInt64(lanes: 1) &+ notASCII &+ long, start: start)
    target.put(UInt16(truncatingIfNeeded: bytes), at: start)
    target.put(UInt8(truncatingIfNeeded: last), at: start &+ 2)
    target.put(UInt16(truncatingIfNeeded: bytes &>> 16), at: ends.first)
    target.put(UInt8(truncatingIfNeeded: last &>> 16), at: ends.first &+ 2)
    target.put(UInt16(truncatingIfNeeded: bytes &>> 32), at: ends.second)
    target.put(UInt8(truncatingIfNeeded: last &>> 32), at: ends.second &+ 2)
    target.put(UInt16(truncatingIfNeeded: bytes &>> 48), at: ends.third)
    target.put(UInt8(truncatingIfNeeded: last &>> 48), at: ends.third &+ 2)
    return ends.fourth
  }

  /// The ends of four characters, computed from the lanes of their lengths without a dependency between them.
  private struct Ends {
    let first: Int
    let second: Int
    let third: Int
    let fourth: Int

    @inline(__always)
    init(lengths: UInt64, start: Int) {
      let sums = lengths &* UInt64(lanes: 1)
      first = start &+ Int(truncatingIfNeeded: sums & 0xFF)
      second = start &+ Int(truncatingIfNeeded: sums &>> 16 & 0xFF)
      third = start &+ Int(truncatingIfNeeded: sums &>> 32 & 0xFF)
      fourth = start &+ Int(truncatingIfNeeded: sums &>> 48)
    }
  }

  @inline(__always)
  private static func holdsSurrogate(_ units: UInt64) -> Bool {
    // A lane is 0 exactly where the unit is a surrogate; any other lane, halved, carries into its bit 15.
    let difference = units & UInt64(lanes: 0xF800) ^ UInt64(lanes: 0xD800)
    return (difference &>> 1 &+ UInt64(lanes: 0x7C00)) & UInt64(lanes: 0x8000) != UInt64(lanes: 0x8000)
  }
}

extension UnsafeRawPointer {
  /// Four units at any alignment, the first in the lowest lane.
  @inline(__always)
  fileprivate func units(at offset: Int, swapping: Bool) -> UInt64 {
    let word = word(at: offset)
    guard swapping else { return word }
    return word &>> 8 & UInt64(lanes: 0x00FF) | (word & UInt64(lanes: 0x00FF)) &<< 8
  }

  @inline(__always)
  fileprivate func unit(at offset: Int, swapping: Bool) -> UInt16 {
    let unit = UInt16(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    return swapping ? unit.byteSwapped : unit
  }
}
