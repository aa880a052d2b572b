package import CofferDocuments

/// A level of a position, which consists of an order-preserving number, a run's three random bytes, and a place within
/// the run (FORMAT, "Positions").
struct PositionLevel: Equatable {
  var number: Int64
  var tag: PositionTag
  var place: Int64

  /// Parses the levels of a position, or returns `nil` if another program chose the bytes differently.
  static func levels(of position: DocumentPosition?) -> [PositionLevel]? {
    guard let bytes = position?.bytes else { return [] }
    var levels: [PositionLevel] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let number = OrderedInteger.parse(&rest), rest.count > PositionTag.byteCount else { return nil }
      let tag = PositionTag(rest.prefix(PositionTag.byteCount))
      rest = rest.dropFirst(PositionTag.byteCount)
      guard let place = OrderedInteger.parse(&rest) else { return nil }
      levels.append(PositionLevel(number: number, tag: tag, place: place))
    }
    return levels
  }

  func append(to bytes: inout [UInt8]) {
    OrderedInteger.append(number, to: &bytes)
    bytes += tag.bytes
    OrderedInteger.append(place, to: &bytes)
  }
}

/// Three random bytes that name a run of positions.
package struct PositionTag: Equatable {
  package static let byteCount = 3

  let bytes: [UInt8]

  /// - Parameter bytes: Three bytes.
  package init(_ bytes: some Collection<UInt8>) {
    precondition(bytes.count == Self.byteCount, "internal error: a tag of another length")
    self.bytes = Array(bytes)
  }
}

/// An integer encoded in 1 to 7 bytes that sort bytewise like the integers. An encoding is never a prefix of another.
enum OrderedInteger {
  /// The exclusive upper bound of numbers with an encoding. The least such number is the complement of the greatest.
  static let limit: Int64 = 1 << 49
  static let maximumCount = 7

  /// The first bits of the first byte, and the number of bits after them.
  private typealias Form = (head: UInt64, bits: Int)

  /// Returns the shortest form for a number in 0 ..< 2^49.
  private static func form(for value: UInt64) -> Form {
    switch value {
    case ..<(1 << 6): (0x80, 6)
    case ..<(1 << 13): (0xC0, 13)
    case ..<(1 << 20): (0xE0, 20)
    case ..<(1 << 27): (0xF0, 27)
    case ..<(1 << 34): (0xF8, 34)
    default: (0xFC, 49)
    }
  }

  /// Returns the form that begins with a byte, or `nil` if the byte doesn't begin any form.
  private static func form(of first: UInt8) -> Form? {
    switch first {
    case 0x80..<0xC0: (0x80, 6)
    case 0xC0..<0xE0: (0xC0, 13)
    case 0xE0..<0xF0: (0xE0, 20)
    case 0xF0..<0xF8: (0xF0, 27)
    case 0xF8..<0xFC: (0xF8, 34)
    case 0xFC..<0xFE: (0xFC, 49)
    default: nil
    }
  }

  /// Appends a number in -2^49 ..< 2^49.
  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    withUnsafeTemporaryAllocation(byteCount: maximumCount, alignment: 1) { memory in
      bytes += memory.prefix(write(number, to: memory))
    }
  }

  /// Writes a number in -2^49 ..< 2^49 to memory with at least 7 bytes, and returns the number of bytes written.
  static func write(_ number: Int64, to memory: UnsafeMutableRawBufferPointer) -> Int {
    let mask: UInt8 = number < 0 ? 0xFF : 0
    let value = UInt64(number < 0 ? ~number : number)
    let (head, bits) = form(for: value)
    let count = (bits + 7) / 8
    let whole = head << (8 * (count - 1)) | value
    for index in 0..<count { memory[index] = UInt8(truncatingIfNeeded: whole >> (8 * (count - 1 - index))) ^ mask }
    return count
  }

  /// Removes and returns a number at the beginning of `bytes`, or returns `nil` if `bytes` doesn't begin with a number.
  static func parse(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    guard let first = bytes.first else { return nil }
    let mask: UInt8 = first < 0x80 ? 0xFF : 0
    guard let (_, bits) = form(of: first ^ mask), bytes.count >= (bits + 7) / 8 else { return nil }
    let count = (bits + 7) / 8
    var whole: UInt64 = 0
    for byte in bytes.prefix(count) { whole = whole << 8 | UInt64(byte ^ mask) }
    bytes = bytes.dropFirst(count)
    let value = Int64(whole & (1 << UInt64(bits) - 1))
    return mask == 0 ? value : ~value
  }
}

/// The positions of consecutive documents, which remain together even if other replicas place documents there.
package struct PositionRun {
  /// The distance between numbers at an open end, which allows 12 halvings before a level is added.
  private static let step: Int64 = 4096

  private let beginning: [UInt8]
  private var next: Int64
  /// The last position that the run returned.
  private var last: DocumentPosition?

  /// Creates a run between two positions. `nil` represents the collection's beginning or end.
  ///
  /// - Parameters:
  ///   - count: The number of positions that the run must provide, or `nil` for any number.
  ///   - length: The maximum length of each position in bytes.
  /// - Returns: `nil` if positions of that length don't fit, or if another program chose the neighbors differently.
  package init?(
    between left: DocumentPosition?, and right: DocumentPosition?, tag: PositionTag, count: Int? = nil,
    length: Int = DocumentPosition.maximumCount
  ) {
    guard let lower = PositionLevel.levels(of: left), let upper = PositionLevel.levels(of: right) else { return nil }
    var (low, high) = (lower[...], upper[...])
    var above: [PositionLevel] = []
    // Find the topmost level with space for a number.
    while let left = low.first, let right = high.first, left == right || right.number - left.number < 2 {
      high = left == right ? high.dropFirst() : []
      above.append(left)
      low = low.dropFirst()
    }
    let number =
      switch (low.first?.number, high.first?.number) {
      case (let left?, let right?): (left + right) >> 1
      case (let left?, nil): left + Self.step
      case (nil, let right?): right - Self.step
      case (nil, nil): Int64(0)
      }
    guard (-OrderedInteger.limit..<OrderedInteger.limit).contains(number) else { return nil }
    self.init(after: above, number, tag)
    guard fits(left, right, count, length) else { return nil }
  }

  private init(after levels: [PositionLevel], _ number: Int64, _ tag: PositionTag) {
    var bytes: [UInt8] = []
    for level in levels { level.append(to: &bytes) }
    OrderedInteger.append(number, to: &bytes)
    beginning = bytes + tag.bytes
    next = 0
  }

  /// Creates the first run of an empty collection.
  package init(tag: PositionTag) {
    self.init(after: [], 0, tag)
  }

  /// Returns whether the run can continue between two positions, because `left` is the last position it returned.
  ///
  /// - Parameter count: The number of positions that the run must provide, or `nil` for any number.
  package func continues(between left: DocumentPosition?, and right: DocumentPosition?, count: Int?) -> Bool {
    last != nil && left == last && fits(left, right, count, DocumentPosition.maximumCount)
  }

  /// Returns whether the run's next positions are between the neighbors. Also compares positions that another program
  /// chose, so a run never depends on their form.
  private func fits(_ left: DocumentPosition?, _ right: DocumentPosition?, _ count: Int?, _ length: Int) -> Bool {
    let greatest = count.map { next + Int64(max(0, $0 - 1)) } ?? OrderedInteger.limit - 1
    guard greatest < OrderedInteger.limit, let first = position(next) else { return false }
    guard let end = greatest == next ? first : position(greatest) else { return false }
    return left.map { $0 < first } ?? true && right.map { end < $0 } ?? true && end.byteCount <= length
  }

  /// Returns the position for a place, or `nil` if the position is too long.
  package func position(_ place: Int64) -> DocumentPosition? {
    let capacity = beginning.count + OrderedInteger.maximumCount
    return withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { memory in
      memory.copyBytes(from: beginning)
      let count = OrderedInteger.write(
        place, to: UnsafeMutableRawBufferPointer(rebasing: memory[beginning.count...]))
      return DocumentPosition(copying: UnsafeRawBufferPointer(rebasing: memory[..<(beginning.count + count)]))
    }
  }

  /// Returns the next position.
  ///
  /// - Throws: `tooLarge` after 2^49 positions.
  package mutating func take() throws(StoreError) -> DocumentPosition {
    guard next < OrderedInteger.limit, let position = position(next) else {
      throw StoreError(.tooLarge, "no more documents can be placed in this collection")
    }
    next += 1
    last = position
    return position
  }
}
