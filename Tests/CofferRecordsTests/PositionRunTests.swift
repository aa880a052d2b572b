import CofferDocuments
import CofferMergeModel
import CofferTestSupport
import Testing

@testable import CofferRecords

/// Positions and the runs that they belong to (FORMAT, "Positions").
struct PositionRunTests {
  private static let tag = PositionTag([0xAA, 0xBB, 0xCC])

  private func run(_ left: DocumentPosition?, _ right: DocumentPosition?, _ tag: PositionTag = tag) throws
    -> PositionRun
  {
    try #require(PositionRun(between: left, and: right, tag: tag, count: 1))
  }

  private func between(_ left: DocumentPosition?, _ right: DocumentPosition?) throws -> DocumentPosition {
    var run = try run(left, right)
    return try run.take()
  }

  /// The encodings of the first and last number of each length.
  @Test(arguments: [
    (0, "80"), (63, "bf"), (64, "c040"), (8191, "dfff"), (8192, "e02000"), (1 << 20 - 1, "efffff"),
    (1 << 20, "f0100000"), (1 << 27 - 1, "f7ffffff"), (1 << 27, "f808000000"), (1 << 34 - 1, "fbffffffff"),
    (1 << 34, "fc000400000000"), (1 << 49 - 1, "fdffffffffffff"), (-1, "7f"), (-64, "40"), (-65, "3fbf"),
    (-(1 << 49), "02000000000000"),
  ])
  func encodesOrderedInteger(_ number: Int, _ digits: String) {
    var bytes: [UInt8] = []
    OrderedInteger.append(Int64(number), to: &bytes)
    #expect(Hexadecimal.text(bytes) == digits)
    bytes.append(7)
    var rest = bytes[...]
    #expect(OrderedInteger.parse(&rest) == Int64(number) && rest == [7])
  }

  @Test func orderedIntegersSortByBytes() {
    var source = Pseudorandom(seed: 5)
    let numbers = (0..<2000).map { _ in Int64.random(in: -(1 << 49)..<1 << 49, using: &source) >> (source.next() % 49) }
    let encoded = numbers.sorted().map { number in
      var bytes: [UInt8] = []
      OrderedInteger.append(number, to: &bytes)
      return bytes
    }
    for (one, next) in zip(encoded, encoded.dropFirst()) {
      #expect(one == next || one.lexicographicallyPrecedes(next))
    }
  }

  @Test func followsRulesOfLevels() throws {
    var beginning = try run(nil, nil)
    let first = try beginning.take()
    #expect(first.description == "80aabbcc80")
    #expect(try between(first, nil).description == "d000aabbcc80")
    #expect(try between(nil, first).description == "3000aabbcc80")
    #expect(beginning.continues(between: first, and: nil, count: 1))
    #expect(try beginning.take().description == "80aabbcc81")
    #expect(!beginning.continues(between: first, and: nil, count: 1))
    let last = try between(first, nil)
    let middle = try between(first, last)
    #expect(middle.description == "c800aabbcc80")
    // No number is between 0 and 1, so the position gets a level below the left neighbor.
    let next = try #require(DocumentPosition([0x81, 1, 2, 3, 0x80]))
    #expect(try between(first, next).description == "80aabbcc8080aabbcc80")
    #expect(try between(first, try between(first, next)).description == "80aabbcc803000aabbcc80")
  }

  /// Even seeds insert at random places and continue their own runs, odd ones always in the middle.
  @Test(arguments: 0..<20) func randomInsertionsKeepOrder(_ seed: UInt64) throws {
    var source = Pseudorandom(seed: seed)
    var row: [DocumentPosition] = []
    var last: PositionRun?
    for _ in 0..<400 {
      let isRandom = seed % 2 == 0
      let index = isRandom ? Int.random(in: 0...row.count, using: &source) : row.count / 2
      let (left, right) = (index > 0 ? row[index - 1] : nil, index < row.count ? row[index] : nil)
      let tag = PositionTag((0..<3).map { _ in UInt8.random(in: 0...255, using: &source) })
      var run = try run(left, right, tag)
      if isRandom, let last, last.continues(between: left, and: right, count: 1) { run = last }
      let new = try run.take()
      #expect(left.map { $0 < new } ?? true && right.map { new < $0 } ?? true)
      row.insert(new, at: index)
      last = run
    }
    #expect(row.allSatisfy { $0.bytes.count <= (seed % 2 == 0 ? 40 : 200) })
  }

  /// Random bytes as neighbors: a run is between them, or there's none.
  @Test(arguments: 0..<20) func foreignNeighborsBoundRun(_ seed: UInt64) throws {
    var source = Pseudorandom(seed: seed)
    func neighbor() -> DocumentPosition? {
      let count = Int.random(in: 0...9, using: &source)
      let bytes = (0..<count).map { _ in
        source.next() % 2 == 0 ? UInt8(0x80) : UInt8.random(in: 0...255, using: &source)
      }
      return DocumentPosition(bytes)
    }
    for _ in 0..<2000 {
      let (one, other) = (neighbor(), neighbor())
      let (left, right) = one != nil && other != nil && other! < one! ? (other, one) : (one, other)
      let count = source.next() % 2 == 0 ? 1000 : nil
      guard var run = PositionRun(between: left, and: right, tag: Self.tag, count: count) else { continue }
      var previous = left
      for _ in 0..<3 {
        let new = try run.take()
        #expect(previous.map { $0 < new } ?? true && right.map { new < $0 } ?? true)
        previous = new
      }
    }
  }

  /// Random insertions get the positions that the model of the merge gives them.
  @Test(arguments: 0..<20) func agreesWithModel(_ seed: UInt64) throws {
    var source = Pseudorandom(seed: seed)
    var row: [Position] = []
    var (last, lastRun): (Position?, PositionRun?) = (nil, nil)
    for _ in 0..<200 {
      let index = Int.random(in: 0...row.count, using: &source)
      let (left, right) = (index > 0 ? row[index - 1] : nil, index < row.count ? row[index] : nil)
      let count = Int.random(in: 1...3, using: &source)
      let number = source.next()
      // The model takes the tag from the upper 24 bits of its generator's next number.
      var drawn = SeededGenerator(seed: number).next()
      let tag = PositionTag(
        (0..<3).map { _ in
          defer { drawn <<= 8 }
          return UInt8(drawn >> 56)
        })
      let continues = left != nil && left == last && source.next() % 2 == 0
      let expected = Position.between(
        left, right, count: count, continuesRun: continues, using: SeededGenerator(seed: number))
      let neighbors = [left, right].map { $0.flatMap { DocumentPosition($0.bytes) } }
      var run: PositionRun
      if continues, let lastRun, lastRun.continues(between: neighbors[0], and: neighbors[1], count: count) {
        run = lastRun
      } else {
        run = try #require(PositionRun(between: neighbors[0], and: neighbors[1], tag: tag, count: count))
      }
      for position in expected { #expect(try run.take().bytes == position.bytes) }
      row.insert(contentsOf: expected, at: index)
      (last, lastRun) = (expected.last, run)
    }
  }

  @Test func comparesPositionsBytewise() throws {
    var source = Pseudorandom(seed: 9)
    for _ in 0..<5000 {
      let beginning = (0..<Int.random(in: 0...20, using: &source)).map { _ in UInt8(0) }
      let pair = (0..<2).map { _ in
        beginning + (0..<Int.random(in: 1...3, using: &source)).map { _ in UInt8.random(in: 0...1, using: &source) }
      }
      let positions = try pair.map { try #require(DocumentPosition($0)) }
      #expect((positions[0] < positions[1]) == pair[0].lexicographicallyPrecedes(pair[1]))
      #expect((positions[0] == positions[1]) == (pair[0] == pair[1]) && positions.map(\.bytes) == pair)
    }
    #expect(DocumentPosition([]) == nil && DocumentPosition(Array(repeating: 1, count: 256)) == nil)
  }
}
