import CofferDocuments
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFormats
@testable import CofferPropertyLists

/// A valid or invalid binary property list assembled from objects.
struct BinaryList {
  var objects: [[UInt8]]
  var top = 0
  var offsetSize = 2
  var referenceSize = 1
  var count: Int?
  var table: Int?

  init(_ objects: [[UInt8]], top: Int = 0) {
    self.objects = objects
    self.top = top
  }

  var bytes: [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      bytes += object
    }
    let table = bytes.count
    for offset in offsets { bytes += Self.number(offset, offsetSize) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    return bytes + Self.number(count ?? objects.count, 8) + Self.number(top, 8) + Self.number(self.table ?? table, 8)
  }

  static func number(_ value: Int, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  static func ascii(_ text: String) -> [UInt8] {
    text.utf8.count < 15
      ? [0x50 | UInt8(text.utf8.count)] + text.utf8 : [0x5F, 0x10, UInt8(text.utf8.count)] + text.utf8
  }
}

@Suite struct BinaryPropertyListTests {
  private func source(_ list: BinaryList, options: ReadingOptions = ReadingOptions()) -> PropertyListSource {
    PropertyListSource(MemoryByteSource(list.bytes), options: options)
  }

  private func json(_ objects: [UInt8]...) throws -> [String] {
    try drafts(source(BinaryList(objects))).map(\.text)
  }

  private func fault(_ objects: [UInt8]...) -> FormatError? {
    failure(source(BinaryList(objects)))
  }

  // MARK: Malformed input

  @Test(
    arguments: [
      [0x01], [0x07], [0x0A], [0x0C], [0x0F], [0x15, 0], [0x20], [0x24], [0x30, 0, 0, 0, 0, 0, 0, 0, 0], [0x70], [0x90],
      [0xE0], [0xFF], [0x10], [0x11, 0], [0x13, 0, 0, 0, 0, 0, 0, 0], [0x14, 0], [0x22, 0, 0, 0], [0x23, 0], [0x33, 0],
      [0x42, 0], [0x52, 0x41], [0x51, 0x80], [0x61, 0], [0x61, 0xD8, 0], [0x61, 0xDC, 0], [0x62, 0xD8, 0, 0, 0x41],
      [0x4F], [0x4F, 0x00], [0x4F, 0x20, 0], [0x4F, 0x14, 0],
      [0x4F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [0xAF, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 0], [0xA1], [0xA1, 1], [0xA1, 0xFF], [0xA1, 0], [0xC1, 0], [0xD1, 0],
      [0xD1, 0, 0],
      [0x80], [0x8F] + [UInt8](repeating: 1, count: 16),
      [0x33, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0], [0x33, 0x42, 0x50, 0, 0, 0, 0, 0, 0],
    ] as [[UInt8]])
  func rejectsInvalidObject(object: [UInt8]) {
    let error = fault(object)
    #expect(error?.code == .malformed || error?.code == .undecodable)
    #expect(error?.location?.byteOffset != nil)
    #expect(error?.location?.line == nil)
  }

  /// Refers to a missing object, an invalid object and an object that contains itself.
  @Test(arguments: [9, 5, 6]) func skipsOnlyInvalidElement(reference: UInt8) throws {
    let list = BinaryList([
      [0xA3, 1, reference, 2], [0xD1, 3, 4], [0xD1, 3, 3], BinaryList.ascii("a"), [0x09], [0x70], [0xD1, 3, 6],
    ])
    let rejections = Rejections()
    #expect(try drafts(source(list, options: rejections.options())).map(\.text) == ["{\"a\":true}", "{\"a\":\"a\"}"])
    #expect(rejections.all.map(\.record) == [2])
    #expect(failure(source(list)) == rejections.all.first?.error)
  }

  /// After a file exceeds its budget, copying stops.
  @Test(.slow) func skipsRecordsBeyondBudget() throws {
    var list = BinaryList([
      [0xAF, 0x12, 0, 1, 0x86, 0xA0] + [UInt8](repeating: 1, count: 100_000), [0xD1, 2, 3], BinaryList.ascii("k"),
      [0x5F, 0x12, 0, 0x10, 0, 0] + [UInt8](repeating: 0x79, count: 1 << 20),
    ])
    list.offsetSize = 4
    let rejections = Rejections()
    let read = try drafts(source(list, options: rejections.options()))
    #expect(read.count + rejections.all.count == 100_000)
    #expect((80..<100).contains(read.count))
    #expect(rejections.all.allSatisfy { $0.error.code == .tooLarge })
  }

  @Test func reportsExactErrorLocation() {
    let error = fault([0xA2, 1, 2], [0x09], [0x62, 0, 0x41, 0xDC, 0])
    #expect(error?.location == InputLocation(record: 1, line: nil, column: nil, byteOffset: 15))
    #expect(error?.description == "an unpaired surrogate (record 1, byte 15)")
  }

  @Test func requiresUniqueStringKeys() {
    #expect(fault([0xD1, 1, 1], [0x09])?.code == .malformed)
    #expect(fault([0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09])?.code == .malformed)
    #expect(fault([0xD2, 1, 3, 2, 2], [0x51, 0x61], [0x09], [0x61, 0, 0x61])?.code == .malformed)
  }

  @Test func rejectsInvalidTrailer() {
    let good = BinaryList([[0x09]])
    #expect(failure(source(good)) == nil)
    func changed(_ change: (inout BinaryList) -> Void) -> FormatError.Code? {
      var list = good
      change(&list)
      return failure(source(list))?.code
    }
    #expect(changed { $0.top = 1 } == .malformed)
    #expect(changed { $0.top = -1 } == .malformed)
    #expect(changed { $0.count = 0 } == .malformed)
    #expect(changed { $0.count = 2 } == .malformed)
    #expect(changed { $0.count = -1 } == .malformed)
    #expect(changed { $0.count = 1 << 62 } == .malformed)
    #expect(changed { $0.table = 8 } == .malformed)
    #expect(changed { $0.table = 0 } == .malformed)
    #expect(changed { $0.table = -1 } == .malformed)
    #expect(changed { $0.offsetSize = 0 } == .malformed)
    #expect(changed { $0.offsetSize = 9 } == .malformed)
    #expect(changed { $0.referenceSize = 0 } == .malformed)
    #expect(changed { $0.referenceSize = 9 } == .malformed)
  }

  @Test(arguments: ["bplist", "bplist0", "bplist01", "bplist15", "bplist1x"])
  func rejectsOtherVersions(magic: String) {
    let bytes = Array(magic.utf8) + BinaryList([[0x09]]).bytes.dropFirst(8)
    #expect(failure(PropertyListSource(MemoryByteSource(bytes)))?.code == .malformed)
  }

  @Test func rejectsEveryTruncation() throws {
    let value: [String: Any] = [
      "a": [1, "b", "ü", Data([0, 1])], "c": ["d": 1.5, "e": Date(timeIntervalSince1970: 0)],
    ]
    let bytes = [UInt8](try PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0))
    #expect(try drafts(PropertyListSource(MemoryByteSource(bytes))).count == 1)
    for count in 0..<bytes.count {
      #expect(failure(PropertyListSource(MemoryByteSource(bytes[..<count]))) != nil, "\(count) bytes")
    }
  }

  /// Changes each byte to every value. Reading must always end with documents or an error.
  @Test(.slow) func survivesChangedBytes() throws {
    let value: [String: Any] = ["text": "ü", "c": [["d": 1.5], 7, true, Data([1])]]
    let bytes = [UInt8](try PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0))
    for index in bytes.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = bytes
        changed[index] = byte
        _ = failure(PropertyListSource(MemoryByteSource(changed)))
      }
    }
  }

  // MARK: Sharing

  @Test func rejectsSelfContainingObjects() {
    #expect(fault([0xA1, 1], [0xA1, 0])?.reason == "an object that holds itself")
    #expect(fault([0xD1, 1, 2], [0x51, 0x61], [0xA1, 0])?.reason == "an object that holds itself")
  }

  @Test func repeatsSharedObjects() throws {
    #expect(try json([0xA2, 1, 1], [0xA2, 2, 2], [0x10, 7]) == ["[[7,7],[7,7]]"])
  }

  /// Thirty objects expand to a billion values.
  @Test func rejectsExponentialSharing() {
    var objects: [[UInt8]] = (1...30).map { [0xA2, UInt8($0), UInt8($0)] }
    objects.append([0x09])
    #expect(failure(source(BinaryList(objects)))?.reason == PropertyListLimits.tooMuch)
    let names = (1...30).map { [0xD2, UInt8(31), UInt8(32), UInt8($0), UInt8($0)] as [UInt8] }
    let dictionaries = names + [[0xD0], [0x51, 0x61], [0x51, 0x62]]
    var list = BinaryList(dictionaries)
    list.objects[29] = [0xD0]
    #expect(failure(source(list))?.reason == PropertyListLimits.tooMuch)
  }

  /// Each reference to a long string counts by its length.
  @Test(.slow) func countsSharedStringsByLength() {
    let text = [0x5F, 0x12] + BinaryList.number(1_000_000, 4) + [UInt8](repeating: 0x61, count: 1_000_000)
    var list = BinaryList([[0xAF, 0x11, 0x10, 0x00] + [UInt8](repeating: 1, count: 4096), text])
    list.offsetSize = 4
    #expect(failure(source(list))?.reason == PropertyListLimits.tooMuch)
  }

  @Test func rejectsDeeplyNestedArrays() {
    let objects: [[UInt8]] = (1...600).map { [0xA1] + BinaryList.number($0, 2) } + [[0x09]]
    var list = BinaryList(objects)
    list.referenceSize = 2
    #expect(failure(source(list))?.reason.contains("512") == true)
  }

  @Test func skipsOnlyInvalidRows() throws {
    let rejections = Rejections()
    let list = BinaryList([[0xA3, 1, 2, 1], [0xD1, 3, 4], [0xD1, 3, 5], [0x51, 0x61], [0x10, 1], [0x51, 0xFF]])
    #expect(try drafts(source(list, options: rejections.options())).map(\.text) == ["{\"a\":1}", "{\"a\":1}"])
    #expect(rejections.all.map(\.error.location?.record) == [2])
    #expect(rejections.all.first?.error.location?.byteOffset == BinaryList([]).bytes.count - 32 + 4 + 3 + 3 + 2 + 2 + 1)
  }

  // MARK: Values

  @Test(
    arguments: [
      ([0x00], "null"), ([0x08], "false"), ([0x09], "true"), ([0x10, 0xFF], "255"), ([0x11, 0xFF, 0xFF], "65535"),
      ([0x12, 0xFF, 0xFF, 0xFF, 0xFF], "4294967295"), ([0x13] + [UInt8](repeating: 0xFF, count: 8), "-1"),
      ([0x14] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8), "18446744073709551615"),
      ([0x14, 0x7F] + [UInt8](repeating: 0xFF, count: 15), "170141183460469231731687303715884105727"),
      ([0x14] + [UInt8](repeating: 0xFF, count: 16), "-1"), ([0x22, 0x3F, 0xC0, 0, 0], "1.5"),
      ([0x22, 0x3D, 0xCC, 0xCC, 0xCD], "0.10000000149011612"),
      ([0x23, 0x3F, 0xB9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9A], "0.1"),
      ([0x23, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0], "{\"$real\":\"nan\"}"),
      ([0x22, 0xFF, 0x80, 0, 0], "{\"$real\":\"-inf\"}"),
      ([0x33, 0, 0, 0, 0, 0, 0, 0, 0], "\"2001-01-01T00:00:00.000Z\""),
      ([0x33, 0xBF, 0x50, 0x62, 0x4D, 0xD2, 0xF1, 0xA9, 0xFC], "\"2000-12-31T23:59:59.999Z\""),
      ([0x43, 0, 1, 2], "{\"$base64\":\"AAEC\"}"), ([0x53, 0x61, 0, 0x22], "\"a\\u0000\\\"\""), ([0x50], "\"\""),
      ([0x62, 0xD8, 0x3D, 0xDE, 0x00], "\"😀\""), ([0x61, 0x20, 0xAC], "\"€\""), ([0x80, 5], "{\"CF$UID\":5}"),
      ([0x83, 1, 0, 0, 0], "{\"CF$UID\":16777216}"), ([0xD0], "{}"), ([0xC0], nil), ([0xB0], nil), ([0xA0], nil),
      ([0x5F, 0x10, 0x01, 0x61], "\"a\""), ([0x5F, 0x13, 0, 0, 0, 0, 0, 0, 0, 1, 0x61], "\"a\""),
    ] as [([UInt8], String?)])
  func convertsValuesToJSON(object: [UInt8], expected: String?) throws {
    #expect(try json(object) == (expected.map { [$0] } ?? []))
  }

  @Test(arguments: 1...8)
  func readsOffsetsOfAnySize(size: Int) throws {
    let references = BinaryList.number(1, size) + BinaryList.number(2, size)
    var list = BinaryList([[0xA2] + references, [0x10, 1], BinaryList.ascii("a string of twenty.")])
    list.offsetSize = size
    list.referenceSize = size
    #expect(try drafts(source(list)).map(\.text) == ["[1,\"a string of twenty.\"]"])
  }

  @Test func readsInputInAnyChunks() throws {
    let bytes = BinaryList([[0xA2, 1, 2], [0xD0], [0xD1, 3, 4], [0x51, 0x61], [0x09]]).bytes
    for chunk in 1...bytes.count {
      #expect(
        try drafts(PropertyListSource(MemoryByteSource(bytes, chunk: chunk))).map(\.text) == ["{}", "{\"a\":true}"])
    }
  }
}
