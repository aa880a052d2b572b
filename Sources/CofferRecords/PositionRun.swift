package import CofferDocuments

/// A level of a position: an order-preserving number, three random bytes that name a run, and the place in the run
/// (FORMAT, "Positions").
struct PositionLevel: Equatable {
  static let tagCount = 3

  var number: Int64
  var tag: [UInt8]
  var place: Int64

  /// Parses the levels of a position, or returns `nil` if another program chose the bytes in another way.
  static func levels(of position: DocumentPosition?) -> [PositionLevel]? {
    guard let position else { return [] }
    return position.withBytes { bytes -> [PositionLevel]? in
      var levels: [PositionLevel] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        guard let number = OrderedInteger.parse(&rest), rest.count > tagCount else { return nil }
        let tag = Array(rest.prefix(tagCount))
        rest = rest.dropFirst(tagCount)
        guard let place = OrderedInteger.parse(&rest) else { return nil }
        levels.append(PositionLevel(number: number, tag: tag, place: place))
      }
      return levels
    }
  }

  func append(to bytes: inout [UInt8]) {
    OrderedInteger.append(number, to: &bytes)
    bytes += tag
    OrderedInteger.append(place, to: &bytes)
  }
}

/// An integer of 1 to 7 bytes whose bytewise order is its order. No encoding is the beginning of another.
enum OrderedInteger {
  /// The least number above those that have an encoding. The least of all is the complement of the greatest.
  static let limit: Int64 = 1 << 49
  static let maximumCount = 7
  /// The number of bytes, the first bits of the first byte, and the number of other bits.
  private static let forms: [(count: Int, head: UInt64, bits: Int)] = [
    (1, 0x80, 6), (2, 0xC0, 13), (3, 0xE0, 20), (4, 0xF0, 27), (5, 0xF8, 34), (7, 0xFC, 49),
  ]

  /// Appends a number in -2^49 ..< 2^49.
  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    let mask: UInt8 = number < 0 ? 0xFF : 0
    let value = UInt64(number < 0 ? ~number : number)
    let form = forms.first { value < 1 << $0.bits } ?? forms[forms.count - 1]
    let whole = form.head << (8 * (form.count - 1)) | value
    for index in (0..<form.count).reversed() { bytes.append(UInt8(truncatingIfNeeded: whole >> (8 * index)) ^ mask) }
  }

  /// Removes a number from the beginning of `bytes`, or returns `nil` if there is none.
  static func parse(_ bytes: inout Slice<UnsafeRawBufferPointer>) -> Int64? {
    guard let first = bytes.first else { return nil }
    let mask: UInt8 = first < 0x80 ? 0xFF : 0
    let head = UInt64(first ^ mask)
    guard head < 0xFE, let form = forms.last(where: { head >= $0.head }), bytes.count >= form.count else { return nil }
    var whole: UInt64 = 0
    for byte in bytes.prefix(form.count) { whole = whole << 8 | UInt64(byte ^ mask) }
    bytes = bytes.dropFirst(form.count)
    let value = Int64(whole & (1 << UInt64(form.bits) - 1))
    return mask == 0 ? value : ~value
  }
}

/// The positions of consecutive documents, which stay together when other replicas place documents there too.
package struct PositionRun {
  /// The distance between the numbers at an open end. It leaves room for 12 halvings before a level is added.
  private static let step: Int64 = 4096

  private let beginning: [UInt8]
  private var next: Int64

  /// Creates a run between two positions; `nil` is an end of the collection.
  ///
  /// - Parameters:
  ///   - continuing: Whether `left` is the last position that this store made, so the run of `left` can go on.
  ///   - tag: Three random bytes for a new run.
  ///   - count: The number of positions that the run must provide, or `nil` for any number.
  ///   - length: The maximum number of bytes of each position.
  /// - Returns: `nil` if there's no place of that length, or another program chose the neighbors in another way.
  package init?(
    between left: DocumentPosition?, and right: DocumentPosition?, continuing: Bool = false, tag: [UInt8],
    count: Int? = nil, length: Int = DocumentPosition.maximumCount
  ) {
    let greatest = count.map { Int64(max(0, $0 - 1)) }
    guard let lower = PositionLevel.levels(of: left) else { return nil }
    if continuing, let level = lower.last {
      self.init(after: lower.dropLast(), level.number, level.tag, from: level.place + 1)
      if fits(left, right, greatest, length) { return }
    }
    guard let upper = PositionLevel.levels(of: right) else { return nil }
    var (low, high) = (lower[...], upper[...])
    var above: [PositionLevel] = []
    // Find the topmost level with room.
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
    self.init(after: above[...], number, tag, from: 0)
    guard fits(left, right, greatest, length) else { return nil }
  }

  private init(after levels: ArraySlice<PositionLevel>, _ number: Int64, _ tag: [UInt8], from next: Int64) {
    var bytes: [UInt8] = []
    for level in levels { level.append(to: &bytes) }
    OrderedInteger.append(number, to: &bytes)
    beginning = bytes + tag
    self.next = next
  }

  /// The first run of an empty collection.
  package init(tag: [UInt8]) {
    self.init(after: [], 0, tag, from: 0)
  }

  /// Returns whether the run's first and last positions are between the neighbors. Positions that another program chose
  /// are compared too, so a run never depends on their form.
  private func fits(
    _ left: DocumentPosition?, _ right: DocumentPosition?, _ greatest: Int64?, _ length: Int
  ) -> Bool {
    let last = greatest.map { next + $0 } ?? OrderedInteger.limit - 1
    guard last < OrderedInteger.limit, let first = position(next), let end = position(last) else { return false }
    return left.map { $0 < first } ?? true && right.map { end < $0 } ?? true && end.bytes.count <= length
  }

  private func position(_ place: Int64) -> DocumentPosition? {
    var bytes = beginning
    bytes.reserveCapacity(bytes.count + OrderedInteger.maximumCount)
    OrderedInteger.append(place, to: &bytes)
    return bytes.withUnsafeBytes { DocumentPosition(copying: $0) }
  }

  /// Returns the next position.
  ///
  /// - Throws: `tooLarge` after 2^49 positions.
  package mutating func take() throws(StoreError) -> DocumentPosition {
    guard next < OrderedInteger.limit, let position = position(next) else {
      throw StoreError(.tooLarge, "no more documents can be placed in this collection")
    }
    next += 1
    return position
  }
}
