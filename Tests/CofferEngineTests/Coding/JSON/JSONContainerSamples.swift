import CofferFoundation

// Types with code of their own that uses containers in unusual ways.

/// A class that writes its own members into the superclass's container, and one with a container for the superclass.
class Base: Codable, Equatable, @unchecked Sendable {
  var zebra = "z"
  var count = 1

  init() {}

  static func == (lhs: Base, rhs: Base) -> Bool { lhs.zebra == rhs.zebra && lhs.count == rhs.count }
}

final class Sharing: Base, Sample, @unchecked Sendable {
  enum Keys: String, CodingKey { case apple, mango }
  var apple = [1]
  var mango: String?

  override init() { super.init() }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    apple = try container.decode([Int].self, forKey: .apple)
    mango = try container.decodeIfPresent(String.self, forKey: .mango)
    try super.init(from: decoder)
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(apple, forKey: .apple)
    try super.encode(to: encoder)
    try container.encodeIfPresent(mango, forKey: .mango)
  }

  static func == (lhs: Sharing, rhs: Sharing) -> Bool { lhs.apple == rhs.apple && lhs as Base == rhs as Base }

  static func random(_ random: inout some RandomNumberGenerator) -> Self {
    let value = Sharing()
    value.zebra = Texts.random(&random)
    value.mango = Bool.random(using: &random) ? Texts.random(&random) : nil
    return value as! Self
  }
}

final class Separate: Base, Sample, @unchecked Sendable {
  enum Keys: String, CodingKey { case `super`, own, parent }
  var own = 0.5
  var hasKey = false

  override init() { super.init() }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    own = try container.decode(Double.self, forKey: .own)
    hasKey = container.contains(.parent)
    try super.init(from: hasKey ? container.superDecoder(forKey: .parent) : container.superDecoder())
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try super.encode(to: hasKey ? container.superEncoder(forKey: .parent) : container.superEncoder())
    try container.encode(own, forKey: .own)
  }

  static func == (lhs: Separate, rhs: Separate) -> Bool { lhs.own == rhs.own && lhs as Base == rhs as Base }

  static func random(_ random: inout some RandomNumberGenerator) -> Self {
    let value = Separate()
    value.hasKey = .random(using: &random)
    value.own = Numbers.double(&random)
    return value as! Self
  }
}

/// Nested containers, written in turns and partly without any value.
struct Nesting: Sample {
  enum Keys: String, CodingKey { case outer, list, last, empty, first }
  enum Inner: String, CodingKey { case b, a, deep }
  var a = 1
  var b = "b"
  var list = [1, 2]
  var path = ""

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    let inner = try container.nestedContainer(keyedBy: Inner.self, forKey: .outer)
    a = try inner.decode(Int.self, forKey: .a)
    b = try inner.decode(String.self, forKey: .b)
    var elements = try container.nestedUnkeyedContainer(forKey: .list)
    list = []
    while !elements.isAtEnd {
      var pair = try elements.nestedUnkeyedContainer()
      list.append(try pair.decode(Int.self))
      _ = try pair.nestedContainer(keyedBy: Inner.self)
      _ = try pair.decodeIfPresent(Int.self)
      path = (pair.codingPath + inner.codingPath).map(\.stringValue).joined(separator: ".") + "\(pair.currentIndex)"
    }
    var last = try container.superDecoder(forKey: .last).unkeyedContainer()
    _ = try last.superDecoder()
    _ = try last.decodeNil() ? nil : last.decode(Int.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    var inner = container.nestedContainer(keyedBy: Inner.self, forKey: .outer)
    try inner.encode(b, forKey: .b)
    try inner.encode(a, forKey: .a)
    var deep = inner.nestedContainer(keyedBy: Inner.self, forKey: .deep)
    try deep.encodeNil(forKey: .a)
    var elements = container.nestedUnkeyedContainer(forKey: .list)
    for number in list {
      var pair = elements.nestedUnkeyedContainer()
      try pair.encode(number)
      _ = pair.nestedContainer(keyedBy: Inner.self)
      try pair.encode(pair.count)
    }
    _ = container.nestedUnkeyedContainer(forKey: .empty)
    _ = container.superEncoder(forKey: .first)
    var last = container.superEncoder(forKey: .last).unkeyedContainer()
    try last.encode("x")
    try last.encodeNil()
  }

  static func == (lhs: Nesting, rhs: Nesting) -> Bool {
    lhs.a == rhs.a && lhs.b == rhs.b && lhs.list == rhs.list && lhs.path == rhs.path
  }

  static func random(_ random: inout some RandomNumberGenerator) -> Nesting {
    var value = Nesting()
    value.a = Numbers.random(&random)
    value.b = Texts.random(&random)
    value.list = (0..<Int.random(in: 0...3, using: &random)).map { _ in Numbers.random(&random) }
    return value
  }
}

/// Writes that only fit together in the end: containers in turns, members twice, caught errors, nothing at all.
struct Unruly: Encodable {
  enum Keys: String, CodingKey { case a, b, c }
  struct Nothing: Encodable { func encode(to encoder: any Encoder) throws {} }
  struct Halfway: Encodable {
    struct Stop: Error {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(1, forKey: .a)
      throw Stop()
    }
  }
  struct Twice: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(["a": 1])
      var members = encoder.container(keyedBy: Keys.self)
      try members.encode(2, forKey: .b)
    }
  }

  static let kinds = 0..<14
  let kind: Int

  func encode(to encoder: any Encoder) throws {
    if kind == 0 { return }
    if kind == 1 { return try Twice().encode(to: encoder) }
    if kind == 2 { return try elements(encoder) }
    var container = encoder.container(keyedBy: Keys.self)
    switch kind {
    case 3:
      var one = container.nestedContainer(keyedBy: Keys.self, forKey: .b)
      var other = container.nestedContainer(keyedBy: Keys.self, forKey: .a)
      try one.encode(1, forKey: .b)
      try other.encode(2, forKey: .b)
      try one.encode(3, forKey: .a)
    case 4:
      try container.encode(1, forKey: .a)
      try container.encode("again", forKey: .a)
    case 5:
      try? container.encode(Double.nan, forKey: .c)
      try container.encode(1, forKey: .b)
    case 6:
      try? container.encode(Halfway(), forKey: .c)
      try container.encode(1, forKey: .b)
    case 7: try container.encode(Halfway(), forKey: .c)
    case 8:
      try container.encode(Nothing(), forKey: .c)
      try container.encode([Nothing?.some(Nothing()), nil], forKey: .a)
    case 9:
      let late = container.superEncoder(forKey: .b)
      try container.encode(1, forKey: .a)
      try "late".encode(to: late)
    case 10:
      try container.encode(["a": Float.infinity], forKey: .a)
    case 11:
      var one = container.nestedContainer(keyedBy: Keys.self, forKey: .b)
      try one.encode(1, forKey: .b)
      try container.encode(2, forKey: .a)
      var again = container.nestedContainer(keyedBy: Keys.self, forKey: .b)
      try again.encode(3, forKey: .c)
    case 12:
      try container.encode([1.5, .infinity], forKey: .a)
    default:
      try container.encode(Decimal.nan, forKey: .b)
      try container.encode(encoder.codingPath.count + container.codingPath.count, forKey: .a)
    }
  }

  private func elements(_ encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(1)
    try "super".encode(to: container.superEncoder())
    try container.encode(container.count)
  }
}

/// A key that any text or number is.
struct AnyKey: CodingKey {
  var stringValue: String
  var intValue: Int?
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { return nil }
}

/// Members with given names in a given order.
struct Named: Encodable {
  let names: [String]
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    for (index, name) in names.enumerated() { try container.encode(index, forKey: AnyKey(stringValue: name)) }
  }
}

/// Asks an object for members by names, in an order that isn't the object's.
struct Asking: Decodable, Equatable {
  var found: [AnyJSON?] = []
  var names: [String] = []
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    for name in Texts.parts.reversed() + Texts.parts + ["b", "a", "c", "title"] {
      let key = AnyKey(stringValue: name)
      found.append(.bool(container.contains(key)))
      found.append(try? container.decodeIfPresent(AnyJSON.self, forKey: key))
    }
    // The bytes also tell which of two equal names is kept.
    names = container.allKeys.map { "\(Array($0.stringValue.utf8))" }.sorted()
  }
}
