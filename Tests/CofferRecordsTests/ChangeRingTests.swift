import CofferRecords
import Testing

/// Tests rings encoded by hand from the format page's grammar.
struct ChangeRingTests {
  private static let mark = "000102030405060708090a0b0c0d0e0f"
  private static let markBytes = [UInt8](0...15)

  private typealias Entry = RingChanges.Entry

  // MARK: Encoded by hand

  /// Rings with one generation, and their changes.
  private static let vectors: [(hex: String, changes: RingChanges)] = [
    ("\(mark) 0000", .entries([])),
    ("\(mark) 0001 07", .everything),
    // Inserted in collection 1, with one range that starts 7 after 0 and has 2 more IDs.
    ("\(mark) 0001 01 01 01 0702", .entries([Entry(.inserted, in: 1, [7...9])])),
    // A varint of two bytes is 300 = 0x2c | 2 << 7. The second range starts 2 after the first range's end, 129, and has
    // 127 more IDs.
    (
      "\(mark) 0002 01 01 01 0702  04 ac02 02 800100 027f",
      .entries([Entry(.inserted, in: 1, [7...9]), Entry(.moved, in: 300, [128...128, 131...258])])
    ),
    // A document in 2, 3 and 4, and another moved from collection 2 to 3.
    (
      "\(mark) 0006 01 03 01 0800  02 02 01 0700  03 02 01 0700  04 02 01 0700  05 02 01 0800  06 03",
      .entries([
        Entry(.inserted, in: 3, [8...8]), Entry(.textChanged, in: 2, [7...7]), Entry(.headChanged, in: 2, [7...7]),
        Entry(.moved, in: 2, [7...7]), Entry(.deleted, in: 2, [8...8]), Entry(.collection, in: 3),
      ])
    ),
    // The highest collection, 2^31 − 1, and the highest ID, 2^63 − 2.
    (
      "\(mark) 0002 05 ffffffff07 01 feffffffffffffff7f00  06 ffffffff07",
      .entries([
        Entry(.deleted, in: 0x7fff_ffff, [0x7fff_ffff_ffff_fffe...0x7fff_ffff_ffff_fffe]),
        Entry(.collection, in: 0x7fff_ffff),
      ])
    ),
    // All possible IDs, 2^63 − 3 more than the first.
    (
      "\(mark) 0001 01 01 01 01 fdffffffffffffff7f",
      .entries([Entry(.inserted, in: 1, [1...0x7fff_ffff_ffff_fffe])])
    ),
  ]

  @Test(arguments: vectors.indices)
  func readsGrammarVectors(_ index: Int) throws {
    let (hex, changes) = Self.vectors[index]
    let ring = try #require(RingBytes(hex).ring(known: 9, generation: 9))
    #expect(ring.everyChange == [changes])
    #expect(ring.mark(of: 8) == Self.markBytes)
  }

  @Test(arguments: vectors.indices)
  func writesGrammarVectors(_ index: Int) {
    let (hex, changes) = Self.vectors[index]
    var ring = ChangeRing(smallAfter: 8)
    // The ring keeps half of a mark's 32 bytes.
    ring.append(9, mark: Self.markBytes + [UInt8](repeating: 0xaa, count: 16), changes)
    #expect(RingBytes(ring).bytes == RingBytes(hex).bytes)
    #expect(ring == RingBytes(hex).ring(known: 9, generation: 9))
  }

  @Test func emptyRingBeginsAfterState() throws {
    let ring = try #require(RingBytes("").ring(known: 2, generation: 1))
    #expect(ring == ChangeRing(smallAfter: 1) && ring.known == 2)
    #expect(ring.changes(after: 1)?.count == 0 && ring.changes(after: 0) == nil && ring.changes(after: 2) == nil)
    #expect(ring.mark(of: 0) == nil && ring.mark(of: 1) == nil && ring.mark(of: 2) == nil)
  }

  @Test func readsSeveralGenerations() throws {
    let other = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
    let bytes = RingBytes("\(Self.mark) 0001 06 02  \(other) 0000  \(Self.mark) 0001 02 01 01 0500")
    let ring = try #require(bytes.ring(known: 40, generation: 42))
    let all: [RingChanges] = [
      .entries([Entry(.collection, in: 2)]), .entries([]), .entries([Entry(.textChanged, in: 1, [5...5])]),
    ]
    #expect(ring.everyChange == all && RingBytes(ring).bytes == bytes.bytes)
    #expect(ring.changes(after: 38) == nil && ring.changes(after: 0) == nil && ring.changes(after: 43) == nil)
    for earlier in 39...42 {
      let changes = try #require(ring.changes(after: UInt64(earlier)))
      #expect(changes.map(\.generation) == (earlier..<42).map { UInt64($0 + 1) })
      #expect(changes.map(\.changes) == Array(all[(earlier - 39)...]))
    }
    #expect(ring.mark(of: 38) == nil && ring.mark(of: 42) == nil && ring.mark(of: .max) == nil)
    #expect(ring.mark(of: 39) == Self.markBytes && ring.mark(of: 41) == Self.markBytes)
    #expect(ring.mark(of: 40) == (0xf0...0xff).map { UInt8($0) })
  }

  /// Tests the format page's example.
  @Test func roundTripsFormatPageRing() throws {
    func mark(_ first: UInt8) -> [UInt8] { (first...first + 15).map { $0 } }
    let bytes = RingBytes(
      """
      a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 aa ab ac ad ae af  00 02  01 02 01  ac 02 04  04 01 02  07 00  01 01
      b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 ba bb bc bd be bf  00 00
      c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 ca cb cc cd ce cf  00 01  07
      """)
    let changes: [RingChanges] = [
      .entries([Entry(.inserted, in: 2, [300...304]), Entry(.moved, in: 1, [7...7, 9...10])]), .entries([]),
      .everything,
    ]
    var ring = ChangeRing(smallAfter: 5)
    ring.append(6, mark: mark(0xa0), changes[0])
    ring.append(7, mark: mark(0xb0), changes[1])
    ring.append(8, mark: mark(0xc0), changes[2])
    #expect(RingBytes(ring).bytes == bytes.bytes && bytes.ring(known: 6, generation: 8) == ring)
    #expect(ring.everyChange == changes && ring.mark(of: 4) == nil && ring.mark(of: 5) == mark(0xa0))
  }

  // MARK: Ill-formed

  private static let sound = "\(mark) 0002 01 01 01 0702  04 ac02 02 800100 027f"
  /// Invalid rings with one generation.
  private static let illFormed: [(fault: String, hex: String)] = [
    ("kind 0", "\(mark) 0001 00 01 01 0100"),
    ("kind 8", "\(mark) 0001 08 01 01 0100"),
    ("an entry more than there are", "\(mark) 0003 01 01 01 0702  04 ac02 02 800100 027f"),
    ("an entry less than there are", "\(mark) 0001 01 01 01 0702  04 ac02 02 800100 027f"),
    ("a byte behind", "\(sound) 01"),
    ("a byte at the end", sound + String(repeating: "00", count: 2048 - 34) + "80"),
    ("everything and another entry", "\(mark) 0002 06 01 07"),
    ("everything before another entry", "\(mark) 0002 07 06 01"),
    ("everything twice", "\(mark) 0002 07 07"),
    ("kinds that fall", "\(mark) 0002 02 01 01 0100  01 02 01 0200"),
    ("collections that fall", "\(mark) 0002 01 02 01 0100  01 01 01 0200"),
    ("an entry twice", "\(mark) 0002 01 01 01 0100  01 01 01 0200"),
    ("a collection twice", "\(mark) 0002 06 01 06 01"),
    ("collection 0", "\(mark) 0001 01 00 01 0100"),
    ("collection 0 changed", "\(mark) 0001 06 00"),
    ("collection 2^31", "\(mark) 0001 06 8080808008"),
    ("collection 2^32 + 1", "\(mark) 0001 06 8180808010"),
    ("no range", "\(mark) 0001 01 01 00"),
    ("id 0", "\(mark) 0001 01 01 01 0000"),
    ("ranges that touch", "\(mark) 0001 01 01 02 0100 0000"),
    ("id 2^63 - 1", "\(mark) 0001 01 01 01 ffffffffffffffff7f00"),
    ("a range that ends at 2^63 - 1", "\(mark) 0001 01 01 01 01 feffffffffffffff7f"),
    ("ids that overflow", "\(mark) 0001 01 01 02 01 fdffffffffffffff7f ffffffffffffffff7f ffffffffffffffff7f"),
    ("a varint of ten bytes", "\(mark) 0001 01 01 01 ffffffffffffffffff0100"),
    ("a varint of 2^63", "\(mark) 0001 01 01 01 8080808080808080800100"),
    ("a collection not in its shortest form", "\(mark) 0001 06 8100"),
    ("a zero not in its shortest form", "\(mark) 0001 01 01 01 018000"),
    ("a number of ranges not in its shortest form", "\(mark) 0001 01 01 8100 0100"),
    ("an id not in its shortest form", "\(mark) 0001 01 01 01 87800002"),
    ("more ranges than bytes", "\(mark) 0001 01 01 ffffffffffffffff7f 0100"),
  ]

  @Test(arguments: illFormed.indices)
  func rejectsIllFormedRing(_ index: Int) {
    let (fault, hex) = Self.illFormed[index]
    let bytes = RingBytes(hex)
    #expect(bytes.bytes.count == RingBytes.count, "\(fault)")
    #expect(bytes.ring(known: 9, generation: 9) == nil, "\(fault)")
  }

  @Test func rejectsWrongGenerationCount() {
    let bytes = RingBytes(Self.sound)
    for generation in [9, 1 << 62, UInt64.max] {
      #expect(bytes.ring(known: generation, generation: generation)?.everyChange?.count == 1)
    }
    for (known, generation): (UInt64, UInt64) in [
      (0, 0), (0, 9), (1, 0), (1, 1), (2, 1), (10, 9), (11, 9), (9, 8), (9, 7), (9, 1 << 62), (2, .max), (0, .max),
      (.max, .max - 1), (.max, .max - 2),
    ] {
      #expect(bytes.ring(known: known, generation: generation) == nil)
    }
    // 18 zero bytes are also a generation, following a state with zeros at the start of its mark.
    #expect(bytes.ring(known: 9, generation: 10)?.mark(of: 9) == [UInt8](repeating: 0, count: 16))
    #expect(RingBytes("").ring(known: 1, generation: 0) == nil)
  }

  @Test func rejectsTruncatedRecord() {
    let mark = String(repeating: "ff", count: 16)
    let last = RingBytes("\(mark) 0002 05 01 02 808080808001 8101 8001 00 06 8001").bytes.prefix(35)
    for cut in 0...last.count {
      // Fill the record with ranges of a single ID. A gap of 128 takes one more byte.
      let count = RingBytes.count - last.count + cut
      let ranges = (count - 22) / 2
      var bytes = RingBytes("\(Self.mark) 0001 01 01").bytes.prefix(20)
      bytes += [UInt8(ranges & 0x7f) | 0x80, UInt8(ranges >> 7)] + (count.isMultiple(of: 2) ? [1, 0] : [0x80, 1, 0])
      for _ in 1..<ranges { bytes += [1, 0] }
      #expect(bytes.count == count)
      var ring = RingBytes("")
      ring.bytes = Array(bytes + last.prefix(last.count - cut))
      #expect((ring.ring(known: 9, generation: 10) != nil) == (cut == 0))
      #expect((ring.ring(known: 9, generation: 9) != nil) == (cut == last.count))
    }
  }
}
