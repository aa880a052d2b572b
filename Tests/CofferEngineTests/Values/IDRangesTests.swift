import CofferTestSupport
import Testing

@testable import CofferEngine

struct IDRangesTests {
  @Test func containsInsertedRanges() {
    var ranges = IDRanges()
    #expect(!ranges.contains(5))
    for range in [10...20, Int64.min...3, 30...Int64.max, 25...25] as [ClosedRange<Int64>] { ranges.insert(range) }
    for id in [Int64.min, 3, 10, 15, 20, 25, 30, .max] { #expect(ranges.contains(id), "\(id)") }
    for id in [Int64(4), 9, 21, 24, 26, 29] { #expect(!ranges.contains(id), "\(id)") }
  }

  @Test func forgetsRangesBeyondLimit() {
    var ranges = IDRanges()
    var random = Pseudorandom(seed: 1)
    for id in (0..<5000).map(Int64.init).shuffled(using: &random) { ranges.insert(2 * id...2 * id) }
    #expect((0..<5000).count { ranges.contains(2 * $0) } == 5000 % 1024)
    #expect(!(0..<5000).contains { ranges.contains(2 * $0 + 1) })
  }
}
