import CofferFoundation
import CofferTestSupport
import Testing

@testable import CofferEngine

/// Reading and writing values, compared with Foundation's coders.
struct JSONCodingTests {
  // MARK: Random values and texts

  @Test(arguments: HistorySeeds.first(15))
  func treatsRandomValuesAsFoundation(seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    try compare(Everything.self, &random)
    try compare(AnyJSON.self, &random)
    try compare(Sharing.self, &random)
    try compare(Separate.self, &random)
    try compare(Nesting.self, &random)
  }

  private func compare<Value: Sample>(_ type: Value.Type, _ random: inout Pseudorandom) throws {
    let strategies = JSONCoders()
    let value = Value.random(&random)
    strategies.compare(writing: value)
    let text = try strategies.writing.encode(value).text
    strategies.compare(reading: text, as: type)
    strategies.compare(reading: text, as: AnyJSON.self)
    for _ in 0..<20 {
      let changed = JSONMutation.change(text, &random)
      strategies.compare(reading: changed, as: type)
      strategies.compare(reading: changed, as: AnyJSON.self)
      strategies.compare(reading: changed, as: Asking.self)
    }
  }

  @Test(arguments: HistorySeeds.first(20))
  func findsMembersAsFoundation(seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let strategies = JSONCoders()
    for limit in [3, 10, 60] {
      // Names in any order, some of them twice, escaped, or equal only for Unicode.
      var text = ""
      for number in 0..<random.number(below: limit) {
        let name = JSONMutation.quoted(Texts.random(&random), &random)
        text += "\(text.isEmpty ? "" : ",")\(name):\(number)"
      }
      strategies.compare(reading: "{\(text)}", as: Asking.self)
      strategies.compare(reading: "{\(text)}", as: [String: Int].self)
      strategies.compare(reading: "[{\(text)},{\(text)}]", as: [Asking].self)
      strategies.compare(writing: Named(names: (0..<limit).map { _ in Texts.random(&random) }))
    }
    let sorted = (0..<50).map { #""k\#($0 + 10)":\#($0)"# }.joined(separator: ",")
    strategies.compare(reading: "{\(sorted)}", as: [String: Int].self)
    strategies.compare(reading: "{\(sorted),\"k10\":-1}", as: [String: Int].self)
    strategies.compare(reading: "{\(sorted)}", as: Asking.self)
  }

  @Test func findsTitleOfWrittenValue() throws {
    enum Kind: String, Codable { case title = "a kind", name }
    struct Optionals: Encodable {
      var title: String?
      var name: String?
    }
    struct Kinds: Encodable {
      var body = Optionals(title: "inner")
      var title: Kind
      var address = URL(string: "https://example.org")!
    }
    struct Numbered: Encodable {
      var title = 7
      var name = "behind a number"
    }
    let strategies = JSONCoders()
    func title(_ value: some Encodable) throws -> String? {
      strategies.compare(writing: value)
      let stored = try strategies.writing.encode(value)
      return stored.title
    }
    #expect(try title(Optionals(title: "One\n\"two\"", name: "a name")) == "One\n\"two\"")
    #expect(try title(Optionals(name: "a name")) == "a name")
    #expect(try title(Optionals(title: "", name: "a name")) == "")
    #expect(try title(Optionals()) == nil)
    #expect(try title(Kinds(title: .title)) == "a kind")
    #expect(try title(Numbered()) == "behind a number")
    #expect(try title(["name": "n", "body": "b", "title": "t"]) == "t")
    #expect(try title(["na\nme": "n"]) == nil)
    #expect(try title(["inner": ["title": "t"]]) == nil)
    #expect(try title(["title", "name"]) == nil)
    #expect(try title("title") == nil)
  }

  // MARK: Numbers

  @Test func readsNumbersAsFoundation() {
    let strategies = JSONCoders()
    let literals = [
      "0", "-0", "0.0", "-0.0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "1.0", "1.5", "1e2", "1E+2",
      "12e-1", "120e-1", "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740993.0",
      "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
      "18446744073709551615", "18446744073709551616", "1e19", "170141183460469231731687303715884105727",
      "170141183460469231731687303715884105728", "340282366920938463463374607431768211455",
      "340282366920938463463374607431768211456", "0.1", "0.30000000000000004", "1e308", "1e309", "-1e400", "1e-320",
      "1e-400", "0e-400", "0e999", "4.9406564584124654e-324", "2e-324", "3.4028235e38", "3.5e38", "1e-46", "16777217",
      "1.00000017881393421514957253748434595763683319091796875001", "123456789012345678", "0.12345678901234567",
      "00", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x10", "NaN", "1_0", "1 2",
      "99999999999999999999999999999999999999999",
    ]
    for literal in literals + literals.map({ "[\($0)]" }) {
      func compare<Number: Decodable & Equatable>(_ type: Number.Type) {
        strategies.compare(reading: literal, as: type)
        strategies.compare(reading: literal, as: [Number].self)
        strategies.compare(reading: "{\"a\": \(literal)}", as: [String: Number?].self)
      }
      compare(Int.self)
      compare(Int8.self)
      compare(Int16.self)
      compare(Int32.self)
      compare(Int64.self)
      compare(Int128.self)
      compare(UInt.self)
      compare(UInt8.self)
      compare(UInt16.self)
      compare(UInt32.self)
      compare(UInt64.self)
      compare(UInt128.self)
      compare(Double.self)
      compare(Float.self)
      compare(Decimal.self)
      compare(Date.self)
    }
  }

  @Test(arguments: HistorySeeds.first(10))
  func roundTripsRandomNumbers(seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let strategies = JSONCoders()
    for _ in 0..<200 {
      let double = Numbers.double(&random)
      strategies.compare(writing: double)
      strategies.compare(writing: [double])
      strategies.compare(writing: Float(bitPattern: UInt32(truncatingIfNeeded: random.next())))
      strategies.compare(writing: Numbers.random(&random) as Int)
      let text = try strategies.writing.encode(double).text
      let found = try Array(text.utf8).withUnsafeBytes { try strategies.reading.decode(Double.self, from: $0) }
      #expect(found.bitPattern == double.bitPattern)
      let short = "\(random.number(below: 1000)).\(random.next() % 1_000_000_000_000)"
      strategies.compare(reading: short, as: Double.self)
      strategies.compare(reading: short, as: Float.self)
    }
  }

  // MARK: Strategies

  @Test(arguments: 0..<13)
  func followsJSONCoders(number: Int) throws {
    struct Dated: Codable, Equatable {
      var when = Date(timeIntervalSinceReferenceDate: 1000.25)
      var optional: Date? = Date(timeIntervalSince1970: 1e9)
      var list = [Date(timeIntervalSinceReferenceDate: -1)]
      var aData = Data([1, 2, 255])
      var snakeNumber: [String: [String: Data]] = ["snake_key": ["otherKey": Data([7])]]
      var float: Float = 1.5
      var doubles = [1.5]
      var floats: [Float] = [0.1]
    }
    struct Context: Decodable, Equatable {
      let user: String
      init(from decoder: any Decoder) throws {
        user = "\(decoder.userInfo[CodingUserInfoKey(rawValue: "u")!] as Any)"
      }
    }
    let strategies = Self.strategies(number)
    strategies.compare(writing: Dated())
    var infinite = Dated()
    (infinite.float, infinite.doubles) = (.infinity, [-.infinity])
    strategies.compare(writing: infinite)
    infinite.floats = [.infinity, -.infinity]
    strategies.compare(writing: infinite)
    infinite.float = .nan
    strategies.compare(writing: infinite)
    strategies.compare(writing: Date(timeIntervalSince1970: .infinity))
    strategies.compare(writing: [Date?.some(Date(timeIntervalSince1970: .nan))])
    for kind in Unruly.kinds { strategies.compare(writing: Unruly(kind: kind)) }
    strategies.compare(writing: ["a_b": Unruly(kind: 3)])
    let text = String(decoding: try strategies.encoder.encode(Dated()), as: UTF8.self)
    strategies.compare(reading: text, as: Dated.self)
    strategies.compare(reading: "[]", as: Context.self)
    for wrong in ["null", "\"x\"", "\"+∞\"", "1", "{}", "[null]", "\"AQI\"", "\"AQI=\\n\"", "\"2001-01-01T00:00:00Z\""]
    {
      for member in ["when", "optional", "list", "aData", "snakeNumber", "float", "doubles"] {
        strategies.compare(reading: "{\"\(member)\":\(wrong),\(text.dropFirst())", as: Dated.self)
        strategies.compare(reading: "{\"a\":[{\"\(member)\":\(wrong),\(text.dropFirst())]}", as: [String: [Dated]].self)
      }
      strategies.compare(reading: wrong, as: Date.self)
      strategies.compare(reading: wrong, as: Data.self)
      strategies.compare(reading: wrong, as: URL.self)
      strategies.compare(reading: wrong, as: Float.self)
    }
  }

  private static func strategies(_ number: Int) -> JSONCoders {
    switch number {
    case 0: JSONCoders()
    case 1: JSONCoders({ $0.dateEncodingStrategy = .secondsSince1970 }, { $0.dateDecodingStrategy = .secondsSince1970 })
    case 2:
      JSONCoders(
        { $0.dateEncodingStrategy = .millisecondsSince1970 }, { $0.dateDecodingStrategy = .millisecondsSince1970 })
    case 3: JSONCoders({ $0.dateEncodingStrategy = .iso8601 }, { $0.dateDecodingStrategy = .iso8601 })
    case 4:
      JSONCoders(
        {
          $0.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(date.timeIntervalSince1970)
            try container.encode(encoder.codingPath.map(\.stringValue))
          }
        },
        {
          $0.dateDecodingStrategy = .custom { decoder in
            var container = try decoder.unkeyedContainer()
            return Date(timeIntervalSince1970: try container.decode(Double.self))
          }
        })
    case 5: JSONCoders({ $0.dateEncodingStrategy = .custom { _, _ in } }, { _ in })
    case 6: JSONCoders({ $0.dataEncodingStrategy = .deferredToData }, { $0.dataDecodingStrategy = .deferredToData })
    case 7:
      JSONCoders(
        { $0.dataEncodingStrategy = .custom { try $0.count.encode(to: $1) } },
        { $0.dataDecodingStrategy = .custom { Data(repeating: 0, count: try Int(from: $0)) } })
    case 8:
      JSONCoders(
        {
          $0.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+∞", negativeInfinity: "-\"", nan: "no")
        },
        {
          $0.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+∞", negativeInfinity: "-\"", nan: "no")
        })
    case 12:
      JSONCoders(
        {
          $0.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "é")
        },
        {
          $0.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+∞", negativeInfinity: "-", nan: "nan")
        })
    case 9:
      JSONCoders({ $0.keyEncodingStrategy = .convertToSnakeCase }, { $0.keyDecodingStrategy = .convertFromSnakeCase })
    case 10:
      JSONCoders(
        {
          $0.keyEncodingStrategy = .custom { AnyKey(stringValue: $0.last!.stringValue.uppercased()) }
          $0.outputFormatting = .prettyPrinted
        },
        { $0.keyDecodingStrategy = .custom { AnyKey(stringValue: $0.last!.stringValue.lowercased()) } })
    default:
      JSONCoders(
        { $0.userInfo[CodingUserInfoKey(rawValue: "u")!] = "me" },
        {
          $0.userInfo[CodingUserInfoKey(rawValue: "u")!] = "me"
          $0.allowsJSON5 = true
        })
    }
  }

  // MARK: Containers and errors

  @Test func writesUnrulyValuesAsFoundation() {
    let strategies = JSONCoders()
    for kind in Unruly.kinds {
      strategies.compare(writing: Unruly(kind: kind))
      strategies.compare(writing: [Unruly(kind: kind)])
      strategies.compare(writing: ["k": Unruly(kind: kind)])
    }
    for text in Texts.parts { strategies.compare(writing: [text: text]) }
    strategies.compare(writing: Named(names: ["K", "\u{212A}"]))
    strategies.compare(writing: Named(names: ["é", "z", "e\u{301}"]))
    strategies.compare(writing: Named(names: ["é", "z", "日", "a"]))
    strategies.compare(writing: Named(names: ["b\"", "a\n", "b", "b!", "b#", "B"]))
    strategies.compare(writing: String?.none)
    strategies.compare(writing: [Int: String?].init(uniqueKeysWithValues: [(1, nil)]))
  }

  @Test func readsTextsThatAreNotStrictJSONAsFoundation() {
    let strategies = JSONCoders()
    let texts = [
      "", " ", "[1,]", "{\"a\":1,}", "[1", "{\"a\"}", "\u{FEFF}[1]", "[1]x", " [ 1 , 2 ] ", "[\"\\ud800\"]",
      "[1,\"\\ud800\"]", "[\"\\u0000\"]", "[\"\u{0}\"]", "[\"a\nb\"]", "[\"\\x\"]", "[\"\\ud83d\\ude00\"]", "nul",
      "true ",
      "[tru]", "{\"a\":01}", "{a:1}", "'a'", "// c\n1", "{\"a\":1,\"b\":01}", "[\"\\u00e9\"]",
    ]
    for text in texts {
      strategies.compare(reading: text, as: AnyJSON.self)
      strategies.compare(reading: text, as: [Int].self)
      strategies.compare(reading: text, as: [String].self)
      strategies.compare(reading: text, as: [String: Int].self)
    }
  }

  @Test func limitsDepth() {
    let strategies = JSONCoders()
    for depth in [510, 511, 512, 513, 514, 100_000] {
      for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        strategies.compare(reading: text, as: Shallow.self)
        strategies.compare(reading: String(text.dropLast()), as: Shallow.self)
      }
    }
    for depth in [509, 510, 511, 512] {
      var value = AnyJSON.array([])
      for _ in 1..<depth { value = .array([value]) }
      strategies.compare(writing: value)
      strategies.compare(writing: Deep(depth: depth))
    }
  }

  /// A value that reads nothing of its text.
  struct Shallow: Decodable, Equatable {
    init(from decoder: any Decoder) throws {}
  }

  /// Nested arrays, the innermost of a kind that Foundation writes without a container.
  struct Deep: Encodable {
    let depth: Int
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      if depth == 0 { try container.encode([Int8(1)]) } else { try container.encode(Deep(depth: depth - 1)) }
    }
  }

  /// A value that keeps its decoder, and containers of it.
  struct Keeper: Decodable {
    let decoder: any Decoder
    let container: KeyedDecodingContainer<AnyKey>
    init(from decoder: any Decoder) throws {
      self.decoder = decoder
      container = try decoder.container(keyedBy: AnyKey.self)
    }
  }

  @Test func readsThroughKeptDecoder() throws {
    let reading = JSONReading(JSONDecoder())
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 20, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: #"{"a": "x", "b":[12]}"#.utf8)
    let keeper = try reading.decode(Keeper.self, from: UnsafeRawBufferPointer(memory))
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    #expect(try keeper.container.decode(String.self, forKey: AnyKey(stringValue: "a")) == "x")
    #expect(
      try keeper.decoder.container(keyedBy: AnyKey.self).decode([Int].self, forKey: AnyKey(stringValue: "b")) == [12])
  }

  /// Reads more elements than there are.
  struct Greedy: Decodable, Equatable {
    var log: [String] = []
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      log.append("\(container.count as Any) \(container.isAtEnd)")
      for _ in 0..<4 { log.append("\(try container.decodeIfPresent(Int.self) as Any) \(container.currentIndex)") }
      for _ in 0..<4 { log.append("\(try container.decodeIfPresent(AnyJSON.self) as Any) \(container.currentIndex)") }
      for _ in 0..<2 { log.append("\(try container.decodeIfPresent(Bool.self) as Any) \(container.isAtEnd)") }
      _ = try container.decode(Int.self)
    }
  }

  @Test func readsBeyondEndAsFoundation() {
    for text in [
      "[]", "[1,null]", "[null,2,3]", "[1,2,3,4,5,6,7,8,true,null]", "[1,2,3,4,\"x\"]", "[1,\"x\"]", "{}", "null",
    ] {
      JSONCoders().compare(reading: text, as: Greedy.self)
      JSONCoders().compare(reading: "{\"a\":\(text)}", as: [String: Greedy].self)
    }
  }
}
