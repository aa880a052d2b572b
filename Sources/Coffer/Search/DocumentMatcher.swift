internal import CofferPatterns
internal import CofferRecords

/// Searches the titles and texts of documents for one pattern. Used by one thread at a time.
final class DocumentMatcher {
  /// The most ranges reported for one title or text.
  private static let maximumRanges = 100

  private let matcher: PatternMatcher
  private let fields: SearchFields

  init(_ pattern: SearchPattern, in fields: SearchFields) {
    matcher = PatternMatcher(pattern.compiled)
    self.fields = fields
  }

  func matches(_ head: HeadData, _ text: UnsafeRawBufferPointer) -> Bool {
    if fields.contains(.title), let title = head.title, matcher.matches(title) { return true }
    return fields.contains(.text) && matcher.matches(text)
  }

  func match(_ header: DocumentHeader, _ text: UnsafeRawBufferPointer) -> SearchMatch {
    var titleRanges: [Range<Int>] = []
    if fields.contains(.title), var title = header.title {
      titleRanges = title.withUTF8 { ranges(in: UnsafeRawBufferPointer($0)) }
    }
    let textRanges = fields.contains(.text) ? ranges(in: text) : []
    return SearchMatch(header: header, titleRanges: titleRanges, textRanges: textRanges)
  }

  private func ranges(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    matcher.ranges(in: text, limit: Self.maximumRanges)
  }
}
