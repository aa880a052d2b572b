internal import CofferPatterns
internal import CofferRecords
internal import CofferSealing

/// A search for a pattern in the titles and texts of documents. One thread can use it at a time.
package final class DocumentMatcher {
  /// The maximum number of ranges reported for a title, text or value.
  package static let maximumRanges = 100

  let matcher: PatternMatcher
  let fields: SearchPattern.Fields
  /// Memory for a string with its escapes resolved, which is erased with the matcher.
  let unescaped = ScratchMemory()

  package init(_ pattern: SearchPattern, in fields: SearchPattern.Fields) {
    matcher = PatternMatcher(pattern.compiled)
    self.fields = fields
  }

  /// - Parameter isValue: Whether the text is a stored value's JSON.
  package func matches(_ head: HeadData, _ text: UnsafeRawBufferPointer, isValue: Bool) -> Bool {
    if fields.contains(.title), let title = head.title, matcher.matches(title) { return true }
    if fields.contains(.attributes), !head.attributes.isEmpty, valueMatches(head.attributes, strings: true) == true {
      return true
    }
    if isValue, fields.opensTexts, let matches = valueMatches(text, strings: fields.contains(.text)) { return matches }
    return fields.contains(.text) && matcher.matches(text)
  }

  /// - Parameter attachments: The matching names of the document's attachments.
  package func match(
    _ header: DocumentHeader, _ text: UnsafeRawBufferPointer, _ attachments: [SearchMatch.AttachmentName]
  ) -> SearchMatch {
    var titleRanges: [Range<Int>] = []
    if fields.contains(.title), var title = header.title {
      titleRanges = title.withUTF8 { ranges(in: UnsafeRawBufferPointer($0)) }
    }
    let attributes =
      fields.contains(.attributes) && !header.attributes.isEmpty
      ? header.attributes.canonicalJSON.withUnsafeBytes { matchesInValue($0, strings: true) } ?? [] : []
    if header.isJSON, fields.opensTexts, let values = matchesInValue(text, strings: fields.contains(.text)) {
      return SearchMatch(
        header: header, titleRanges: titleRanges, textRanges: [], values: values, attributes: attributes,
        attachments: attachments)
    }
    let textRanges = fields.contains(.text) ? ranges(in: text) : []
    return SearchMatch(
      header: header, titleRanges: titleRanges, textRanges: textRanges, values: [], attributes: attributes,
      attachments: attachments)
  }

  private func ranges(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    matcher.ranges(in: text, limit: Self.maximumRanges)
  }
}
