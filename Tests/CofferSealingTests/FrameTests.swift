import CofferSealing
import Testing

@Suite struct FrameTests {
  /// Returns data without zero bytes, to distinguish it from padding.
  private func data(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8($0 % 255 + 1) }
  }

  private func range(_ frame: [UInt8], minimum: Int = 64, orMinimum other: Int? = nil, isPadded: Bool = true)
    -> Range<Int>?
  {
    do throws(SealingError) {
      return try frame.withBytes { frame throws(SealingError) in
        try Frame.dataRange(of: frame, minimum: minimum, orMinimum: other, isPadded: isPadded)
      }
    } catch {
      #expect(error.code == .malformed)
      return nil
    }
  }

  // MARK: - Invalid frames

  @Test(arguments: [true, false])
  func rejectsOtherCodecs(_ isPadded: Bool) {
    for codec in 1...255 as ClosedRange<UInt8> {
      var frame = Frame.around(data(3), minimum: 64, isPadded: isPadded)
      frame[0] = codec
      #expect(range(frame, isPadded: isPadded) == nil)
    }
  }

  @Test(arguments: [0, 1, 3, 55, 56, 57, 64, 100, 300])
  func rejectsOtherFrameLengths(_ count: Int) {
    for minimum in [Frame.standardMinimum, Frame.sealedTitleMinimum] {
      let frame = Frame.around(data(count), minimum: minimum, isPadded: true)
      for other in 0..<1024 where other != frame.count {
        let changed = Array((frame + [UInt8](repeating: 0, count: 1024))[..<other])
        #expect(range(changed, minimum: minimum) == nil, "\(other) for \(frame.count)")
      }
    }
    let bare = Frame.around(data(count), minimum: 64, isPadded: false)
    for other in 0..<1024 where other != bare.count {
      let changed = Array((bare + [UInt8](repeating: 0, count: 1024))[..<other])
      #expect(range(changed, isPadded: false) == nil)
    }
  }

  @Test(arguments: [0, 1, 3, 8, 55, 57, 100, 1000])
  func rejectsOtherPadding(_ count: Int) {
    let frame = Frame.around(data(count), minimum: 64, isPadded: true)
    for index in (8 + count)..<frame.count {
      for bit in 0..<8 {
        var changed = frame
        changed[index] ^= 1 << bit
        #expect(range(changed) == nil)
      }
    }
  }

  /// Changed bytes can be another document's frame, but only exactly as a writer encodes that document.
  @Test(arguments: [0, 1, 3, 8, 55, 56, 57, 100])
  func readsOnlyCanonicalFrames(_ count: Int) {
    let frame = Frame.around(data(count), minimum: 64, isPadded: true)
    for bit in 0..<frame.count * 8 {
      var changed = frame
      changed[bit / 8] ^= 1 << (bit % 8)
      guard let range = range(changed) else { continue }
      #expect(Frame.around(Array(changed[range]), minimum: 64, isPadded: true) == changed)
    }
  }

  @Test(arguments: [0, 1, 3, 8, 55, 100])
  func rejectsFlippedBitsInBareHeader(_ count: Int) {
    let frame = Frame.around(data(count), minimum: 64, isPadded: false)
    for bit in 0..<64 {
      var changed = frame
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(range(changed, isPadded: false) == nil)
    }
  }

  @Test func rejectsLengthsNearRangeEnd() {
    for length in [57, 58, 1 << 31, 1 << 32, 1 << 55, (1 << 56) - 1] as [UInt64] {
      var frame = [UInt8](repeating: 0, count: 64)
      frame.withUnsafeMutableBytes { $0.storeBytes(of: length.bigEndian, as: UInt64.self) }
      #expect(range(frame) == nil)
    }
  }

  @Test func rejectsInvalidFormatPageFrames() throws {
    let frames = try FormatVectors.load().framesRefused
    #expect(frames.count == 8)
    for broken in frames {
      #expect(range(broken.frame.bytes, minimum: broken.least, isPadded: broken.padded) == nil, "\(broken.why)")
    }
  }

  // MARK: - Valid frames

  @Test func roundTripsFormatPageFrames() throws {
    let frames = try FormatVectors.load().frames
    #expect(frames.count == 15)
    for vector in frames {
      var stream = SHAKE128(Array("f".utf8))
      let data = stream.squeeze(vector.length)
      let frame = Frame.around(data, minimum: 64, isPadded: true)
      #expect(Frame.padme(vector.length + 8) == vector.padme)
      #expect(frame.count == vector.least64)
      #expect(Frame.byteCount(around: vector.length, minimum: 128, isPadded: true) == vector.least128)
      #expect(Frame.byteCount(around: vector.length, minimum: 64, isPadded: false) == vector.unpadded)
      let digest = try sha256(frame)
      #expect(digest == vector.sha256.bytes)
      if let expected = vector.frame64 { #expect(frame == expected.bytes) }
      #expect(range(frame) == 8..<8 + vector.length)
      #expect(range(Frame.around(data, minimum: 64, isPadded: false), isPadded: false) == 8..<8 + vector.length)
    }
  }

  @Test func headReaderAcceptsEitherMinimum() {
    for count in [0, 3, 56, 57, 120] {
      for minimum in [Frame.standardMinimum, Frame.sealedTitleMinimum] {
        let frame = Frame.around(data(count), minimum: minimum, isPadded: true)
        #expect(
          range(frame, minimum: Frame.sealedTitleMinimum, orMinimum: Frame.standardMinimum) == 8..<8 + count)
      }
    }
  }

  @Test func writesHeaderIntoExistingFrame() {
    var frame = Frame.around(data(300), minimum: 64, isPadded: true)
    let whole = frame
    frame.replaceSubrange(..<8, with: [UInt8](repeating: 0xFF, count: 8))
    frame.withUnsafeMutableBytes { Frame.writeHeader(300, to: $0) }
    #expect(frame == whole)
  }

  @Test func padmeAddsLessThanAnEighthAndKeepsOrder() {
    var last = 0
    for length in 0...20_000 {
      let padded = Frame.padme(length)
      #expect(padded >= length && padded >= last)
      #expect(Double(padded - length) <= Double(length) * 0.12)
      #expect(Frame.padme(padded) == padded)
      last = padded
    }
  }

  /// Follows the rule in FORMAT, "Frames", step by step.
  @Test func padmeFollowsFormatPageRule() {
    func floorLog2(_ value: Int) -> Int {
      var result = 0
      while value >> (result + 1) > 0 { result += 1 }
      return result
    }
    for length in Array(2...5000) + [1 << 20, (1 << 20) + 1, 268_435_464, (1 << 40) + 12345] {
      let exponent = floorLog2(length)
      let step = 1 << (exponent - (floorLog2(exponent) + 1))
      #expect(Frame.padme(length) == (length + step - 1) / step * step, "\(length)")
    }
  }
}
