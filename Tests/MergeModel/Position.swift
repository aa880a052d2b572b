/// The place of a document in the order of its collection.
///
/// A position is a chain of levels, encoded so that the order of the bytes is the order of the chains. A chain sorts
/// before its extensions.
public struct Position: Hashable, Comparable, Sendable {
  public let bytes: [UInt8]

  init(levels: [Level]) {
    bytes = levels.flatMap(\.bytes)
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  var levels: [Level] {
    var rest = bytes[...]
    var levels: [Level] = []
    while !rest.isEmpty {
      levels.append(Level(readingFrom: &rest))
    }
    return levels
  }

  /// Returns this position, extended by one level.
  func appending(_ level: Level) -> Position {
    Position(bytes: bytes + level.bytes)
  }

  public static func < (lhs: Position, rhs: Position) -> Bool {
    lhs.bytes.lexicographicallyPrecedes(rhs.bytes)
  }
}

/// One level of a position.
struct Level: Hashable {
  static let tagSize = 3

  /// The place among the levels at this depth.
  let number: Int
  /// The name of a run of documents: 24 random bits. Two replicas that fill one gap at the same time differ in it.
  let tag: UInt32
  /// The place within the run.
  let count: Int

  init(number: Int, tag: UInt32, count: Int) {
    self.number = number
    self.tag = tag
    self.count = count
  }

  init(readingFrom bytes: inout ArraySlice<UInt8>) {
    number = OrderedInteger.read(from: &bytes)
    tag = bytes.prefix(Self.tagSize).reduce(0) { $0 << 8 | UInt32($1) }
    bytes = bytes.dropFirst(Self.tagSize)
    count = OrderedInteger.read(from: &bytes)
  }

  var bytes: [UInt8] {
    let tagBytes = [tag >> 16, tag >> 8, tag].map { UInt8(truncatingIfNeeded: $0) }
    return OrderedInteger.bytes(of: number) + tagBytes + OrderedInteger.bytes(of: count)
  }
}
