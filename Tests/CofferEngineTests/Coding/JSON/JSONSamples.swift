import CofferFoundation

// Types of every shape that code reads from and writes to JSON.

/// A type whose random values are samples.
protocol Sample: Codable, Equatable, Sendable {
  static func random(_ random: inout some RandomNumberGenerator) -> Self
}

/// Members of most types.
struct Everything: Sample {
  enum Kind: String, Codable, CaseIterable { case plain, épique, line = "a\nb" }

  enum Shape: Codable, Equatable {
    case circle(radius: Double)
    case polygon([Int], name: String?)
    case empty
  }

  struct Point: Codable, Equatable {
    var x: Float
    var y: Double
    var next: [Point]?
  }

  var zone = "", alpha: String?, flag = true, maybe: Bool?
  var i8: Int8 = 0, i16: Int16 = 0, i32: Int32 = 0, i64: Int64 = 0, i128: Int128 = 0, int: Int?
  var u8: UInt8 = 0, u16: UInt16 = 0, u32: UInt32 = 0, u64: UInt64 = 0, u128: UInt128 = 0, uint: UInt?
  var float: Float = 0, double: Double = 0, decimal: Decimal = 0, maybeDouble: Double?, maybeFloat: Float?
  var date = Date(timeIntervalSinceReferenceDate: 0), dates: [Date?] = [], data = Data(), uuid = UUID()
  var url: URL?, kind = Kind.plain, shapes: [Shape] = [], points: [Point] = []
  var strings: [String] = [], integers: [Int] = [], doubles: [Double] = [], bytes: [UInt8] = [], bools: [Bool] = []
  var byName: [String: Int] = [:], byNumber: [Int: String] = [:], byKind: [Kind: [String: Double]] = [:]
  var nested: [[String?]] = [], sets: Set<String> = [], range: ClosedRange<Int> = 0...1

  static func random(_ random: inout some RandomNumberGenerator) -> Everything {
    var value = Everything()
    value.zone = Texts.random(&random)
    value.alpha = Bool.random(using: &random) ? Texts.random(&random) : nil
    value.flag = .random(using: &random)
    value.maybe = Bool.random(using: &random) ? .random(using: &random) : nil
    value.i8 = Numbers.random(&random)
    value.i16 = Numbers.random(&random)
    value.i32 = Numbers.random(&random)
    value.i64 = Numbers.random(&random)
    value.i128 = Numbers.random(&random)
    value.int = Bool.random(using: &random) ? Numbers.random(&random) : nil
    value.u8 = Numbers.random(&random)
    value.u16 = Numbers.random(&random)
    value.u32 = Numbers.random(&random)
    value.u64 = Numbers.random(&random)
    value.u128 = Numbers.random(&random)
    value.uint = Bool.random(using: &random) ? Numbers.random(&random) : nil
    value.float = Float(Numbers.double(&random))
    if !value.float.isFinite { value.float = 1.5 }
    value.double = Numbers.double(&random)
    value.decimal =
      Decimal(string: "\(Numbers.random(&random) as Int)e\(Int.random(in: -20...20, using: &random))") ?? 1
    value.maybeDouble = Bool.random(using: &random) ? Numbers.double(&random) : nil
    value.date = Date(timeIntervalSinceReferenceDate: .random(in: -1e9...1e9, using: &random))
    value.dates = Bool.random(using: &random) ? [nil, Date(timeIntervalSince1970: 0.5)] : []
    value.data = Data((0..<Int.random(in: 0...5, using: &random)).map { _ in .random(in: 0...255, using: &random) })
    value.uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!
    value.url = URL(string: "https://example.com/a%20b?c=\(Int.random(in: 0...9, using: &random))#d")
    value.kind = Kind.allCases.randomElement(using: &random)!
    value.shapes = [.circle(radius: Numbers.double(&random)), .polygon([1, 2], name: nil), .empty].shuffled(
      using: &random)
    value.points = (0..<Int.random(in: 0...3, using: &random)).map {
      Point(x: 0.1, y: Double($0), next: $0 > 1 ? [Point(x: 1, y: 2)] : nil)
    }
    value.strings = (0..<Int.random(in: 0...3, using: &random)).map { _ in Texts.random(&random) }
    value.integers = (0..<Int.random(in: 0...3, using: &random)).map { _ in Numbers.random(&random) }
    value.doubles = (0..<Int.random(in: 0...3, using: &random)).map { _ in Numbers.double(&random) }
    value.bytes = [0, 7, 255]
    value.bools = [true, false]
    for number in 0..<Int.random(in: 0...40, using: &random) {
      value.byName[Texts.random(&random) + (number > 5 ? "" : "\(number)")] = number
    }
    for number in 0..<Int.random(in: 0...3, using: &random) { value.byNumber[number * 7 - 7] = Texts.random(&random) }
    value.byKind = [.épique: ["x": 1], .line: ["é": 2, "e\u{301}x": 3]]
    value.nested = [[], [nil, Texts.random(&random)]]
    value.sets = [Texts.random(&random)]
    return value
  }
}

/// Any JSON, recognized by attempts.
enum AnyJSON: Sample {
  case null, bool(Bool), int(Int), double(Double), string(String), array([AnyJSON]), object([String: AnyJSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = .int(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([AnyJSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: AnyJSON].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  static func random(_ random: inout some RandomNumberGenerator) -> AnyJSON { .random(&random, depth: 3) }

  private static func random(_ random: inout some RandomNumberGenerator, depth: Int) -> AnyJSON {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .int(Numbers.random(&random))
    case 3: return .double(Numbers.double(&random))
    case 4, 5: return .string(Texts.random(&random))
    case 6: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in .random(&random, depth: depth - 1) })
    default:
      var members: [String: AnyJSON] = [:]
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        members[Texts.random(&random)] = .random(&random, depth: depth - 1)
      }
      return .object(members)
    }
  }
}

/// Texts with every kind of character that JSON or a dictionary treats in a way of its own.
enum Texts {
  static let parts = [
    "", "a", "name", "title", "K", "\u{212A}", "é", "e\u{301}", "日本語", "كتاب", "कि", "😀", "\"", "\\", "/", "\n", "\u{1}",
    "\u{1F}", "\u{7F}", "\u{2028}", "\u{0}", "x y", "null", "1", "Å", "\u{212B}", "ﬁ", "\u{FEFF}", "\u{E000}",
    "a longer text, which is beyond what fits a small string",
  ]

  static func random(_ random: inout some RandomNumberGenerator) -> String {
    (0..<Int.random(in: 0...2, using: &random)).map { _ in parts.randomElement(using: &random)! }.joined()
  }
}

enum Numbers {
  /// Numbers of all lengths, and the ends of the range.
  static func random<Integer: FixedWidthInteger>(_ random: inout some RandomNumberGenerator) -> Integer {
    switch Int.random(in: 0...5, using: &random) {
    case 0: .min
    case 1: .max
    case 2: 0
    default:
      Integer.random(in: .min ... .max, using: &random)
        >> Integer.random(in: 0..<Integer(Integer.bitWidth / 2), using: &random)
    }
  }

  static func double(_ random: inout some RandomNumberGenerator) -> Double {
    switch Int.random(in: 0...8, using: &random) {
    case 0: return Double(Int.random(in: -10...10, using: &random))
    case 1: return -0.0
    case 2: return Double(Int.random(in: -1_000_000...1_000_000, using: &random)) / 100
    case 3: return 0x1p53 + Double(Int.random(in: -2...2, using: &random))
    case 4: return .leastNonzeroMagnitude
    case 5: return .greatestFiniteMagnitude
    case 6: return 1e16
    default:
      let value = Double(bitPattern: random.next())
      return value.isFinite ? value : 0.1
    }
  }
}
