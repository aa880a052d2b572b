internal import CofferEngine
internal import CofferPatterns

/// Finds a query's words in decrypted documents, as ranges in titles and names, and excerpts from texts.
final class Highlighter {
  /// The maximum size of an excerpt. A longer excerpt is cut within its words.
  static let maximumBytes = 2048

  let finder: PhraseFinder
  private let words: WordScan
  private let text: IndexedText

  /// - Parameters:
  ///   - members: The members whose words the index contains, or `nil` for entire texts.
  ///   - words: A scanner that finds words like the collection's index.
  init(_ query: WordQuery, members: [String]?, _ words: WordScan) {
    finder = PhraseFinder(query, words)
    self.words = words
    text = IndexedText(members: members)
  }

  typealias Places = (title: [Range<Int>], snippet: RankedMatches.Snippet, names: [SearchMatch.AttachmentName])

  /// Returns the title's matching ranges, an excerpt from the text, and the attachments' matching names.
  ///
  /// - Parameter check: Called regularly while reading a long text. If it throws, the work ends.
  func places(
    title: String, _ text: UnsafeRawBufferPointer, isValue: Bool, names: [SearchMatch.AttachmentName] = [],
    _ check: () throws(StoreError) -> Void
  ) throws(StoreError) -> Places {
    let result = self.text.with(text, isValue: isValue) { text in
      Result { () throws(StoreError) in try places(title, text, names, check) }
    }
    return try result.get()
  }

  private func places(
    _ title: String, _ text: UnsafeRawBufferPointer, _ names: [SearchMatch.AttachmentName],
    _ check: () throws(StoreError) -> Void
  ) throws(StoreError) -> Places {
    let joined = IndexedDocument.joined(names)
    var inTitle = try occurrences(in: title, .title, ignoringDistance: false, check)
    var inNames = try occurrences(in: joined, .names, ignoringDistance: false, check)
    var inText = try finder.occurrences(in: text, .text, isForExcerpt: true, check)
    if finder.hasGroups, inTitle.isEmpty, inText.isEmpty, inNames.isEmpty {
      inTitle = try occurrences(in: title, .title, ignoringDistance: true, check)
      inNames = try occurrences(in: joined, .names, ignoringDistance: true, check)
      inText = try finder.occurrences(in: text, .text, ignoringDistance: true, isForExcerpt: true, check)
    }
    return (
      Self.merged(inTitle.map(\.place)), excerpt(from: text, inText),
      Self.matches(of: Self.merged(inNames.map(\.place)), in: names)
    )
  }

  /// Returns the names that contain ranges of the joined names, with the ranges in each name.
  private static func matches(
    of ranges: [Range<Int>], in names: [SearchMatch.AttachmentName]
  ) -> [SearchMatch.AttachmentName] {
    guard !ranges.isEmpty else { return [] }
    var start = 0
    return names.compactMap { name in
      let place = start..<start + name.name.utf8.count
      start = place.upperBound + 1
      let found = ranges.map { $0.clamped(to: place) }.filter { !$0.isEmpty }.prefix(DocumentMatcher.maximumRanges)
      guard !found.isEmpty else { return nil }
      return SearchMatch.AttachmentName(
        attachment: name.attachment, name: name.name,
        ranges: found.map { $0.lowerBound - place.lowerBound..<$0.upperBound - place.lowerBound })
    }
  }

  private func occurrences(
    in line: String, _ column: WordColumns, ignoringDistance: Bool, _ check: () throws(StoreError) -> Void
  ) throws(StoreError) -> [PhraseFinder.Occurrence] {
    var line = line
    let result = line.withUTF8 { utf8 in
      Result { () throws(StoreError) in
        try finder.occurrences(
          in: UnsafeRawBufferPointer(utf8), column, ignoringDistance: ignoringDistance, isForExcerpt: false, check)
      }
    }
    return try result.get()
  }

  // MARK: Excerpts

  private func excerpt(
    from text: UnsafeRawBufferPointer, _ found: [PhraseFinder.Occurrence]
  ) -> RankedMatches.Snippet {
    let best = Self.best(of: found)
    var range = range(in: text, around: best)
    if range.count > Self.maximumBytes {
      let focus = max(best.map(\.place.lowerBound) ?? 0, range.lowerBound)
      let lower = Self.start(ofCharacterAt: max(range.lowerBound, focus - Self.maximumBytes / 4), text)
      range = lower..<Self.start(ofCharacterAt: min(range.upperBound, lower + Self.maximumBytes), text)
    }
    let cut = "…"
    let start = range.lowerBound - (range.lowerBound > 0 ? cut.utf8.count : 0)
    let marks = Self.merged(found.map { $0.place.clamped(to: range) }.filter { !$0.isEmpty })
    return RankedMatches.Snippet(
      text: (range.lowerBound > 0 ? cut : "") + String(decoding: text[range], as: UTF8.self)
        + (range.upperBound < text.count ? cut : ""),
      ranges: marks.map { $0.lowerBound - start..<$0.upperBound - start })
  }

  /// The occurrences in an excerpt, as the first word's number and the range of bytes.
  private typealias Window = (word: Int, anchor: Int, place: Range<Int>)

  /// Returns the first nearby occurrences with the most phrases.
  private static func best(of found: [PhraseFinder.Occurrence]) -> Window? {
    var counts = [Int](repeating: 0, count: 1 + (found.map(\.phrase).max() ?? 0))
    var (distinct, most, end) = (0, 0, 0)
    var best: Window?
    for first in found {
      var upper = first.place.upperBound
      while end < found.count, found[end].word - first.word < PhraseFinder.excerptWords {
        if counts[found[end].phrase] == 0 { distinct += 1 }
        counts[found[end].phrase] += 1
        upper = found[end].place.upperBound
        end += 1
        guard distinct > most else { continue }
        most = distinct
        best = (first.word, first.anchor, first.place.lowerBound..<max(upper, first.place.upperBound))
      }
      counts[first.phrase] -= 1
      if counts[first.phrase] == 0 { distinct -= 1 }
    }
    return best
  }

  /// Returns an excerpt's byte range, with some words before and after the window.
  private func range(in text: UnsafeRawBufferPointer, around window: Window?) -> Range<Int> {
    let anchor = window?.anchor ?? 0
    let shown = window?.place ?? 0..<0
    // The words starting at the anchor, up to one more than the excerpt can have.
    var places: [Range<Int>] = []
    var after = 0
    words.forEachWord(in: UnsafeRawBufferPointer(rebasing: text[anchor...])) { form, place in
      guard !WordScan.isGap(form) else { return true }
      let place = place.lowerBound + anchor..<place.upperBound + anchor
      places.append(place)
      if place.lowerBound >= shown.upperBound { after += 1 }
      return after <= PhraseFinder.excerptWords
    }
    let before = places.count { $0.lowerBound < shown.lowerBound }
    let spare = max(PhraseFinder.excerptWords - (places.count - before - after), 0)
    let first = before - min(before, max(spare / 2, spare - after))
    let end = min(first + PhraseFinder.excerptWords, places.count)
    let isAtStart = first == 0 && window?.word ?? 0 <= PhraseFinder.excerptWords
    return
      (isAtStart || places.isEmpty ? 0 : places[first].lowerBound)..<(end == places.count
      ? text.count : places[end - 1].upperBound)
  }

  /// Returns the start of the UTF-8 character that contains a byte.
  private static func start(ofCharacterAt place: Int, _ text: UnsafeRawBufferPointer) -> Int {
    var place = place
    while place > 0, place < text.count, UTF8.isContinuation(text[place]) { place -= 1 }
    return place
  }

  /// Returns ranges in ascending order after merging overlapping ranges.
  private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges {
      if let last = merged.last, range.lowerBound < last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}
