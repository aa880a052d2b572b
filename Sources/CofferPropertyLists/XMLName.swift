/// An element's name in a single word. All property list names fit, and a longer name doesn't equal any of them.
struct XMLName: Equatable, ExpressibleByStringLiteral {
  private let word: UInt64
  private let count: Int

  init(_ name: UnsafeRawBufferPointer) {
    count = name.count
    word = name.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  init(_ name: StaticString) {
    self.init(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
  }

  init(stringLiteral name: StaticString) {
    self.init(name)
  }

  static func mayBegin(with byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: ":"), 0x80...:
      true
    default: false
    }
  }

  static func mayHold(_ byte: UInt8) -> Bool {
    mayBegin(with: byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
  }
}
