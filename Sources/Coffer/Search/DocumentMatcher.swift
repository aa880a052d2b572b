internal import CofferRecords

/// A search at work on one thread at a time: tells documents that hold a pattern from others, and where.
final class DocumentMatcher {
  /// Places told of one text.
  private static let maximumRanges = 100

  private let kind: SearchPattern.Kind
  private let fields: SearchFields
  private let floating: LazyAutomaton?
  /// Made when places are first asked for.
  private lazy var anchored = anchoredAutomaton()

  init(_ pattern: SearchPattern, in fields: SearchFields) {
    kind = pattern.kind
    self.fields = fields
    if case .program(let program) = pattern.kind {
      floating = LazyAutomaton(program, isFloating: true)
    } else {
      floating = nil
    }
  }

  private func anchoredAutomaton() -> LazyAutomaton? {
    guard case .program(let program) = kind else { return nil }
    return LazyAutomaton(program, isFloating: false)
  }

  // MARK: Whether

  func matches(_ head: HeadData, _ text: UnsafeRawBufferPointer) -> Bool {
    if fields.contains(.title), let title = head.title, matches(title) { return true }
    return fields.contains(.text) && matches(text)
  }

  private func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .literal(let literal): literal.first(in: bytes) != nil
    case .program: floating!.matches(bytes)
    }
  }

  // MARK: Where

  func match(_ header: DocumentHeader, _ text: UnsafeRawBufferPointer) -> SearchMatch {
    var titleRanges: [Range<Int>] = []
    if fields.contains(.title), var title = header.title {
      titleRanges = title.withUTF8 { ranges(in: UnsafeRawBufferPointer($0)) }
    }
    let textRanges = fields.contains(.text) ? ranges(in: text) : []
    return SearchMatch(header: header, titleRanges: titleRanges, textRanges: textRanges)
  }

  /// From left to right, none within another.
  private func ranges(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    switch kind {
    case .literal(let literal):
      var place = 0
      while ranges.count < Self.maximumRanges, let found = literal.first(in: text, from: place) {
        place = found + literal.bytes.count
        ranges.append(found..<place)
      }
    case .program:
      // Every place is tried, which for some expressions takes the square of the length: that is where it ends.
      var budget = (1 << 20) + 64 * text.count
      var place = 0
      while ranges.count < Self.maximumRanges, place <= text.count {
        if floating!.leavesIdleWhereMatchesBegin {
          place = floating!.nextCandidate(in: text, from: place)
        }
        guard budget > 0 else { return [] }
        budget -= 1
        let end = anchored!.longestMatch(in: text, from: place, budget: &budget)
        if let end { ranges.append(place..<end) }
        if let end, end > place {
          place = end
        } else {
          place += 1
          while place < text.count, text[place] & 0xC0 == 0x80 { place += 1 }
        }
      }
    }
    return ranges
  }
}
