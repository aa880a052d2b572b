import Coffer
import CofferPatterns
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Ranked search in many scripts, against the search without an index.
@Suite struct WordIndexTests {
  // MARK: Random texts

  /// The letters and marks of a script. In scripts without spaces, a text is found by any part of it.
  private struct Script {
    let letters: [Character]
    let marks: [Unicode.Scalar]
    var hasSpaces = true

    init(_ letters: String, _ marks: String = "", hasSpaces: Bool = true) {
      self.letters = letters.unicodeScalars.map { Character($0) }
      self.marks = Array(marks.unicodeScalars)
      self.hasSpaces = hasSpaces
    }

    /// Returns the characters of a word.
    func word(_ random: inout Pseudorandom) -> [String] {
      (0...random.number(below: 4)).map { _ in
        var character = String.UnicodeScalarView(letters[random.number(below: min(letters.count, 6))].unicodeScalars)
        if random.number(below: 4) == 0 {
          character = String.UnicodeScalarView(letters[random.number(below: letters.count)].unicodeScalars)
        }
        while !marks.isEmpty, random.number(below: 3) == 0 {
          character.append(marks[random.number(below: marks.count)])
        }
        return String(character)
      }
    }
  }

  private static let scripts = [
    Script("aeisEAfßẞſıİKKÅﬁŉǰé0²", "\u{301}\u{308}\u{327}\u{323}"), Script("αάᾳιΙσςΣώΐᾼ", "\u{301}\u{342}\u{345}"),
    Script("иейЙёЕІї", "\u{306}\u{308}"), Script("եւևԱաﬓ"), Script("שבתםמ", "\u{5C1}\u{5B8}\u{5BC}"),
    Script("امحيآئ", "\u{64F}\u{651}\u{653}"),
    Script("कखरय\u{958}", "\u{93F}\u{940}\u{941}\u{942}\u{94D}\u{902}\u{93C}"),
    Script("কখযড", "\u{9C7}\u{9BE}\u{9CB}\u{9BC}\u{9CD}"), Script("ਕਖਗ", "\u{A3F}\u{A41}\u{A3C}"),
    Script("કખગ", "\u{ABF}\u{AC1}\u{AC2}"), Script("கஙச", "\u{BBF}\u{BC0}\u{BC6}\u{BCA}\u{BCD}"),
    Script("కఖగ", "\u{C3F}\u{C40}\u{C46}\u{C48}\u{C56}"), Script("ಕಖಗ", "\u{CBF}\u{CC0}\u{CC6}\u{CCB}\u{CD5}"),
    Script("കഖഗന", "\u{D3F}\u{D40}\u{D46}\u{D4A}\u{D4D}"), Script("කඛග", "\u{DD2}\u{DD3}\u{DD9}\u{DDA}\u{DCA}"),
    Script("กขคงเา", "\u{E34}\u{E35}\u{E48}\u{E31}", hasSpaces: false),
    Script("ກຂຄ", "\u{EB4}\u{EC8}", hasSpaces: false),
    Script("កខគ", "\u{17B7}\u{17D2}\u{17B6}", hasSpaces: false),
    Script("ကခဂ", "\u{102D}\u{1039}\u{102C}", hasSpaces: false),
    Script("漢字空引用写豈\u{F900}々", hasSpaces: false), Script("かがカｶー", "\u{3099}", hasSpaces: false),
    Script("가각한ᄀᄒㄱ", "\u{1161}\u{11A8}", hasSpaces: false), Script("აბᲐႠⴀ"), Script("ꭰᎠᏰᏸ"), Script("አበገ"),
    Script("𐐀𐐨𞤀𞤢"), Script("བད", "\u{F7C}\u{F72}\u{F71}\u{F74}"),
  ]

  /// A text as its parts: words, and runs of scripts without spaces, which may follow a word directly.
  private struct Sample {
    var words: [String] = []
    var text = ""

    init(_ random: inout Pseudorandom) {
      var canFollow = false
      for _ in 0...random.number(below: 6) {
        let script = WordIndexTests.scripts[random.number(below: WordIndexTests.scripts.count)]
        let word = script.word(&random).joined()
        if !text.isEmpty, !canFollow || script.hasSpaces || random.number(below: 2) == 0 {
          text += [" ", ", ", "\n", "。", "-", "\u{200B}", "+"][random.number(below: 7)]
        }
        text += word
        if script.hasSpaces { words.append(word) }
        canFollow = true
      }
    }
  }

  /// Returns a word in another case, normalization form or spelling.
  private static func varied(_ word: String, _ random: inout Pseudorandom) -> String {
    switch random.number(below: 8) {
    case 0: return word.uppercased()
    case 1: return word.lowercased()
    case 2: return word.decomposedStringWithCanonicalMapping
    case 3: return word.precomposedStringWithCanonicalMapping
    case 4:
      // Without one of its marks, or without all of them.
      let scalars = word.decomposedStringWithCanonicalMapping.unicodeScalars
      let all = random.number(below: 2) == 0
      var kept = String.UnicodeScalarView()
      var hasDropped = false
      for scalar in scalars {
        if scalar.properties.generalCategory == .nonspacingMark, all || !hasDropped {
          hasDropped = true
        } else {
          kept.append(scalar)
        }
      }
      return String(kept)
    case 5: return word.decomposedStringWithCanonicalMapping.uppercased()
    default: return word
    }
  }

  private func holds(_ text: String, _ word: String, _ differences: TextDifferences) throws -> Bool {
    let matcher = PatternMatcher(try .text(word, ignoring: differences))
    return Array(text.utf8).withUnsafeBytes { matcher.matches($0) }
  }

  @Test(.slow, arguments: [false, true]) func findsWordsThatSearchFinds(keepingDiacritics keeps: Bool) throws {
    var random = Pseudorandom(seed: keeps ? 41 : 42)
    // The search without an index ignores some vowel signs, too.
    let model: TextDifferences = keeps ? [.case, .composition] : [.case, .diacritics, .composition, .exceptVowelSigns]
    let scan: SearchPattern.Differences = keeps ? [.case, .composition] : [.case, .diacritics, .composition]
    var hits = 0
    for round in 0..<6 {
      let test = try TestStore()
      let samples = (0..<80).map { _ in Sample(&random) }
      try test.store.write { scope in
        for (number, sample) in samples.enumerated() {
          if number % 4 == 0 {
            _ = try scope.insert(["a": sample.text], into: test.notes)
          } else if number % 4 == 1 {
            _ = try scope.insert(Document(title: sample.text, text: ""), into: test.notes)
          } else {
            _ = try scope.insert(Document(text: sample.text), into: test.notes)
          }
        }
      }
      try test.store.index(test.notes, .words(keepingDiacritics: keeps))
      if round % 2 == 1 { #expect(try test.store.checkIndexes().problems.isEmpty) }
      let ids = try test.store.read { try $0.ids(in: test.notes, sortedBy: .id) }
      for _ in 0..<120 {
        let script = Self.scripts[random.number(below: Self.scripts.count)]
        var word = script.word(&random).joined()
        let known = samples[random.number(below: samples.count)]
        if script.hasSpaces, random.number(below: 3) > 0, !known.words.isEmpty {
          word = known.words[random.number(below: known.words.count)]
        }
        word = Self.varied(word, &random)
        var expected: Set<DocumentID> = []
        for (sample, id) in zip(samples, ids) {
          let isHit =
            script.hasSpaces
            ? try sample.words.contains { try holds($0, word, model) && holds(word, $0, model) }
            : try holds(sample.text, word, model)
          if isHit { expected.insert(id) }
        }
        let (found, scanned) = try test.store.read { scope in
          (
            Set(
              try scope.search(ranked: RankedMatches.query(quoting: word), in: test.notes, limit: .max).matches.map(
                \.header.id)),
            Set(try scope.search(for: .text(word, ignoring: scan), in: test.notes).map(\.header.id))
          )
        }
        #expect(found == expected, "\(word) \(word.unicodeScalars.map { String($0.value, radix: 16) })")
        #expect(found.isSubset(of: scanned), "\(word)")
        hits += found.count
      }
    }
    #expect(hits > 500)
  }

  // MARK: Queries

  private func indexed(_ texts: [String], _ index: DocumentIndex = .words()) throws -> TestStore {
    let test = try TestStore()
    try test.store.write { scope in
      for text in texts { _ = try scope.insert(Document(text: text), into: test.notes) }
    }
    try test.store.index(test.notes, index)
    return test
  }

  private func found(_ test: TestStore, _ query: String) throws -> Set<Int64> {
    Set(
      try test.store.read {
        try $0.search(ranked: query, in: test.notes, limit: .max).matches.map(\.header.id.rawValue)
      })
  }

  @Test func findsPartsOfTextsWithoutSpaces() throws {
    let test = try indexed([
      "悬空引用清零", "悬空。引用", "東京都に住む", "ภาษาไทยง่าย", "바람이 분다", "Swift語言", "Swift 語言", "第3章",
    ])
    for (query, ids) in [
      ("引用", [1, 2]), ("空引", [1]), ("\"悬空。引用\"", [2]), ("京都", [3]), ("用", [1, 2]), ("ไทย", [4]), ("바람", [5]),
      ("swift", [6, 7]), ("Swift語言", [6]), ("\"swift 語言\"", [7]), ("3章", [8]), ("引 NOT 。 OR 清零", [1, 2]),
      ("NEAR(悬 引, 2)", [1, 2]), ("text: 清*", [1]), ("悬空 AND 清零", [1]), ("東*", [3]),
    ] as [(String, Set<Int64>)] {
      #expect(try found(test, query) == ids, "\(query)")
    }
  }

  @Test func prefixKeepsVowelSignsApart() throws {
    let test = try indexed(["किताब", "कीमत", "कमल", "café", "cafeteria"], .words(keepingDiacritics: true))
    for (query, ids) in [("कि*", [1]), ("की*", [2]), ("क*", [3]), ("cafe*", [5]), ("cafe\u{301}*", [4])]
      as [(String, Set<Int64>)]
    {
      #expect(try found(test, query) == ids, "\(query)")
    }
  }

  @Test(
    arguments: [
      ("POL-358", [1]), ("don't", [2]), ("C++", [3]), ("say \"hi\"", [4]), ("NOT AND (OR", [5]), ("title: x*", [6]),
      ("++", []),
      ("", []), (" \n", []), ("\"", []), ("a\0b", [7]), ("^x", [6]), ("don’t", [2]), ("-358 POL", [1]),
    ] as [(String, Set<Int64>)])
  func findsQuotedWords(_ text: String, _ ids: Set<Int64>) throws {
    let test = try indexed(["see pol-358", "I don't", "in C++", "say hi", "not and or", "a title x", "b a"])
    #expect(try found(test, RankedMatches.query(quoting: text)) == ids)
    let rows = try test.store.read {
      try $0.query("SELECT id FROM \"notes.match\"(?)", RankedMatches.query(quoting: text)).rows
    }
    #expect(Set(rows.compactMap { $0[0].integer }) == ids)
  }

  /// Behind a space, marks don't belong to a word of a document.
  @Test(arguments: ["สระ \u{E34}", "अ \u{93E} इ", "\n\u{E34}ก", "가 \u{1161}a", "\u{E34}ก \u{E35}"])
  func findsQuotedMarks(_ text: String) throws {
    let test = try indexed([text])
    let query = RankedMatches.query(quoting: text)
    for query in [query, query + "*", text] {
      #expect(try found(test, query) == [1], "\(query)")
    }
    #expect(try found(test, RankedMatches.query(quoting: "x " + text)).isEmpty)
    #expect(try found(test, RankedMatches.query(quoting: " \u{E34} \u{93E}")).isEmpty)
  }

  @Test func marksOriginalTextInSnippets() throws {
    let test = try indexed(["Ein Ausflug zum ﬁnnischen Sankt-Hans-Fest, 東京タワーの前で, Strasse"])
    for (query, marked) in [
      ("FINNISCHEN", "ﬁnnischen"), ("タワー", "タワー"), ("straße", "Strasse"), ("\"hans fest\"", "Hans-Fest"),
    ] {
      let page = try test.store.read { try $0.search(ranked: query, in: test.notes) }
      let snippet = try #require(page.matches.first?.snippet)
      #expect(snippet.ranges.map { String(decoding: Array(snippet.text.utf8)[$0], as: UTF8.self) } == [marked])
    }
  }
}
