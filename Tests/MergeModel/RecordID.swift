/// The identity of a document or a collection: 128 bits, either random or a digest.
public struct RecordID: Hashable, Comparable, Sendable, CustomStringConvertible {
  public let high: UInt64
  public let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a random identity.
  init(using generator: SeededGenerator) {
    self.init(high: generator.next(), low: generator.next())
  }

  /// Creates the identity of a collection from its name.
  ///
  /// Two stores with the same origin that both create a collection with the same name create the same collection.
  /// - Parameter attempt: Zero, or a higher number while the identity belongs to a collection that was renamed.
  init(collectionNamed name: String, origin: String, attempt: Int) {
    var digest = Digest()
    digest.combine(origin)
    digest.combine(name)
    digest.combine(UInt64(attempt))
    self = digest.value
  }

  /// Creates the identity of the copy that keeps a text which lost a conflict.
  ///
  /// The identity depends only on the document and the dot of the text, so every replica creates the same copy.
  init(copyOf document: RecordID, losing dot: Dot) {
    var digest = Digest()
    digest.combine(document.high)
    digest.combine(document.low)
    digest.combine(UInt64(dot.counter))
    digest.combine(dot.replica.rawValue)
    self = digest.value
  }

  /// The identity as 32 hexadecimal digits.
  public var description: String {
    [high, low].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  public static func < (lhs: RecordID, rhs: RecordID) -> Bool {
    (lhs.high, lhs.low) < (rhs.high, rhs.low)
  }
}

/// A 128-bit digest: FNV-1a, followed by one step that spreads the last bytes over all bits.
struct Digest {
  private var high: UInt64 = 0x6C62_272E_07BB_0142
  private var low: UInt64 = 0x62B8_2175_6295_C58D

  mutating func combine(_ string: String) {
    combine(UInt64(string.utf8.count))
    for byte in string.utf8 {
      combine(byte)
    }
  }

  mutating func combine(_ number: UInt64) {
    for shift in stride(from: 56, through: 0, by: -8) {
      combine(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  private mutating func combine(_ byte: UInt8) {
    low ^= UInt64(byte)
    // Multiplies by the prime 2^88 + 0x13B.
    let product = low.multipliedFullWidth(by: 0x13B)
    high = high &* 0x13B &+ product.high &+ (low << 24)
    low = product.low
  }

  var value: RecordID {
    let first = high ^ SeededGenerator.mix(low)
    return RecordID(high: first, low: low ^ SeededGenerator.mix(first))
  }
}
