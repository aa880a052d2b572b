package import CofferEngine
internal import CofferRecords
internal import CofferSearch

/// A document found by a search, valid during the call that receives it.
package struct FoundDocument {
  /// The header and text. The text is empty if only titles are searched, and JSON if the document is a stored value.
  package let document: OpenedDocument
  private let matcher: DocumentMatcher
  private let attachments: [SearchMatch.AttachmentName]

  init(_ document: OpenedDocument, _ matcher: DocumentMatcher, _ attachments: AttachmentMatches) {
    self.document = document
    self.matcher = matcher
    self.attachments = attachments[document.header.id]
  }

  /// The matched ranges, computed on each access at about the cost of another search.
  package var match: SearchMatch { matcher.match(document.header, document.utf8, attachments) }

  /// Returns the string or member name that contains a match, or `nil` for another document's match.
  ///
  /// The match's ranges count UTF-8 bytes of this string.
  package func string(of match: SearchMatch.Value) -> String? {
    JSONStringWalk.string(at: match.place, in: document.utf8)
  }

  /// Returns the string or attribute name that contains a match, or `nil` for another document's match.
  package func string(ofAttribute match: SearchMatch.Value) -> String? {
    document.header.attributes.canonicalJSON.withUnsafeBytes { JSONStringWalk.string(at: match.place, in: $0) }
  }
}

extension StoreReading where Self: ~Copyable {
  /// Calls a closure for every document that ``search(for:in:fields:limit:)`` finds, in order.
  ///
  /// Documents that don't match aren't kept in memory.
  ///
  /// - Parameters:
  ///   - names: The result of ``attachmentMatches(of:fields:)`` for the same pattern and fields, or `nil` to find them.
  ///   - progress: Called periodically with the number of searched documents. Throwing from it ends the search.
  ///   - body: Called on the calling thread with each document. The document's bytes are valid during the call.
  /// - Throws: Errors of `body`, `progress` and ``search(for:in:fields:limit:)``.
  package func forEachMatch(
    of pattern: SearchPattern, in collection: DocumentCollection, fields: SearchPattern.Fields = .all,
    limit: Int = .max, names: AttachmentMatches? = nil, progress: ProgressHandler? = nil,
    _ body: (FoundDocument) throws -> Void
  ) throws {
    guard limit > 0, let record = try transaction.collection(named: collection.name) else { return }
    var left = limit
    let attachments = if let names { names } else { try attachmentMatches(of: pattern, fields: fields) }
    if let candidates = try SubstringSearch(transaction).candidates(
      for: pattern, in: record, fields: fields, also: attachments.documents)
    {
      return try visit(candidates, for: pattern, fields, attachments, limit: limit, progress: progress, body)
    }
    var scan = RowScan(withTexts: fields.opensTexts, search: (pattern, fields))
    scan.countsAttachments = true
    scan.alsoVisited = attachments.documents
    if let progress {
      let total = try transaction.count(in: record)
      var done = 0
      scan.progress = {
        done += $0
        try progress(WorkProgress(done: done, total: max(done, total)))
      }
    }
    let matcher = DocumentMatcher(pattern, in: fields)
    do {
      try transaction.scan(record, scan) { header, text in
        try body(FoundDocument(OpenedDocument(header: header, utf8: text), matcher, attachments))
        left -= 1
        if left == 0 { throw EnoughFound() }
      }
    } catch is EnoughFound {}
  }

  /// Returns the attachments with matching names, for a search of several collections.
  ///
  /// Decrypts every attachment row in the store, unless `fields` excludes names.
  package func attachmentMatches(of pattern: SearchPattern, fields: SearchPattern.Fields) throws(StoreError)
    -> AttachmentMatches
  {
    try fields.contains(.attachmentNames) ? AttachmentMatches(of: pattern, in: transaction) : AttachmentMatches()
  }

  /// Searches an index's candidates in order, because only their texts show whether they match.
  private func visit(
    _ candidates: [DocumentHeader], for pattern: SearchPattern, _ fields: SearchPattern.Fields,
    _ attachments: AttachmentMatches, limit: Int, progress: ProgressHandler?, _ body: (FoundDocument) throws -> Void
  ) throws {
    let matcher = DocumentMatcher(pattern, in: fields)
    var left = limit
    for (index, header) in candidates.enumerated() {
      try transaction.requireOpen()
      try SubstringSearch(transaction).withMatch(
        header.id, matcher, withText: fields.opensTexts, isFound: !attachments[header.id].isEmpty
      ) {
        try body(FoundDocument($0, matcher, attachments))
        left -= 1
      }
      if (index + 1) % 64 == 0 { try progress?(WorkProgress(done: index + 1, total: candidates.count)) }
      if left == 0 { return }
    }
    try progress?(WorkProgress(done: candidates.count, total: candidates.count))
  }

  /// Returns the documents of a collection that contain a pattern, in order, with the matched ranges.
  ///
  /// Decrypts, verifies and searches documents on all cores. The result contains headers and ranges without texts. In a
  /// stored value, the search reads strings as an app does, instead of their JSON (``SearchPattern/Fields/text``).
  ///
  /// If the collection has a substrings index, searching for a text of three or more letters only decrypts documents
  /// that may contain it. The result is the same.
  ///
  /// - Parameters:
  ///   - pattern: The text or regular expression.
  ///   - collection: The collection. If it's missing, there are no matches.
  ///   - fields: The parts to search. The default is texts, titles and attachment names.
  ///   - limit: The maximum number of returned documents.
  /// - Throws: `damaged` with the first damaged document's ID, even if the document doesn't match. Only decrypted
  ///   documents are checked.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchPattern.Fields = .all,
    limit: Int = .max
  ) throws(StoreError) -> [SearchMatch] {
    var matches: [SearchMatch] = []
    try expectingStoreErrors {
      try forEachMatch(of: pattern, in: collection, fields: fields, limit: limit) { matches.append($0.match) }
    }
    return matches
  }

  /// Returns the ranges of a pattern in a document, or `nil` if the document doesn't contain it.
  ///
  /// Decrypts only this document's header, and its text if `fields` includes it.
  ///
  /// - Throws: `noSuchDocument`, or `damaged` with the ID.
  package func match(
    of pattern: SearchPattern, in id: DocumentID, fields: SearchPattern.Fields = .all
  ) throws(StoreError) -> SearchMatch? {
    var match: SearchMatch?
    try expectingStoreErrors {
      try transaction.requireOpen()
      let matcher = DocumentMatcher(pattern, in: fields)
      let attachments =
        try fields.contains(.attachmentNames)
        ? AttachmentMatches(of: pattern, in: id, transaction) : AttachmentMatches()
      try SubstringSearch(transaction).withMatch(
        id, matcher, withText: fields.opensTexts, isFound: !attachments[id].isEmpty
      ) {
        match = FoundDocument($0, matcher, attachments).match
      }
    }
    return match
  }
}
