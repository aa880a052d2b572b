/// A search for one pattern in texts. Use it on one thread at a time.
package final class PatternMatcher {
  private enum Engine {
    case literal(LiteralSearch)
    /// Determines whether the pattern matches anywhere.
    case automaton(LazyAutomaton)
    case characters(CharacterSearch)
  }

  private let pattern: Pattern
  private let engine: Engine
  /// The automaton that finds the end of a match, which is created on first use.
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

  /// Whether a text without a match doesn't have one in any of its parts either, because the pattern doesn't refer to
  /// the text's ends.
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

  /// Returns whether a text contains the pattern. The text must be valid UTF-8.
  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    switch engine {
    case .literal(let literal): literal.first(in: text) != nil
    case .automaton(let floating): floating.matches(text)
    case .characters(let characters): characters.first(in: text) != nil
    }
  }

  /// Returns the byte ranges of the matches in a text, which must be valid UTF-8. Matches are leftmost and longest, and
  /// don't overlap.
  ///
  /// - Parameter limit: The maximum number of ranges.
  /// - Returns: The ranges, or an empty array if finding an expression's exact ranges would take too long.
  package func ranges(in text: UnsafeRawBufferPointer, limit: Int) -> [Range<Int>] {
    var budget = Self.budget(for: text.count)
    return ranges(in: text, limit: limit, budget: &budget) ?? []
  }

  /// Returns the number of steps for finding exact ranges in texts with a total number of bytes.
  package static func budget(for byteCount: Int) -> Int { (1 << 20) + 64 * byteCount }

  /// Returns the ranges like ``ranges(in:limit:)``, with a shared budget for several texts.
  ///
  /// - Returns: `nil` after the budget is spent.
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

  /// Tries each position. The budget is needed because some expressions would take the square of the text's length.
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
