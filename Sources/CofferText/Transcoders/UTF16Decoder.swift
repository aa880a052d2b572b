internal import CCofferText

/// Decodes UTF-16 to UTF-8, with CCofferText's kernel if the processor supports it.
struct UTF16Decoder: Sendable {
  /// A decoder without the kernel.
  static let scalar = UTF16Decoder(shortShuffles: [], longShuffles: [])

  static let fastest =
    coffer_has_kernels()
    ? UTF16Decoder(
      shortShuffles: (0..<256).flatMap { mask in
        shuffle(lengths: (0..<8).map { 1 + mask >> $0 & 1 }, laneSize: 2)
      },
      longShuffles: (0..<256).flatMap { mask in
        shuffle(lengths: (0..<4).map { 1 + mask >> (2 * $0) & 1 + mask >> (2 * $0 + 1) & 1 }, laneSize: 4)
      })
    : scalar

  /// The bytes to keep from 8 lanes of 16 bits, and from 4 lanes of 32 bits, with 16 indices for each mask. See
  /// CCofferText.h. Empty without the kernel.
  private let shortShuffles: [UInt8]
  private let longShuffles: [UInt8]

  private static func shuffle(lengths: [Int], laneSize: Int) -> [UInt8] {
    var indices: [UInt8] = []
    for (lane, length) in lengths.enumerated() {
      indices += (0..<length).map { UInt8(lane * laneSize + $0) }
    }
    // An index with the top bit set results in a zero.
    return indices + [UInt8](repeating: 0x80, count: 16 - indices.count)
  }

  func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isBigEndian: Bool
  ) -> TranscodingProgress {
    guard let source = input.baseAddress, let target = output.baseAddress else { return TranscodingProgress() }
    let walk = shortShuffles.withUnsafeBufferPointer { short in
      longShuffles.withUnsafeBufferPointer { long in
        coffer_utf16_to_utf8(
          source, input.count, target, output.count, isBigEndian, short.isEmpty ? nil : short.baseAddress,
          long.isEmpty ? nil : long.baseAddress)
      }
    }
    let stop: TranscodingProgress.Stop =
      switch walk.stop {
      case COFFER_INPUT_END: .inputEnd
      case COFFER_INCOMPLETE_TAIL: .incompleteTail
      case COFFER_OUTPUT_FULL: .outputFull
      default: .fault(.unpairedSurrogate, length: 2)
      }
    return TranscodingProgress(consumed: walk.consumed, written: walk.written, stop: stop)
  }
}
