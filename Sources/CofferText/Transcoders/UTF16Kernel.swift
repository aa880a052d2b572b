internal import CCofferText

/// The loop of CCofferText over text without surrogates, where the processor can run it.
struct UTF16Kernel: Sendable {
  /// How many bytes the kernel takes at a time.
  static let block = 32

  /// Nil where the processor lacks the instructions.
  static let shared = coffer_has_kernels() ? UTF16Kernel() : nil

  /// Which bytes of 8 lanes of 16 bits, and of 4 lanes of 32, remain: 16 bytes for each mask, see CCofferText.h.
  private let shortShuffles: [UInt8]
  private let longShuffles: [UInt8]

  private init() {
    shortShuffles = (0..<256).flatMap { mask in
      Self.shuffle(lengths: (0..<8).map { 1 + mask >> $0 & 1 }, laneSize: 2)
    }
    longShuffles = (0..<256).flatMap { mask in
      Self.shuffle(lengths: (0..<4).map { 1 + mask >> (2 * $0) & 1 + mask >> (2 * $0 + 1) & 1 }, laneSize: 4)
    }
  }

  private static func shuffle(lengths: [Int], laneSize: Int) -> [UInt8] {
    var indices: [UInt8] = []
    for (lane, length) in lengths.enumerated() {
      indices += (0..<length).map { UInt8(lane * laneSize + $0) }
    }
    // An index with the top bit set gives a zero.
    return indices + [UInt8](repeating: 0x80, count: 16 - indices.count)
  }

  @inline(__always)
  func advance(
    _ progress: inout TranscodingProgress, _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutableRawPointer,
    _ capacity: Int,
    swapping: Bool
  ) {
    let part = coffer_utf16_to_utf8(
      source + progress.consumed, count - progress.consumed, target + progress.written, capacity - progress.written,
      swapping,
      shortShuffles, longShuffles)
    progress.consumed += part.consumed
    progress.written += part.written
  }
}
