/// A deterministic source of random numbers (SplitMix64).
///
/// The generator is a reference type. Copies of a store share it, so no two of them ever draw the same number.
public final class SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// Creates a generator. Equal seeds give equal sequences.
  public init(seed: UInt64) {
    state = seed
  }

  public func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  /// Spreads the bits of a number over the whole word. Different numbers give different results.
  static func mix(_ number: UInt64) -> UInt64 {
    var bits = number
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
