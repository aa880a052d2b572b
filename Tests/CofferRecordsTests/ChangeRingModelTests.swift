import CofferRecords
import CofferTestSupport
import Testing

/// Compares rings after many commits with a model that keeps every generation.
struct ChangeRingModelTests {
  private typealias Entry = RingChanges.Entry

  /// A generation with its encoded length.
  private struct Generation {
    let mark: [UInt8]
    let changes: RingChanges

    var byteCount: Int {
      guard case .entries(let entries) = changes else { return 19 }
      return 18 + entries.map(Self.count).reduce(0, +)
    }

    private static func count(_ entry: RingChanges.Entry) -> Int {
      let collection = 1 + count(varint: Int64(entry.collection))
      guard entry.kind != .collection else { return collection }
      var sum = collection + count(varint: Int64(entry.ranges.count))
      for (index, ids) in entry.ranges.enumerated() {
        let end = index == 0 ? 0 : entry.ranges[index - 1].upperBound + 1
        sum += count(varint: ids.lowerBound - end) + count(varint: ids.upperBound - ids.lowerBound)
      }
      return sum
    }

    /// Returns the length of a varint, which has a byte for each 7 significant bits.
    private static func count(varint value: Int64) -> Int {
      max(1, (64 - value.leadingZeroBitCount + 6) / 7)
    }
  }

  /// Returns random changes, mostly short but sometimes longer than a ring.
  private func changes(_ random: inout Pseudorandom) -> RingChanges {
    let size = random.number(below: 40)
    if size == 0 { return .everything }
    let most = size == 1 ? 1200 : size < 5 ? 200 : 4
    var entries: [Entry] = []
    for kind: RingChanges.Kind in [.inserted, .textChanged, .headChanged, .moved, .deleted, .collection] {
      var collection = 0
      for _ in 0..<random.number(below: 3) {
        collection += 1 + random.number(below: random.number(below: 4) == 0 ? 100_000 : 3)
        guard kind != .collection else {
          entries.append(Entry(kind, in: UInt32(collection)))
          continue
        }
        var ranges: [ClosedRange<Int64>] = []
        var end: Int64 = 0
        for _ in 0...random.number(below: most) {
          let first = end + 1 + Int64(random.number(below: 1 << random.number(below: 40)))
          ranges.append(first...first + Int64(random.number(below: 1 << random.number(below: 20))))
          end = ranges.last!.upperBound + 1
        }
        entries.append(Entry(kind, in: UInt32(collection), ranges))
      }
    }
    return .entries(entries)
  }

  @Test(arguments: 0..<8)
  func keepsLatestFittingGenerations(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let first = UInt64(1 + random.number(below: 1 << 40))
    var ring = ChangeRing(smallAfter: first)
    var model: [Generation] = []
    for generation in first + 1...first + 120 {
      let changes = changes(&random)
      let mark = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      ring.append(generation, mark: mark, changes)
      let isTooLong = Generation(mark: mark, changes: changes).byteCount > RingBytes.count
      model.append(Generation(mark: mark, changes: isTooLong ? .everything : changes))
      var kept = model.count - 1
      while kept > 0, model[(kept - 1)...].map(\.byteCount).reduce(0, +) <= RingBytes.count { kept -= 1 }
      #expect(ring.known == first + 1 + UInt64(kept) && ring.generation == generation)
      #expect(ring.everyChange == model[kept...].map(\.changes))
      #expect(ring.mark(of: ring.known - 2) == nil && ring.mark(of: generation) == nil)
      if generation.isMultiple(of: 10) {
        #expect((ring.known - 1..<generation).map { ring.mark(of: $0) } == model[kept...].map(\.mark))
      }
      let earlier = ring.known - 1 + UInt64(random.number(below: model.count - kept + 1))
      #expect(ring.changes(after: earlier)?.map(\.generation) == (earlier..<generation).map { $0 + 1 })
      #expect(ring.changes(after: ring.known - 2) == nil)
      let later = model[(kept + Int(earlier - (ring.known - 1)))...].map(\.byteCount).reduce(0, +)
      #expect(ring.byteCount(after: earlier) == later && ring.byteCount(after: ring.known - 2) == nil)
      // A ring that is written and read accepts further changes like the original.
      let copy = try #require(RingBytes(ring).ring(known: ring.known, generation: generation))
      #expect(copy == ring)
      if generation.isMultiple(of: 3) { ring = copy }
    }
    ring.empty(after: first + 120)
    #expect(ring == ChangeRing(smallAfter: first + 120) && RingBytes(ring).bytes.allSatisfy { $0 == 0 })
  }

  /// A generation that fills the ring becomes its only entry. A generation longer by a byte becomes "everything".
  @Test func keepsExactlyFittingGeneration() {
    // The length is 18 and 4 bytes, 2 bytes for each range, and 3 bytes for the last range.
    func changes(_ count: Int, lastGap: Int64) -> RingChanges {
      var ranges = (0..<Int64(count)).map { 1 + 2 * $0...1 + 2 * $0 }
      let last = ranges[count - 1].lowerBound - 1 + lastGap
      ranges[count - 1] = last...last
      return .entries([Entry(.inserted, in: 1, ranges)])
    }
    let mark = [UInt8](repeating: 1, count: 16)
    var ring = ChangeRing(smallAfter: 1)
    ring.append(2, mark: mark, .entries([]))
    ring.append(3, mark: mark, changes(1013, lastGap: 1))
    #expect(ring.known == 3 && ring.everyChange == [changes(1013, lastGap: 1)])
    #expect(RingBytes(ring).bytes.last == 0 && RingBytes(ring).ring(known: 3, generation: 3) == ring)
    ring.append(4, mark: mark, changes(1013, lastGap: 128))
    #expect(ring.known == 4 && ring.everyChange == [.everything])
    ring.append(5, mark: mark, .everything)
    ring.append(6, mark: mark, .entries([Entry(.collection, in: 7)]))
    #expect(ring.known == 4 && ring.everyChange == [.everything, .everything, .entries([Entry(.collection, in: 7)])])
  }

  /// The ring holds as many commits with one changed document as the format promises.
  @Test func holdsTypicalCommits() {
    var ring = ChangeRing(after: 1)
    let mark = [UInt8](repeating: 0xff, count: 16)
    for generation in 2...1000 as ClosedRange<UInt64> {
      let id = 1_000_000 + Int64(generation) * 7
      let changes: RingChanges = .entries([
        Entry(.textChanged, in: 12, [id...id]), Entry(.headChanged, in: 12, [id...id]),
      ])
      ring.append(generation, mark: mark, changes)
    }
    #expect(ring.generation - ring.known + 1 == 183)
  }
}
