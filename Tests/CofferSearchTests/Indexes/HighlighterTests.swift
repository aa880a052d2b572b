import Coffer
import CofferPatterns
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite
@testable import CofferSearch

/// Marks and excerpts against a model that compares every word, and against FTS5's `highlight()` and `snippet()`.
@Suite struct HighlighterTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// Returns the places of a phrase in a text, by comparing each word.
  private static func places(of phrase: WordPhrase, in text: String, _ scan: WordScan) -> [Range<Int>] {
    var words: [(form: [UInt8], place: Range<Int>)] = []
    bytes(text).withUnsafeBytes {
      scan.forEachWord(in: $0) {
        words.append((Array($0), $1)); return true
      }
    }
    var places: [Range<Int>] = []
    for start in words.indices where start + phrase.words.count <= words.count && !(phrase.isAtStart && start > 0) {
      let isMatch = phrase.words.indices.allSatisfy {
        let (sought, form) = (phrase.words[$0], words[start + $0].form)
        return sought.isPrefix ? form.starts(with: sought.form) : form == sought.form
      }
      if isMatch {
        places.append(words[start].place.lowerBound..<words[start + phrase.words.count - 1].place.upperBound)
      }
    }
    return places
  }

  private static func merged(_ places: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for place in places.sorted(by: { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }) {
      if let last = merged.last, place.lowerBound < last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, place.upperBound)
      } else {
        merged.append(place)
      }
    }
    return merged
  }

  private func highlighter(_ query: String, keepingDiacritics keeps: Bool = false) throws -> Highlighter {
    let scan = WordScan(keepingDiacritics: keeps)
    return Highlighter(try WordQuery(query, scan), members: nil, scan)
  }

  private func places(
    _ highlighter: Highlighter, _ title: String, _ text: String, _ check: () throws(StoreError) -> Void = {}
  ) throws -> Highlighter.Places {
    try Self.bytes(text).withUnsafeBytes { text in
      try highlighter.places(title: title, text, isValue: false, check)
    }
  }

  private func snippet(_ query: String, _ text: String) throws -> RankedMatches.Snippet {
    try places(try highlighter(query), "", text).snippet
  }

  private func marked(_ snippet: RankedMatches.Snippet) -> [String] {
    snippet.ranges.map { String(decoding: Self.bytes(snippet.text)[$0], as: UTF8.self) }
  }

  // MARK: Random texts

  private static let words = [
    "a", "b", "ab", "é", "e", "E\u{301}", "word", "空", "引", "用", "ไทย", "바람", "ﬁ", "fi", "x9",
  ]
  private static let separators = [" ", " ", " ", "", "。", "-", "\0", "\n", " — "]

  private static func text(_ random: inout Pseudorandom, _ count: Int) -> String {
    (0..<count).map { _ in words.randomElement(using: &random)! + separators.randomElement(using: &random)! }.joined()
  }

  private static func query(_ random: inout Pseudorandom) -> String {
    func phrase() -> String {
      let count = [1, 1, 1, 2, 3].randomElement(using: &random)!
      let text = (0..<count).map { _ in words.randomElement(using: &random)! }
        .joined(separator: ["", " ", "。"].randomElement(using: &random)!)
      return "\"\(text)\"" + ["", "", "*"].randomElement(using: &random)!
    }
    func leaf() -> String {
      let filter = ["", "", "", "title: ", "text: "].randomElement(using: &random)!
      return filter + ["", "", "", "^"].randomElement(using: &random)! + phrase()
    }
    return (0...random.number(below: 4)).map { _ in leaf() }
      .joined(separator: [" OR ", " OR ", " AND ", " "].randomElement(using: &random)!)
  }

  /// FTS5's marks on the same title and text.
  private func marksOfFTS5(_ query: String, _ title: String, _ text: String, keeps: Bool) throws -> (String, String)? {
    let database = try Database.scratch()
    try WordTokenizer.add(to: database)
    let declaration = WordTokenizer.declaration(keepingDiacritics: keeps)
    try database.execute("CREATE VIRTUAL TABLE t USING fts5(title,text,names,tokenize='\(declaration)')")
    try Self.bytes(text.replacing("\0", with: "\u{1}")).withUnsafeBytes {
      try database.insertTexts(into: "t", 1, (title.replacing("\0", with: "\u{1}"), $0, ""))
    }
    let row = try database.query(
      "SELECT highlight(t,0,'[',']'), snippet(t,1,'[',']','…',24) FROM t WHERE t MATCH ?", query
    ).rows.first
    return row.map { ($0[0].text ?? "", $0[1].text ?? "") }
  }

  @Test(arguments: [false, true]) func marksOccurrences(keepingDiacritics keeps: Bool) throws {
    var random = Pseudorandom(seed: keeps ? 51 : 52)
    var (marks, same, compared) = (0, 0, 0)
    let count = CaseSample.count(1000, ofLongRun: 3000)
    for _ in 0..<count {
      let title = Self.text(&random, random.number(below: 6))
      let text = Self.text(&random, [0, 5, 30, 200].randomElement(using: &random)!)
      let query = Self.query(&random)
      let highlighter = try highlighter(query, keepingDiacritics: keeps)
      let scan = WordScan(keepingDiacritics: keeps)
      let found = try places(highlighter, title, text)
      let phrases = try WordQuery(query, scan).phrases.map(\.phrase)
      func model(_ text: String, _ column: WordColumns) -> [Range<Int>] {
        Self.merged(phrases.filter { $0.columns.contains(column) }.flatMap { Self.places(of: $0, in: text, scan) })
      }
      #expect(found.title == model(title, .title), "\(query) in \(title)")
      // The excerpt is a part of the text, and has the model's marks.
      let (bytes, all) = (Self.bytes(text), model(text, .text))
      var excerpt = found.snippet.text[...]
      let isCut = (start: excerpt.hasPrefix("…"), end: excerpt.hasSuffix("…"))
      if isCut.start { excerpt.removeFirst() }
      if isCut.end, !excerpt.isEmpty { excerpt.removeLast() }
      let part = Self.bytes(String(excerpt))
      let starts = (0...bytes.count - part.count).filter { bytes[$0..<$0 + part.count].elementsEqual(part) }
      let offset = isCut.start ? "…".utf8.count : 0
      let isRight = starts.contains { start in
        let range = start..<start + part.count
        guard (start > 0) == isCut.start, (range.upperBound < bytes.count) == isCut.end else { return false }
        let expected = all.map { $0.clamped(to: range) }.filter { !$0.isEmpty }
        return expected.map { $0.lowerBound - start + offset..<$0.upperBound - start + offset } == found.snippet.ranges
      }
      #expect(isRight, "\(query) in \(text.debugDescription): \(found.snippet)")
      #expect(found.snippet.ranges.isEmpty == all.isEmpty, "\(query) in \(text): \(found.snippet)")
      marks += found.title.count + found.snippet.ranges.count
      var words = 0
      part.withUnsafeBytes {
        scan.forEachWord(in: $0) { form, _ in
          words += WordScan.isGap(form) ? 0 : 1; return true
        }
      }
      #expect(words <= 24, "\(found.snippet)")
      // FTS5 marks only documents that match the whole query.
      guard let old = try marksOfFTS5(query, title, text, keeps: keeps) else { continue }
      var shown = ""
      var place = 0
      for range in found.title {
        shown += String(decoding: Self.bytes(title)[place..<range.lowerBound], as: UTF8.self)
        shown += "[" + String(decoding: Self.bytes(title)[range], as: UTF8.self) + "]"
        place = range.upperBound
      }
      shown += String(decoding: Self.bytes(title)[place...], as: UTF8.self)
      #expect(shown.replacing("\0", with: "\u{1}") == old.0, "\(query)")
      #expect(old.1.contains("[") == !found.snippet.ranges.isEmpty, "\(query)")
      compared += 1
      let plain = old.1.filter { !"[]".contains($0) }
      same += plain == found.snippet.text.replacing("\0", with: "\u{1}") ? 1 : 0
    }
    // FTS5 chooses other words around the same occurrences.
    #expect(marks > count && compared > count / 6 && same > compared / 5)
  }

  @Test func marksWordsNearEachOther() throws {
    let far = String(repeating: "x ", count: 30)
    let text = "a \(far) b \(far) a y b \(far) b"
    let snippet = try snippet("NEAR(a b, 3)", text)
    #expect(marked(snippet) == ["a", "b"] && snippet.text.contains("a y b"))
    #expect(marked(try self.snippet("NEAR(a b, 100)", "b x a")) == ["b", "a"])
    // FTS5 may find other places of three phrases, so something is always marked.
    #expect(marked(try self.snippet("NEAR(a b, 3)", "a \(far) b")) == ["a"])
    var random = Pseudorandom(seed: 53)
    for _ in 0..<500 {
      let text = Self.text(&random, 60)
      let near = (0..<3).map { _ in Self.words.randomElement(using: &random)! }.joined(separator: " ")
      let query = "NEAR(\(near), \(random.number(below: 8)))"
      guard let old = try marksOfFTS5(query, "", text, keeps: false) else { continue }
      let isMarked = try !self.snippet(query, text).ranges.isEmpty
      #expect(old.1.contains("[") && isMarked, "\(query) in \(text)")
    }
  }

  @Test func leavesUnwantedWordsUnmarked() throws {
    #expect(marked(try snippet("a NOT (b NOT c)", "c b a")) == ["a"])
  }

  @Test func showsMostPhrasesTogether() throws {
    let far = String(repeating: "x ", count: 50)
    let snippet = try snippet("sealed OR store", "sealed \(far) store \(far) a sealed store \(far)")
    #expect(marked(snippet) == ["sealed", "store"])
    #expect(snippet.text.hasPrefix("…x x") && snippet.text.hasSuffix("x x…"))
    #expect(try self.snippet("sealed", "a sealed store\n").text == "a sealed store\n")
    #expect(try self.snippet("nothing", "\(far)end").text == String(repeating: "x ", count: 23) + "x…")
    #expect(try self.snippet("end", "\(far)end.\n").text == "…" + String(repeating: "x ", count: 23) + "end.\n")
    #expect(try self.snippet("end", "").text == "" && self.snippet("end", "+ +").text == "+ +")
  }

  // MARK: Bounds

  @Test func readsOnlyWhatAnExcerptNeeds() throws {
    let repeated = String(repeating: "the ", count: 200_000)
    for query in ["the", "th*", "^the", "\"the the the\"", "NEAR(the th*, 5)"] {
      let highlighter = try highlighter(query)
      #expect(try places(highlighter, "", repeated).snippet.ranges.count > 0, "\(query)")
      #expect(highlighter.finder.wordsRead < 100, "\(query)")
    }
    // An absent word is looked for up to the limit of occurrences.
    let highlighter = try highlighter("the OR absent")
    #expect(try places(highlighter, "", repeated).snippet.ranges.count == 24)
    #expect(highlighter.finder.wordsRead < PhraseFinder.occurrenceLimit + 100)
  }

  @Test func stopsInLongText() throws {
    let highlighter = try highlighter("absent OR the")
    let text = String(repeating: "word ", count: 1_700_000)
    var checks = 0
    #expect(throws: StoreError(.cancelled, "")) {
      try places(highlighter, "", text) { () throws(StoreError) in
        checks += 1
        if checks == 3 { throw StoreError(.cancelled, "stop") }
      }
    }
    #expect(highlighter.finder.wordsRead == 3 * PhraseFinder.checkInterval - 1)
    #expect(try places(highlighter, "", text + "the end").snippet.text.hasSuffix("word the end"))
  }

  @Test func cutsLongExcerpts() throws {
    let long = String(repeating: "é", count: 1 << 20)
    for (text, query) in [
      (long, "é*"), ("\(long) x \(long)", "x"), ("x\(String(repeating: " ", count: 1 << 20))y", "x y"),
      ("\(String(repeating: "+", count: 1 << 20)) 空", "空"), (String(repeating: "👩‍👩‍👧‍👦", count: 1 << 15), "x"),
    ] {
      let snippet = try snippet(query, text)
      #expect(snippet.text.utf8.count <= Highlighter.maximumBytes + 2 * "…".utf8.count)
      #expect(!snippet.text.contains("\u{FFFD}") && snippet.text.contains("…"))
      #expect(snippet.ranges.isEmpty == text.unicodeScalars.starts(with: "👩".unicodeScalars), "\(query)")
      #expect(snippet.ranges.allSatisfy { $0.upperBound <= snippet.text.utf8.count })
    }
  }

  @Test func limitsExcerptLength() throws {
    for count in [Highlighter.maximumBytes, Highlighter.maximumBytes + 1] {
      let text = String(repeating: "x", count: count)
      let snippet = try snippet("x*", text)
      #expect(snippet.text == (count == 2048 ? text : String(repeating: "x", count: 2048) + "…"))
      #expect(snippet.ranges == [0..<2048])
    }
  }

  @Test func findsPhrasesOfMaximumLength() throws {
    let phrase = (0..<WordQuery.maximumWordCount).map { "w\($0 % 7)" }.joined(separator: " ")
    let text = "w0 w1 \(phrase) w1"
    #expect(try snippet("\"\(phrase)\"", text).ranges.count == 1)
    #expect(try places(try highlighter("\"\(phrase)\""), text, "").title == [6..<6 + phrase.utf8.count])
  }
}
