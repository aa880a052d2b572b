internal import CCofferText

/// Validates and copies UTF-8. Runs are validated 32 bytes at a time, with the kernel if the processor supports it, and
/// copied as a whole.
enum UTF8Validator {
  /// The number of bytes to validate before copying, which is small enough to remain in the processor's cache.
  private static let stretch = 16 << 10

  /// - Parameter refusingNUL: Whether U+0000 is a fault.
  static func copy(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, refusingNUL: Bool
  ) -> TranscodingProgress {
    var progress = TranscodingProgress()
    guard let source = input.baseAddress, let target = output.baseAddress else { return progress }
    while true {
      let left = input.count &- progress.consumed
      let room = output.count &- progress.written
      let count = min(left, room, stretch)
      let from = source + progress.consumed
      let checked = refusingNUL ? checkWithoutNUL(from, count: count) : check(from, count: count)
      (target + progress.written).copyMemory(from: from, byteCount: checked.consumed)
      progress.consumed &+= checked.consumed
      progress.written &+= checked.consumed
      progress.stop = checked.stop
      switch checked.stop {
      case .fault:
        return progress
      case .inputEnd, .incompleteTail, .outputFull:
        if count == left { return progress }
        if count == room {
          progress.stop = .outputFull
          return progress
        }
      }
    }
  }

  static func isValid(_ input: UnsafeRawBufferPointer) -> Bool {
    guard let source = input.baseAddress else { return true }
    let progress = check(source, count: input.count)
    if case .inputEnd = progress.stop { return progress.consumed == input.count }
    return false
  }

  private static let hasKernel = coffer_has_kernels()
  /// The minimum length for the kernel, because the kernel's tables don't pay off for shorter texts.
  private static let leastForKernel = 64

  /// Returns the length of the valid prefix, without writing.
  @inline(never)
  private static func check(_ source: UnsafeRawPointer, count: Int) -> TranscodingProgress {
    check(source, count: count, refusingNUL: false, machine: UTF8StateMachine.any)
  }

  @inline(never)
  private static func checkWithoutNUL(_ source: UnsafeRawPointer, count: Int) -> TranscodingProgress {
    check(source, count: count, refusingNUL: true, machine: UTF8StateMachine.withoutNUL)
  }

  @inline(__always)
  private static func check(
    _ source: UnsafeRawPointer, count: Int, refusingNUL: Bool, machine: UTF8StateMachine
  ) -> TranscodingProgress {
    var position =
      count >= leastForKernel && hasKernel
      ? Int(coffer_utf8_prefix(source.assumingMemoryBound(to: UInt8.self), count, refusingNUL)) : 0
    var state = UTF8StateMachine.start
    machine.transitions.withUnsafeBufferPointer { transitions in
      let lastWord = count &- 8
      let lastBlock = count &- 32
      while position <= lastWord {
        if UTF8StateMachine.isStart(state) {
          while position <= lastBlock {
            let first = source.word(at: position)
            let second = source.word(at: position &+ 8)
            let third = source.word(at: position &+ 16)
            let fourth = source.word(at: position &+ 24)
            var bad = first | second | third | fourth
            if refusingNUL {
              // This is exact for ASCII words, because subtracting one sets a byte's top bit only if the byte, or a
              // lower byte, was 0.
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
        guard !UTF8StateMachine.isRefused(next) else { return }
        state = next
        position &+= 8
      }
    }
    // Check the rest or the fault character by character, starting at the beginning of the last character.
    if !UTF8StateMachine.isStart(state) {
      repeat { position &-= 1 } while source.load(fromByteOffset: position, as: UInt8.self) & 0xC0 == 0x80
    }
    return checkSlowly(source, from: position, count: count, refusingNUL: refusingNUL)
  }

  private static func checkSlowly(
    _ source: UnsafeRawPointer, from position: Int, count: Int, refusingNUL: Bool
  ) -> TranscodingProgress {
    var progress = TranscodingProgress(consumed: position)
    while progress.consumed < count {
      switch UTF8Scalar.read(source + progress.consumed, available: count &- progress.consumed) {
      case .character(let scalar, let length):
        if refusingNUL, scalar == 0 {
          progress.stop = .fault(.nul, length: 1)
          return progress
        }
        progress.consumed &+= length
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

  private static var tops: UInt64 { 0x8080_8080_8080_8080 }
  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
