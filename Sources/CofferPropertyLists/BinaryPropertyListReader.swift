internal import CofferDocuments

/// A reader for a binary property list (`bplist00`).
///
/// A place is an object's number. A negative place is the negated offset of an invalid reference. The file isn't
/// trusted, so the trailer and all offset table entries are checked immediately, and each object is checked when it's
/// read.
struct BinaryPropertyListReader: PropertyListReader {
  private let file: UnsafeRawBufferPointer
  private let trailer: BinaryPropertyListTrailer
  /// The offset of `file` in the buffer. Positions in faults and ranges count from the buffer.
  private let base: Int
  /// The open arrays and dictionaries, with the innermost last.
  private var open: [Container] = []
  private var start: Int
  private var hasStarted = false
  private(set) var bytes: [UInt8] = []
  private(set) var place: Int
  var budget: PropertyListBudget
  /// Has no effect, because binary property lists have an object type for references.
  var readsReferences = true

  private struct Container {
    let object: Int
    /// The offset of the container's references, and the number of elements or pairs.
    let references: Int
    let count: Int
    let isDictionary: Bool
    /// The number of completed elements, or of keys and values.
    var done = 0
  }

  /// - Parameter base: The file's offset in the buffer.
  init(_ file: UnsafeRawBufferPointer, base: Int, trailer: BinaryPropertyListTrailer, budget: PropertyListBudget) {
    self.file = file
    self.base = base
    self.trailer = trailer
    self.budget = budget
    start = trailer.topObject
    place = start
  }

  var root: Int { trailer.topObject }

  mutating func move(to place: Int) {
    open.removeAll(keepingCapacity: true)
    start = place
    hasStarted = false
  }

  mutating func next() throws(PropertyListFault) -> PropertyListEvent {
    guard let container = open.last else {
      precondition(!hasStarted, "internal error: reading goes on behind its value")
      hasStarted = true
      return try read(object: start, isKey: false)
    }
    if container.done == (container.isDictionary ? 2 : 1) * container.count {
      open.removeLast()
      place = container.object
      return container.isDictionary ? .endDictionary : .endArray
    }
    open[open.count - 1].done += 1
    guard container.isDictionary else {
      return try read(object: reference(container, container.done), isKey: false)
    }
    // The file lists all keys before all values, but events alternate between them.
    let pair = container.done / 2
    let isKey = container.done % 2 == 0
    return try read(object: reference(container, isKey ? pair : container.count + pair), isKey: isKey)
  }

  mutating func skipContainer() {
    open.removeLast()
  }

  /// Objects are scattered across the file, so the next event is always the container's next reference.
  mutating func stepBehindFault() -> Bool { true }

  func range(of place: Int) -> Range<Int> {
    let offset = base + (place < 0 ? -place : offset(of: place))
    return offset..<offset + 1
  }

  /// Returns the referenced object, or the negated offset of an invalid reference.
  private func reference(_ container: Container, _ index: Int) -> Int {
    let offset = container.references + index * trailer.referenceSize
    let object = file.bigEndian(at: offset, size: trailer.referenceSize)
    return object < UInt64(trailer.objectCount) ? Int(object) : -offset
  }

  private func offset(of object: Int) -> Int {
    Int(file.bigEndian(at: trailer.tableOffset + object * trailer.offsetSize, size: trailer.offsetSize))
  }

  private mutating func read(object: Int, isKey: Bool) throws(PropertyListFault) -> PropertyListEvent {
    place = object
    bytes.removeAll(keepingCapacity: true)
    guard !budget.isSpent else { throw fault(PropertyListLimits.tooMuch, code: .tooLarge) }
    guard object >= 0 else { throw fault("a reference to an object that is not there") }
    let offset = self.offset(of: object)
    let marker = file[offset]
    let low = Int(marker & 0xF)
    if isKey, marker >> 4 != 0x5, marker >> 4 != 0x6 { throw fault("a key that is not a string") }
    let event: PropertyListEvent
    switch marker {
    case 0x00: event = .null
    case 0x08: event = .bool(false)
    case 0x09: event = .bool(true)
    case 0x10...0x14: event = .integer(try integer(at: offset + 1, size: 1 << low))
    case 0x22:
      event = .real(Double(Float(bitPattern: UInt32(try unsigned(at: offset + 1, size: 4)))))
    case 0x23: event = .real(Double(bitPattern: try unsigned(at: offset + 1, size: 8)))
    case 0x33:
      guard let date = Timestamp(secondsSince2001: Double(bitPattern: try unsigned(at: offset + 1, size: 8))) else {
        throw fault("a date outside the years 0000 to 9999")
      }
      event = .date(date)
    case 0x40...0x4F:
      bytes.append(contentsOf: try content(at: offset, low, unit: 1))
      event = .data
    case 0x50...0x5F:
      let text = try content(at: offset, low, unit: 1)
      if let bad = text.firstIndex(where: { $0 >= 0x80 }) {
        throw PropertyListFault(
          position: base + self.offset(of: text) + bad, reason: "a byte beyond ASCII in an ASCII string")
      }
      bytes.append(contentsOf: text)
      event = isKey ? .key : .string
    case 0x60...0x6F:
      try appendUTF16(try content(at: offset, low, unit: 2))
      event = isKey ? .key : .string
    case 0x80...0x8F: event = .uid(try uid(at: offset + 1, size: low + 1))
    case 0xA0...0xAF, 0xB0...0xBF, 0xC0...0xCF:
      try push(object, at: offset, low, isDictionary: false)
      event = .beginArray
    case 0xD0...0xDF:
      try push(object, at: offset, low, isDictionary: true)
      event = .beginDictionary
    default: throw fault("an object of an unknown kind")
    }
    guard budget.spend(bytes.count) else { throw fault(PropertyListLimits.tooMuch, code: .tooLarge) }
    return event
  }

  private mutating func push(
    _ object: Int, at offset: Int, _ low: Int, isDictionary: Bool
  ) throws(PropertyListFault) {
    let references = try content(at: offset, low, unit: trailer.referenceSize * (isDictionary ? 2 : 1))
    guard open.count < PropertyListLimits.depth else { throw fault(PropertyListLimits.tooDeep) }
    guard !open.contains(where: { $0.object == object }) else { throw fault("an object that holds itself") }
    let count = references.count / (trailer.referenceSize * (isDictionary ? 2 : 1))
    open.append(
      Container(object: object, references: self.offset(of: references), count: count, isDictionary: isDictionary))
  }
}

// MARK: - Parts of objects

extension BinaryPropertyListReader {
  /// Returns an object's bytes after its marker and count.
  private func content(at offset: Int, _ low: Int, unit: Int) throws(PropertyListFault) -> UnsafeRawBufferPointer {
    var start = offset + 1
    var count = UInt64(low)
    if low == 0xF {
      guard start < trailer.tableOffset, file[start] & 0xF0 == 0x10, file[start] & 0xF <= 3 else {
        throw fault("a count that is not an integer")
      }
      let size = 1 << Int(file[start] & 0xF)
      count = try unsigned(at: start + 1, size: size)
      start += 1 + size
    }
    let (length, overflow) = count.multipliedReportingOverflow(by: UInt64(unit))
    guard !overflow, start <= trailer.tableOffset, length <= UInt64(trailer.tableOffset - start) else {
      throw fault("an object that is longer than the file")
    }
    return UnsafeRawBufferPointer(rebasing: file[start..<start + Int(length)])
  }

  private func offset(of part: UnsafeRawBufferPointer) -> Int {
    guard let start = part.baseAddress, let first = file.baseAddress else { return 0 }
    return start - first
  }

  private func unsigned(at offset: Int, size: Int) throws(PropertyListFault) -> UInt64 {
    guard offset + size <= trailer.tableOffset else { throw fault("an object that is longer than the file") }
    return file.bigEndian(at: offset, size: size)
  }

  /// Reads an integer. Integers with one, two or four bytes are unsigned, and integers with eight or sixteen bytes are
  /// signed.
  private func integer(at offset: Int, size: Int) throws(PropertyListFault) -> Int128 {
    let first = try unsigned(at: offset, size: min(size, 8))
    if size < 8 { return Int128(first) }
    let high = Int128(Int64(bitPattern: first))
    return size == 8 ? high : high << 64 | Int128(try unsigned(at: offset + 8, size: 8))
  }

  private func uid(at offset: Int, size: Int) throws(PropertyListFault) -> UInt64 {
    for extra in 0..<max(0, size - 8) where try unsigned(at: offset + extra, size: 1) != 0 {
      throw fault("a reference beyond 64 bits")
    }
    return try unsigned(at: offset + max(0, size - 8), size: min(size, 8))
  }

  private mutating func appendUTF16(_ units: UnsafeRawBufferPointer) throws(PropertyListFault) {
    var offset = 0
    while offset < units.count {
      let unit = UInt32(units[offset]) << 8 | UInt32(units[offset + 1])
      var scalar = unit
      if unit & 0xF800 == 0xD800 {
        guard unit & 0xFC00 == 0xD800, offset + 4 <= units.count, units[offset + 2] & 0xFC == 0xDC else {
          throw PropertyListFault(
            position: base + self.offset(of: units) + offset, reason: "an unpaired surrogate", code: .undecodable)
        }
        let low = UInt32(units[offset + 2]) << 8 | UInt32(units[offset + 3])
        scalar = 0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)
        offset += 2
      }
      UTF8Bytes.append(scalar, to: &bytes)
      offset += 2
    }
  }
}

/// The last 32 bytes of a binary property list, which contain the sizes and offsets of its parts.
struct BinaryPropertyListTrailer {
  private static let byteCount = 32
  private static let headerByteCount = 8

  let offsetSize: Int
  let referenceSize: Int
  let objectCount: Int
  let topObject: Int
  /// The offset at which the objects end and the offset table begins.
  let tableOffset: Int

  /// Verifies the trailer, and that the offset table's entries are within the objects.
  init(_ file: UnsafeRawBufferPointer, base: Int) throws(PropertyListFault) {
    func fault(_ reason: String, at offset: Int) -> PropertyListFault {
      PropertyListFault(position: base + offset, reason: reason)
    }
    guard file.count > Self.headerByteCount + Self.byteCount else {
      throw fault("the binary property list ends before its trailer", at: file.count)
    }
    guard file[6] == UInt8(ascii: "0"), file[7] == UInt8(ascii: "0") else {
      throw fault("a binary property list of another version than 00", at: 6)
    }
    let start = file.count - Self.byteCount
    offsetSize = Int(file[start + 6])
    referenceSize = Int(file[start + 7])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
      throw fault("a trailer with a size of offsets or references that is not 1 to 8", at: start + 6)
    }
    let count = file.bigEndian(at: start + 8, size: 8)
    let top = file.bigEndian(at: start + 16, size: 8)
    let table = file.bigEndian(at: start + 24, size: 8)
    guard count >= 1, count <= UInt64(file.count), table > UInt64(Self.headerByteCount), table <= UInt64(start),
      Int(table) + Int(count) * offsetSize == start
    else { throw fault("a trailer that does not fit the file's length: cut off, or damaged", at: start + 8) }
    guard top < count else { throw fault("a top object that is not there", at: start + 16) }
    objectCount = Int(count)
    topObject = Int(top)
    tableOffset = Int(table)
    for object in 0..<objectCount {
      let entry = tableOffset + object * offsetSize
      let offset = file.bigEndian(at: entry, size: offsetSize)
      guard offset >= UInt64(Self.headerByteCount), offset < table else {
        throw fault("an offset outside the objects", at: entry)
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Returns an unsigned big-endian number with up to eight bytes.
  fileprivate func bigEndian(at offset: Int, size: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in offset..<offset + size { value = value << 8 | UInt64(self[index]) }
    return value
  }
}
