/// Searches texts for one pattern. Used by one thread at a time.
package final class PatternMatcher {
  private enum Engine {
    case literal(LiteralSearch)
    /// Finds whether the pattern matches anywhere.
    case automaton(LazyAutomaton)
    case characters(CharacterSearch)
  }

  private let pattern: Pattern
  private let engine: Engine
  /// Finds where a match ends. Built when ranges are first asked for.
  private lazy var anchored = anchoredAutomaton()

  package init(_ pattern: Pattern) {
    self.pattern = pattern
    engine =
      switch pattern.kind {
      case .literal(let literal): .literal(literal)
      case .program(let program): .automaton(LazyAutomaton(program, isFloating: true))
      case .characters(let text): .characters(CharacterSearch(text))
      }
  }

  /// A text without a match has none in any part of it either: the pattern does not look at the ends of a text.
  package var isLocal: Bool {
    switch pattern.kind {
    case .literal: true
    case .program(let program): !program.hasAssertions
    case .characters(let text): !text.beginsWithinCharacter
    }
  }

  private func anchoredAutomaton() -> LazyAutomaton? {
    guard case .program(let program) = pattern.kind else { return nil }
    return LazyAutomaton(program, isFloating: false)
  }

  /// Whether a text of valid UTF-8 holds the pattern.
  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    switch engine {
    case .literal(let literal): literal.first(in: text) != nil
    case .automaton(let floating): floating.matches(text)
    case .characters(let characters): characters.first(in: text) != nil
    }
  }

  /// The byte ranges of the matches in a text of valid UTF-8: leftmost first, each the longest, none overlapping.
  ///
  /// - Parameter limit: the most ranges to return.
  /// - Returns: no ranges where finding the exact ones of an expression would take too long.
  package func ranges(in text: UnsafeRawBufferPointer, limit: Int) -> [Range<Int>] {
    var budget = Self.budget(for: text.count)
    return ranges(in: text, limit: limit, budget: &budget) ?? []
  }

  /// The steps that finding exact ranges in texts of so many bytes may take.
  package static func budget(for byteCount: Int) -> Int { (1 << 20) + 64 * byteCount }

  /// As ``ranges(in:limit:)``, with one budget for several texts.
  ///
  /// - Returns: nil once the budget is spent.
  package func ranges(in text: UnsafeRawBufferPointer, limit: Int, budget: inout Int) -> [Range<Int>]? {
    switch engine {
    case .literal(let literal): ranges(of: literal, in: text, limit: limit)
    case .automaton(let floating): ranges(floating, anchored!, in: text, limit: limit, budget: &budget)
    case .characters(let characters): ranges(of: characters, in: text, limit: limit)
    }
  }

  private func ranges(of literal: LiteralSearch, in text: UnsafeRawBufferPointer, limit: Int) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var place = 0
    while ranges.count < limit, let found = literal.first(in: text, from: place) {
      place = found + literal.bytes.count
      ranges.append(found..<place)
    }
    return ranges
  }

  private func ranges(of characters: CharacterSearch, in text: UnsafeRawBufferPointer, limit: Int) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    while ranges.count < limit, let found = characters.first(in: text, from: ranges.last?.upperBound ?? 0) {
      ranges.append(found)
    }
    return ranges
  }

  /// Tries each place in turn. Some expressions would take the square of the text's length, so the budget ends that.
  private func ranges(
    _ floating: LazyAutomaton, _ anchored: LazyAutomaton, in text: UnsafeRawBufferPointer, limit: Int,
    budget: inout Int
  ) -> [Range<Int>]? {
    var ranges: [Range<Int>] = []
    var place = 0
    while ranges.count < limit, place <= text.count {
      if floating.leavesIdleWhereMatchesBegin {
        place = floating.nextCandidate(in: text, from: place)
      }
      guard budget > 0 else { return nil }
      budget -= 1
      let end = anchored.longestMatch(in: text, from: place, budget: &budget)
      if let end { ranges.append(place..<end) }
      if let end, end > place {
        place = end
      } else {
        place += 1
        while place < text.count, text[place] & 0xC0 == 0x80 { place += 1 }
      }
    }
    return ranges
  }
}
