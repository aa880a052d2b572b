internal import CofferDocuments

/// A set of Unicode scalars, stored as sorted ranges that neither overlap nor touch.
struct ScalarSet: Hashable, Sendable {
  private(set) var ranges: [ClosedRange<UInt32>]

  init() {
    ranges = []
  }

  init(_ ranges: [ClosedRange<UInt32>]) {
    self.ranges = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { append(range) }
  }

  init(_ scalars: some Sequence<UInt32>) {
    self.init(scalars.map { $0...$0 })
  }

  init(_ scalar: Unicode.Scalar) {
    ranges = [scalar.value...scalar.value]
  }

  static let all = ScalarSet([0...0x10FFFF])

  /// Appends a range whose lower bound isn't below the last range's.
  private mutating func append(_ range: ClosedRange<UInt32>) {
    guard let last = ranges.last, range.lowerBound <= last.upperBound + 1 else { return ranges.append(range) }
    ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
  }

  func union(_ other: ScalarSet) -> ScalarSet {
    ScalarSet(ranges + other.ranges)
  }

  var inverted: ScalarSet {
    var gaps: [ClosedRange<UInt32>] = []
    var next: UInt32 = 0
    for range in ranges {
      if range.lowerBound > next { gaps.append(next...range.lowerBound - 1) }
      next = range.upperBound + 1
    }
    if next <= 0x10FFFF { gaps.append(next...0x10FFFF) }
    return ScalarSet(gaps)
  }

  func contains(_ scalar: UInt32) -> Bool {
    let index = ranges.indices.partitionPoint { ranges[$0].upperBound < scalar }
    return index < ranges.count && ranges[index].lowerBound <= scalar
  }
}

// MARK: - Named sets

extension ScalarSet {
  /// `\d`: the ten ASCII digits.
  static let digits = ScalarSet([0x30...0x39])
  /// The scalars that end a line, which `.` doesn't match.
  static let lineEnds = ScalarSet([0x0A...0x0A, 0x0D...0x0D])
  /// `\s`: Unicode White_Space.
  static let whitespace = ScalarSet([
    0x09...0x0D, 0x20...0x20, 0x85...0x85, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029,
    0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000,
  ])
  /// `\w`: letters, marks, decimal digits, connecting punctuation (Unicode TS 18, annex C).
  static let words: ScalarSet = {
    // Above the ideographs, variation selectors are the only marks, and there aren't any letters.
    let scalars = [0..<0x40000, 0xE0100..<0xE01F0 as Range<UInt32>].joined().lazy.compactMap { Unicode.Scalar($0) }
    return ScalarSet(scalars.filter(isWord).map(\.value))
  }()

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isAlphabetic || scalar.properties.isJoinControl { return true }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: return true
    default: return false
    }
  }
}
