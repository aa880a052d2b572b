import CofferTestSupport
import CofferText
import Testing

@testable import CofferPatterns

/// Tests matching patterns in texts.
struct PatternTests {
  private func found(_ pattern: Pattern, in text: String) -> [String] {
    let bytes = Array(text.utf8)
    return bytes.withUnsafeBytes { bytes in
      let matcher = PatternMatcher(pattern)
      let ranges = matcher.ranges(in: bytes, limit: 100)
      // Search twice to reuse the states of the first search.
      for _ in 0..<2 { #expect(matcher.matches(bytes) == !ranges.isEmpty) }
      return ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
    }
  }

  /// Checks that `work` throws a `PatternError` with this code.
  private func expect(_ code: PatternError.Code, _ work: () throws(PatternError) -> Pattern) {
    do throws(PatternError) {
      _ = try work()
      Issue.record("nothing was thrown, wanted \(code)")
    } catch {
      #expect(error.code == code)
    }
  }

  private func regex(_ pattern: String, _ text: String, ignoring: TextDifferences = []) throws -> [String] {
    found(try .regularExpression(pattern, ignoring: ignoring), in: text)
  }

  // MARK: Plain

  @Test func findsTextAnywhere() throws {
    for text in ["needle", "a needle", "needle b", "a needle b", "nneedle", "needneedle"] {
      #expect(found(try .text("needle"), in: text) == ["needle"], "\(text)")
    }
    for text in ["", "n", "needl", "eedle", "need le", "Needle"] {
      #expect(found(try .text("needle"), in: text) == [], "\(text)")
    }
    #expect(found(try .text("aa"), in: "aaaaa") == ["aa", "aa"])
    #expect(found(try .text("\u{0}b"), in: "a\u{0}b") == ["\u{0}b"])
  }

  @Test func plainSearchMatchesNaiveSearch() throws {
    var random = Numbers(seed: 7)
    for _ in 0..<3000 {
      let letters = Array("ab é".utf8)
      let text = (0..<random.next(200)).map { _ in letters[random.next(letters.count - 2)] }
      let pattern = (0...random.next(6)).map { _ in letters[random.next(letters.count - 2)] }
      let literal = LiteralSearch(pattern)
      let simple = text.indices.first { text[$0...].starts(with: pattern) }
      #expect(text.withUnsafeBytes { literal.first(in: $0) } == simple)
    }
  }

  @Test func findsPatternAfterManyFalseStarts() throws {
    let text = String(repeating: "ab", count: 5000) + "aab" + String(repeating: "ab", count: 10)
    #expect(found(try .text("baaba"), in: text) == ["baaba"])
    #expect(found(try .text("ababbb"), in: text) == [])
    #expect(found(try .text("baab"), in: text) == ["baab"])
  }

  @Test func rejectsEmptyText() {
    expect(.empty) { () throws(PatternError) in try Pattern.text("") }
    expect(.empty) { () throws(PatternError) in try Pattern.text("", ignoring: .case) }
  }

  @Test func limitsReturnedRanges() throws {
    for pattern in [try Pattern.text("a"), try Pattern.text("a", ignoring: .case)] {
      let ranges = Array("aXaXa".utf8).withUnsafeBytes { PatternMatcher(pattern).ranges(in: $0, limit: 2) }
      #expect(ranges == [0..<1, 2..<3])
    }
  }

  // MARK: Ignoring case

  @Test(arguments: [
    ("needle", "A NeEdLe", "NeEdLe"), ("STRASSE", "die Straße", "Straße"), ("straße", "STRASSE", "STRASSE"),
    ("ΟΔΟΣ", "η οδος", "οδος"), ("kelvin", "\u{212A}elvin", "\u{212A}elvin"),
    ("SOS", "\u{17F}o\u{17F}", "\u{17F}o\u{17F}"),
    ("ПРИВЕТ", "привет, мир", "привет"), ("ﬁsch", "FISCH", "FISCH"), ("FISCH", "ﬁsch", "ﬁsch"), ("ß", "ẞ", "ẞ"),
    ("ss", "ß", "ß"), ("ssss", "sßs", "sßs"), ("İ", "i\u{307}", "i\u{307}"), ("𐐀", "𐐨", "𐐨"), ("Ꭰ", "ꭰ", "ꭰ"),
  ])
  func findsWithCaseFolding(_ pattern: String, _ text: String, _ expected: String) throws {
    #expect(found(try .text(pattern, ignoring: .case), in: text) == [expected])
  }

  @Test(arguments: [("i", "ı"), ("ı", "I"), ("s", "ß"), ("é", "e\u{301}"), ("a", "ä"), ("+", "-")])
  func rejectsDifferentLettersWithCaseFolding(_ pattern: String, _ text: String) throws {
    #expect(found(try .text(pattern, ignoring: .case), in: text) == [])
  }

  /// The blocks of cased scalars must contain every scalar that folding changes.
  @Test func findsEveryCasedScalar() {
    let table = CaseVariants.table
    for scalar in (0...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap({ Unicode.Scalar($0) })
    where scalar.properties.changesWhenCaseMapped {
      let first = CaseFolding.folding(scalar).first!.value
      let found = table.variants(ofFolded: first) + table.ligatures(from: first).map(\.scalar)
      #expect(found.contains(scalar.value), "\(scalar)")
    }
  }

  @Test func foldsManySharpSQuickly() throws {
    let pattern = try Pattern.text(String(repeating: "ß", count: 200), ignoring: .case)
    #expect(found(pattern, in: String(repeating: "sß", count: 134)).count == 1)
    #expect(found(pattern, in: String(repeating: "sß", count: 130)).isEmpty)
  }

  // MARK: Regular expressions

  @Test(arguments: [
    ("a.c", "abc a\nc aéc", ["abc", "aéc"]), ("a*", "baac", ["", "aa", "", ""]),
    ("ab|abcd|b", "abcd b", ["abcd", "b"]),
    ("[0-9]+ EUR", "12 EUR, 7 USD, 300 EUR", ["12 EUR", "300 EUR"]), ("^b$", "a\nb\r\nb\nc", ["b", "b"]),
    ("[^a-y]{2,3}", "abzzzzzb", ["zzz", "zz"]), (#"\bcat\b"#, "cat concat cats «cat»", ["cat", "cat"]),
    (#"\w+"#, "naïve Ünïcode, 5日", ["naïve", "Ünïcode", "5日"]), (#"\s\S"#, "a\u{A0}b", ["\u{A0}b"]),
    (#"\Aab"#, "ab\nab", ["ab"]), (#"ab\z"#, "ab\nab", ["ab"]), ("(?:ab)+c?", "ababcab", ["ababc", "ab"]),
    (#"[\]\-x]+"#, "a]-xb", ["]-x"]), ("[]a]+", "]a", ["]a"]), (#"\x41\u0042\u{43}"#, "ABC", ["ABC"]),
    ("", "é", ["", ""]),
    ("a{0}b", "ab", ["b"]), ("(a|b)*abb", "abababb", ["abababb"]), (#"\."#, "a.b", ["."]), ("x$", "x\r\n", ["x"]),
    ("^$", "a\r\n\r\nb", [""]), ("[а-я]+", "Привет", ["ривет"]), ("(a*)*b", "aab", ["aab"]), ("😀?", "😀", ["😀", ""]),
    (#"\w+"#, "\u{33479}葛\u{E0100}-\u{F0000}", ["\u{33479}葛\u{E0100}"]), (#"葛\b"#, "葛\u{E0100} 葛", ["葛"]),
    (#"\Bb"#, "ab b", ["b"]), ("(|a)b", "ab", ["ab"]), ("[-a]", "-", ["-"]), ("a-z", "a-z", ["a-z"]),
  ])
  func findsRegularExpressions(_ pattern: String, _ text: String, _ expected: [String]) throws {
    #expect(try regex(pattern, text) == expected)
  }

  @Test func regularExpressionsIgnoreScalarCase() throws {
    #expect(try regex("[a-c]+é", "ABCÉ", ignoring: .case) == ["ABCÉ"])
    #expect(try regex("[^k]", "\u{212A}K", ignoring: .case) == [])
    #expect(try regex("ss", "ß", ignoring: .case) == [])
    #expect(try regex("straße", "STRAẞE", ignoring: .case) == ["STRAẞE"])
    #expect(try regex("[ᾳᾀ]+", "ᾼᾈ", ignoring: .case) == ["ᾼᾈ"])
  }

  @Test(arguments: [
    "(", ")", "a)", "(a", "[", "[a", "[]", "*", "a**", "a*?", "a{", "a{x}", "a{2,1}", "a{1001}", "+a", "|*", #"\"#,
    #"\q"#,
    #"(a)\1"#, "(?=a)", "(?<n>a)", "(?i)a", "[[:alpha:]]", "[z-a]", #"[a-\d]"#, #"\xZZ"#, #"\u{110000}"#, #"\u{D800}"#,
    "^*", #"\p{L}"#, "a{1,2}{3}", String(repeating: "(", count: 200),
  ])
  func rejectsInvalidExpression(_ pattern: String) {
    expect(.syntax) { () throws(PatternError) in try Pattern.regularExpression(pattern) }
  }

  @Test func rejectsOversizedExpression() {
    expect(.tooLarge) { () throws(PatternError) in try Pattern.regularExpression("((a{100}){100}){100}") }
  }

  @Test func acceptsPatternsAtLimits() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth - 1) + "a" + String(repeating: ")", count: depth - 1)
    }
    _ = try Pattern.regularExpression(nested(100))
    expect(.syntax) { () throws(PatternError) in try Pattern.regularExpression(nested(101)) }
    _ = try Pattern.regularExpression("a{1000}")
    expect(.syntax) { () throws(PatternError) in try Pattern.regularExpression("a{1001}") }
    // The last step is the match.
    _ = try Pattern.regularExpression(String(repeating: "a", count: 9999))
    expect(.tooLarge) { () throws(PatternError) in
      try Pattern.regularExpression(String(repeating: "a", count: 10_000))
    }
    _ = try Pattern.text(String(repeating: "a", count: 10_000), ignoring: .composition)
  }

  @Test func errorsReportOffsetWithoutPattern() throws {
    let error = try #require(throws: PatternError.self) { try Pattern.regularExpression("geheim[") }
    #expect(error.place == 7 && error.message == "a [ without its ]")
  }

  @Test(.slow) func regularExpressionsMatchStandardLibrary() throws {
    var random = Numbers(seed: 3)
    for _ in 0..<CaseSample.count(200, ofLongRun: 600) {
      let pattern = Self.randomPattern(&random, depth: 3)
      let text = (0..<random.next(12)).map { _ in "abé\n".randomElement(using: &random)! }
      let ours = try regex(pattern, String(text))
      let theirs = try Regex<AnyRegexOutput>(pattern).anchorsMatchLineEndings().matchingSemantics(.unicodeScalar)
        .wordBoundaryKind(.simple)
      #expect(
        ours.isEmpty == (String(text).firstMatch(of: theirs) == nil), "\(pattern) in \(String(text).debugDescription)")
    }
  }

  private static func randomPattern(_ random: inout Numbers, depth: Int) -> String {
    guard depth > 0 else {
      return ["a", "b", "é", ".", "[ab]", "[^a]", "^", "$", "\\b"].randomElement(using: &random)!
    }
    func part() -> String { randomPattern(&random, depth: depth - 1) }
    switch random.next(7) {
    case 0: return part() + part()
    case 1: return "(?:\(part())|\(part()))"
    case 2: return "(?:\(part()))*"
    case 3: return "(?:\(part()))+"
    case 4: return "(?:\(part()))?"
    case 5: return "(?:\(part())){1,2}"
    default: return part()
    }
  }

  /// Patterns on which a backtracking search takes exponential time.
  @Test(.slow, arguments: ["(a+)+b", "(a|aa)+b", "(.*)(.*)(.*)b", "(a?){50}a{50}b", "(a|b)*c(a|b){12}d"])
  func matchesPathologicalExpressionsQuickly(_ pattern: String) throws {
    #expect(try regex(pattern, String(repeating: "a", count: 20_000)) == [])
  }

  /// Without scanning, the automaton would read every byte.
  @Test(arguments: ["harbour", "Straße", "[hH]ar", "(?:foo|bar)+", "é"])
  func scansForPatternsWithFewFirstBytes(_ pattern: String) throws {
    for ignoresCase in [false, true] where !(ignoresCase && pattern.hasPrefix("(")) {
      let program = try PatternProgram(PatternParser.parse(pattern, ignoringCase: ignoresCase))
      #expect(LazyAutomaton(program, isFloating: true).scan != nil)
    }
  }

  /// Tests matches at every offset in and around the scan's blocks of sixteen bytes.
  @Test(.slow) func scanFindsEveryOffset() throws {
    for length in 0...CaseSample.count(40, ofLongRun: 70) {
      for place in 0...length {
        let text = String(repeating: "h", count: place) + "Harb" + String(repeating: "a", count: length - place)
        #expect(found(try .text("harb", ignoring: .case), in: text) == ["Harb"])
        #expect(found(try .text("Harb"), in: text) == ["Harb"])
        #expect(try regex("[hH]a.b|x$", text) == ["Harb"])
        #expect(try regex("H", text) == ["H"])
      }
    }
  }

  @Test func discardingStatesKeepsMatches() throws {
    // This pattern's automaton has 2^14 states.
    var random = Numbers(seed: 5)
    let text = String((0..<60_000).map { _ in "ab".randomElement(using: &random)! }) + "c"
    #expect(try regex("a[ab]{13}c", text).count == (Array(text)[text.count - 15] == "a" ? 1 : 0))
  }
}

/// A deterministic random number generator.
private struct Numbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 33
  }

  mutating func next(_ bound: Int) -> Int { bound == 0 ? 0 : Int(next() % UInt64(bound)) }
}
