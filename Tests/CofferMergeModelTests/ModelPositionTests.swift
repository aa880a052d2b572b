import Testing

@testable import CofferMergeModel

@Suite struct ModelPositionTests {
  @Test func encodedNumbersKeepTheirOrder() {
    let magnitudes = Set((0..<49).map { 1 << $0 }.flatMap { (power: Int) in [power - 1, power] })
    let numbers = magnitudes.flatMap { (number: Int) in [number, ~number] }.sorted()
    let encoded = numbers.map(OrderedInteger.bytes)
    for (bytes, next) in zip(encoded, encoded.dropFirst()) {
      #expect(bytes.lexicographicallyPrecedes(next))
    }
    for (number, bytes) in zip(numbers, encoded) {
      var rest = (bytes + [7])[...]
      #expect(OrderedInteger.read(from: &rest) == number)
      #expect(rest == [7])
    }
  }

  @Test(arguments: Histories.seeds)
  func positionsAreBetweenTheirNeighbours(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var row: [Position] = []
    var latest: Position?
    for _ in 0..<100 {
      let index = Int.random(in: 0...row.count, using: &generator)
      let left = index > 0 ? row[index - 1] : nil
      let new = Position.between(
        left, index < row.count ? row[index] : nil, count: Int.random(in: 1...3, using: &generator),
        continuesRun: left == latest, using: generator)
      row.insert(contentsOf: new, at: index)
      latest = new.last
    }
    #expect(zip(row, row.dropFirst()).allSatisfy { $0 < $1 })
    #expect(row.allSatisfy { Position(levels: $0.levels) == $0 })
  }

  @Test func typingKeepsPositionsShort() {
    let generator = SeededGenerator(seed: 1)
    let end = Position.between(nil, nil, count: 1, continuesRun: false, using: generator)[0]
    var latest: Position?
    for _ in 0..<1000 {
      latest = Position.between(latest, end, count: 1, continuesRun: latest != nil, using: generator).last
    }
    #expect(latest.map { $0.bytes.count <= 8 } == true)
  }
}
