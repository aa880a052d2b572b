/// UTF-16 to UTF-8, four units at a time as the lanes of one UInt64.
///
/// Three classes of four units each have a loop without branches per unit: ASCII; below U+0800; no surrogate among
/// them. Surrogates, and the ends of the buffers, go one character at a time. Where there is a kernel, it takes what it
/// can first.
enum UTF16Walk {
  @inline(never)
  static func littleEndian(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, with kernel: UTF16Kernel?
  ) -> Walk {
    walk(input, into: output, with: kernel, swapping: false)
  }

  @inline(never)
  static func bigEndian(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, with kernel: UTF16Kernel?
  ) -> Walk {
    walk(input, into: output, with: kernel, swapping: true)
  }

  @inline(__always)
  private static func walk(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, with kernel: UTF16Kernel?,
    swapping: Bool
  ) -> Walk {
    guard let source = input.baseAddress, let target = output.baseAddress else { return Walk() }
    // How far the words go until the kernel is asked again.
    var limit = kernel == nil ? input.count : 0
    // Four units become 12 bytes at most, and each store may touch 2 bytes more.
    let lastRoom = output.count - 16
    var walk = Walk()
    while true {
      if let kernel, walk.consumed >= limit {
        kernel.advance(&walk, source, input.count, target, output.count, swapping: swapping)
        limit = min(walk.consumed + UTF16Kernel.block, input.count)
      }
      let lastWord = limit - 8
      let lastPair = limit - 16
      let lastBlock = limit - 32
      while walk.consumed <= lastWord, walk.written <= lastRoom {
        let units = source.units(at: walk.consumed, swapping: swapping)
        if units & UInt64(lanes: 0xFF80) == 0 {
          target.put(packASCII(units), at: walk.written)
          walk.consumed &+= 8
          walk.written &+= 4
          while walk.consumed <= lastBlock, walk.written <= lastRoom {
            let first = source.word(at: walk.consumed)
            let second = source.word(at: walk.consumed &+ 8)
            let third = source.word(at: walk.consumed &+ 16)
            let fourth = source.word(at: walk.consumed &+ 24)
            let mask = UInt64(lanes: swapping ? 0x80FF : 0xFF80)
            guard (first | second | third | fourth) & mask == 0 else { break }
            let shift: UInt64 = swapping ? 8 : 0
            target.put(
              UInt64(packASCII(first &>> shift)) | UInt64(packASCII(second &>> shift)) &<< 32, at: walk.written)
            target.put(
              UInt64(packASCII(third &>> shift)) | UInt64(packASCII(fourth &>> shift)) &<< 32, at: walk.written &+ 8)
            walk.consumed &+= 32
            walk.written &+= 16
          }
        } else if units & UInt64(lanes: 0xF800) == 0 {
          walk.written = putShort(units, at: walk.written, of: target)
          walk.consumed &+= 8
        } else if !holdsSurrogate(units) {
          // Text of this class holds others in between: it is left only where 8 units in a row need it no more.
          var some = units
          repeat {
            walk.written = putAny(some, at: walk.written, of: target)
            walk.consumed &+= 8
            guard walk.consumed <= lastPair, walk.written <= lastRoom else { break }
            some = source.units(at: walk.consumed, swapping: swapping)
            let next = source.units(at: walk.consumed &+ 8, swapping: swapping)
            if (some | next) & UInt64(lanes: 0xF800) == 0 { break }
          } while !holdsSurrogate(some)
        } else {
          break
        }
      }
      guard step(&walk, source, input.count, target, output.count, swapping: swapping) else { return walk }
    }
  }

  /// Takes one character.
  ///
  /// - Returns: false when the walk stops here.
  @inline(__always)
  private static func step(
    _ walk: inout Walk, _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutableRawPointer, _ capacity: Int,
    swapping: Bool
  ) -> Bool {
    let left = count &- walk.consumed
    guard left >= 2 else {
      walk.stop = left == 0 ? .inputEnd : .incompleteTail
      return false
    }
    let unit = UInt32(source.unit(at: walk.consumed, swapping: swapping))
    var scalar = unit
    var taken = 2
    if unit & 0xF800 == 0xD800 {
      guard unit < 0xDC00 else {
        walk.stop = .fault(.unpairedSurrogate, length: 2)
        return false
      }
      guard left >= 4 else {
        walk.stop = .incompleteTail
        return false
      }
      let trail = UInt32(source.unit(at: walk.consumed &+ 2, swapping: swapping))
      guard trail & 0xFC00 == 0xDC00 else {
        walk.stop = .fault(.unpairedSurrogate, length: 2)
        return false
      }
      scalar = 0x10000 &+ (unit & 0x3FF) &<< 10 &+ (trail & 0x3FF)
      taken = 4
    }
    let length = UTF8Scalar.length(scalar)
    guard capacity &- walk.written >= length else {
      walk.stop = .outputFull
      return false
    }
    UTF8Scalar.put(scalar, length, at: walk.written, of: target)
    walk.consumed &+= taken
    walk.written &+= length
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

  /// Where four characters end, from the lanes of their lengths: known at once, not one after the other.
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
