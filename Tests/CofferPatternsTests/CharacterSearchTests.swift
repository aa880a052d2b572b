import CofferTestSupport
import Foundation
import Testing

@testable import CofferPatterns

/// Tests searches that ignore diacritics or composition.
struct CharacterSearchTests {
  private static let fixture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Fixtures/character-search.tsv")

  private func ranges(_ pattern: String, _ text: String, _ differences: TextDifferences) throws -> [Range<Int>] {
    let matcher = PatternMatcher(try .text(pattern, ignoring: differences))
    return Array(text.utf8).withUnsafeBytes { bytes in
      let ranges = matcher.ranges(in: bytes, limit: 1000)
      #expect(matcher.matches(bytes) == !ranges.isEmpty)
      return ranges
    }
  }

  private func found(_ pattern: String, _ text: String, _ differences: TextDifferences) throws -> [String] {
    let bytes = Array(text.utf8)
    return try ranges(pattern, text, differences).map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  /// Tools/generators/make-search-cases generates the cases from the definition and Python's Unicode tables.
  @Test func matchesDefinition() throws {
    func text(_ scalars: Substring) -> String {
      var view = String.UnicodeScalarView()
      view.append(
        contentsOf: scalars.split(separator: " ").compactMap { UInt32($0, radix: 16).flatMap(Unicode.Scalar.init) })
      return String(view)
    }
    let lines = try String(contentsOf: Self.fixture, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 1500)
    for line in lines {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      var differences: TextDifferences = []
      if fields[0].contains("c") { differences.insert(.case) }
      if fields[0].contains("d") { differences.insert(.diacritics) }
      if fields[0].contains("n") { differences.insert(.composition) }
      let found = try ranges(text(fields[1]), text(fields[2]), differences)
      let written = found.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
      #expect(written == fields[3], "\(line)")
    }
  }

  // MARK: Diacritics

  @Test(arguments: [
    ("cafe", "un café", "café"), ("cafe", "un cafe\u{301}.", "cafe\u{301}"), ("café", "cafe", "cafe"),
    ("и", "й", "й"), ("か", "が", "が"), ("ש", "שׁ", "שׁ"), ("α", "ᾳ", "ᾳ"), ("A", "\u{212B}", "\u{212B}"),
    ("a\u{323}", "a\u{307}\u{323}", "a\u{307}\u{323}"),
  ]) func ignoresMarks(_ pattern: String, _ text: String, _ expected: String) throws {
    for differences in [.diacritics, [.diacritics, .composition]] as [TextDifferences] {
      for pattern in [pattern, pattern.decomposedStringWithCanonicalMapping] {
        let found = try found(pattern, text, differences)
        #expect(found.map { Array($0.utf8) } == [Array(expected.utf8)])
      }
    }
  }

  @Test(arguments: [("o", "ø"), ("l", "ł"), ("cafe", "CAFÉ"), ("i", "ı"), ("क", "का"), ("가", "각"), ("ss", "ß")])
  func distinguishesLetters(_ pattern: String, _ text: String) throws {
    #expect(try found(pattern, text, .diacritics) == [])
  }

  @Test func ignoresCaseWithMarks() throws {
    #expect(try found("cafe", "CAFÉ Cafe\u{301}", [.case, .diacritics]) == ["CAFÉ", "Cafe\u{301}"])
    #expect(try found("STRASSE", "Straße", [.case, .diacritics]) == ["Straße"])
    #expect(try found("strasse", "STRÄSSE", [.case, .diacritics]) == ["STRÄSSE"])
    #expect(try found("s", "ß", [.case, .diacritics]) == [])
    #expect(try found("i", "İ", [.case, .diacritics]) == ["İ"])
  }

  // MARK: Composition

  @Test(arguments: [
    ("é", "e\u{301}"), ("\u{AC01}", "\u{1100}\u{1161}\u{11A8}"), ("\u{AC01}", "\u{AC00}\u{11A8}"),
    ("a\u{323}\u{307}", "a\u{307}\u{323}"), ("\u{1EA1}\u{307}", "\u{227}\u{323}"), ("\u{212B}", "Å"),
    ("\u{F43}", "\u{F42}\u{FB7}"), ("\u{F40}\u{F73}", "\u{F40}\u{F72}\u{F71}"), ("\u{1D15E}", "\u{1D157}\u{1D165}"),
    ("\u{16D43}\u{16D68}", "\u{16D43}\u{16D67}\u{16D67}"), ("\u{387}", "\u{B7}"),
  ]) func findsEquivalentSpellings(_ one: String, _ other: String) throws {
    for (pattern, text) in [(one, other), (other, one), (one, one), (other, other)] {
      let found = try ranges(pattern, "x \(text)y \(text)", .composition)
      let count = text.utf8.count
      #expect(found == [2..<2 + count, 4 + count..<4 + 2 * count])
    }
  }

  @Test(arguments: [
    ("e", "é"), ("e", "e\u{301}"), ("\u{301}", "e\u{301}"), ("\u{AC00}", "\u{AC01}"),
    ("\u{AC00}", "\u{1100}\u{1161}\u{11A8}"), ("\u{1100}", "\u{AC00}"), ("\u{1100}", "\u{1100}\u{1161}"),
    ("\u{16D43}", "\u{16D43}\u{16D68}"), ("\u{16D43}", "\u{16D43}\u{16D67}\u{16D67}"), ("1", "1\u{20E3}"), ("É", "é"),
    ("é", "e"), ("a\u{323}", "a\u{323}\u{307}"), ("क", "का"), ("か", "が"),
  ]) func rejectsPartialCharacters(_ pattern: String, _ text: String) throws {
    #expect(try found(pattern, text, .composition) == [])
    #expect(try found(pattern, "z\(text)z", .composition) == [])
  }

  @Test func endsMatchBeforeNextCharacter() throws {
    #expect(try found("cafe", "cafe\u{301} cafe", .composition) == ["cafe"])
    #expect(try ranges("cafe", "cafe\u{301} cafe", .composition) == [7..<11])
    #expect(try found("\u{301}", "\u{301}a", .composition) == ["\u{301}"])
  }

  // MARK: Limits and scanning

  @Test func rejectsPatternOfOnlyMarks() throws {
    for differences in [.diacritics, [.diacritics, .case]] as [TextDifferences] {
      let error = try #require(throws: PatternError.self) { try Pattern.text("\u{301}\u{323}", ignoring: differences) }
      #expect(error.code == .empty && error.message.contains("marks"))
    }
  }

  @Test func rejectsPatternBeyondLimit() throws {
    for text in [String(repeating: "a", count: 10_001), String(repeating: "a", count: 10_000_000)] {
      let error = try #require(throws: PatternError.self) { try Pattern.text(text, ignoring: .composition) }
      #expect(error.code == .tooLarge)
    }
  }

  @Test func rejectsUnsupportedExpressionDifferences() throws {
    for differences in [.diacritics, .composition, [.case, .diacritics]] as [TextDifferences] {
      let error = try #require(throws: PatternError.self) {
        try Pattern.regularExpression("a", ignoring: differences)
      }
      #expect(error.code == .unsupported)
    }
  }

  /// Tests matches at every offset in and around the scan's blocks of sixteen bytes.
  @Test func scanFindsEveryOffset() throws {
    for length in 0...40 {
      for place in 0...length {
        for word in ["cafe", "CAFE\u{301}", "ÇAfé", "c\u{327}afe"] {
          let text = String(repeating: "c", count: place) + " \(word)" + String(repeating: "a", count: length - place)
          #expect(try found("cafe", text, [.case, .diacritics]) == [word], "\(place) of \(length)")
        }
        let text = String(repeating: "é", count: place) + "x" + String(repeating: "e", count: length - place)
        #expect(try found("x", text, .composition) == ["x"])
      }
    }
  }

  /// Every shift of the pattern matches a long part of the text, but the time must remain linear.
  @Test func findsRepeatingPatternsInLinearTime() throws {
    let text = String(repeating: "a", count: 300_000)
    #expect(try ranges(String(repeating: "á", count: 5000) + "b", text + "b", .diacritics) == [295_000..<300_001])
    let composed = String(repeating: "é", count: 100_000)
    #expect(try ranges(String(repeating: "e\u{301}", count: 4000) + "e", composed, .composition) == [])
    #expect(try ranges("ab", String(repeating: "aab", count: 3), .composition) == [1..<3, 4..<6, 7..<9])
  }

  @Test func treatsMarkedLetterAsSingleCharacter() throws {
    let marks = String(repeating: "\u{301}\u{323}\u{5B0}", count: 50_000)
    #expect(try ranges("ab", "xa\(marks)b", .diacritics) == [1..<2 + marks.utf8.count + 1])
    #expect(try ranges("ab", "xa\(marks)b ab", .composition).count == 1)
  }

  @Test func limitsReturnedRanges() throws {
    let matcher = PatternMatcher(try .text("é", ignoring: .composition))
    let found = Array("éée\u{301}".utf8).withUnsafeBytes { matcher.ranges(in: $0, limit: 2) }
    #expect(found == [0..<2, 2..<4])
  }
}
