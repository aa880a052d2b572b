import CofferSealing
import Testing

@Suite struct SetHashTests {
  private func hash(_ hex: String) -> SetHash {
    SetHash(Hex(String(repeating: "0", count: 64 - hex.count) + hex).bytes)
  }

  private let elements: [SetHash] = (0..<20).map { number in
    SetHash(try! sha256([UInt8(number)]))
  }

  @Test func aMissingReplayedOrChangedElementShows() {
    var whole = SetHash()
    for element in elements { whole.add(element) }
    var missing = whole
    missing.subtract(elements[3])
    var replayed = missing
    replayed.add(elements[4])
    var twice = whole
    twice.add(elements[3])
    #expect(Set([whole, missing, replayed, twice]).count == 4)
  }

  @Test func orderDoesNotMatter() {
    var forward = SetHash()
    var backward = SetHash()
    for element in elements { forward.add(element) }
    for element in elements.reversed() { backward.add(element) }
    #expect(forward == backward && forward.bytes == backward.bytes)
  }

  @Test func whatComesInAndGoesOutLeavesNothing() {
    var sum = SetHash()
    for element in elements { sum.add(element) }
    for element in elements.reversed() { sum.subtract(element) }
    #expect(sum == SetHash() && sum.bytes == [UInt8](repeating: 0, count: 32))
  }

  @Test func subtractingFromNothingWrapsAround() {
    var sum = SetHash()
    sum.subtract(hash("1"))
    #expect(sum.bytes == [UInt8](repeating: 0xFF, count: 32))
    sum.add(hash("1"))
    #expect(sum == SetHash())
  }

  @Test func carriesPassEveryWord() {
    for (before, after) in [
      ("ffffffffffffffff", "10000000000000000"),
      ("ffffffffffffffffffffffffffffffff", "100000000000000000000000000000000"),
      (String(repeating: "f", count: 48), "1" + String(repeating: "0", count: 48)),
      (String(repeating: "f", count: 64), "0"),
    ] {
      var sum = hash(before)
      sum.add(hash("1"))
      #expect(sum == hash(after))
      sum.subtract(hash("1"))
      #expect(sum == hash(before))
    }
  }

  @Test func aCarryIntoAFullWordIsKept() {
    // The second word is full of ones on one side, so that only the carry from the last makes it overflow.
    var sum = hash("ffffffffffffffff8000000000000000")
    sum.add(hash("8000000000000000"))
    #expect(sum == hash("100000000000000000000000000000000"))
  }

  @Test func bytesAreReadAndWrittenBigEndian() {
    let bytes = (0..<32).map { UInt8($0) }
    #expect(SetHash(bytes).bytes == bytes)
    #expect(hash("1").bytes == [UInt8](repeating: 0, count: 31) + [1])
  }
}
