internal import CofferRecords

/// A document found by a search, valid during the call that it is passed to.
public struct FoundDocument {
  /// Header and text; the text is empty if only titles are searched. Its text is JSON if the document is a stored
  /// value.
  public let document: OpenedDocument
  private let matcher: DocumentMatcher

  init(_ document: OpenedDocument, _ matcher: DocumentMatcher) {
    self.document = document
    self.matcher = matcher
  }

  /// The ranges of the matches; computed on each access, at about the cost of another search.
  public var match: SearchMatch { matcher.match(document.header, document.utf8) }

  /// The string, or name of a member, that a match of this document is in; nil for a match of another document.
  ///
  /// The match's ranges count the bytes of its UTF-8.
  public func string(of match: ValueMatch) -> String? {
    JSONStringWalk.string(at: match.place, in: document.utf8)
  }

  /// The string, or name of an attribute, that a match in the attributes is in; nil for a match of another document.
  public func string(ofAttribute match: ValueMatch) -> String? {
    document.header.attributes.canonicalJSON.withUnsafeBytes { JSONStringWalk.string(at: match.place, in: $0) }
  }
}

extension ReadScope where Self: ~Copyable {
  /// Calls a closure for every document of a collection that holds a pattern, in order.
  ///
  /// Documents are opened, verified and searched on all cores; memory holds none of those without a match. In a stored
  /// value the search reads the strings, as an app reads them, not the JSON; see ``SearchFields/text``.
  ///
  /// With an index of substrings, a text of three letters or more opens only the documents that may hold it. The
  /// documents found are the same.
  ///
  /// - Parameters:
  ///   - pattern: the text or regular expression.
  ///   - collection: the collection; one that doesn't exist yet has no matches.
  ///   - fields: the parts to search; texts and titles by default.
  ///   - limit: the most documents to find.
  ///   - progress: called now and then with the number of documents searched, of those of the collection; an error that
  ///     it throws ends the search.
  ///   - body: called on the calling thread with each document found, whose bytes are valid during the call.
  /// - Throws: the errors of `body` and `progress`; `damaged` with the id at the first damaged document that is opened,
  ///   whether it holds the pattern or not.
  public func forEachMatch(
    of pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max,
    progress: ProgressHandler? = nil, _ body: (FoundDocument) throws -> Void
  ) throws {
    guard limit > 0, let record = try transaction.collection(named: collection.name) else { return }
    var left = limit
    if let candidates = try transaction.candidates(for: pattern, in: record, fields: fields) {
      return try visit(candidates, for: pattern, fields, limit: limit, progress: progress, body)
    }
    var scan = RowScan(withTexts: fields.opensTexts, search: (pattern, fields), progress: nil)
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
        try body(FoundDocument(OpenedDocument(header: header, utf8: text), matcher))
        left -= 1
        if left == 0 { throw EnoughFound() }
      }
    } catch is EnoughFound {}
  }

  /// Opens the candidates of an index in order: their texts decide.
  private func visit(
    _ candidates: [DocumentHeader], for pattern: SearchPattern, _ fields: SearchFields, limit: Int,
    progress: ProgressHandler?, _ body: (FoundDocument) throws -> Void
  ) throws {
    let matcher = DocumentMatcher(pattern, in: fields)
    var left = limit
    for (index, header) in candidates.enumerated() {
      try transaction.requireOpen()
      try transaction.withMatch(header.id, matcher, withText: fields.opensTexts) {
        try body(FoundDocument($0, matcher))
        left -= 1
      }
      if (index + 1) % 64 == 0 { try progress?(WorkProgress(done: index + 1, total: candidates.count)) }
      if left == 0 { return }
    }
    try progress?(WorkProgress(done: candidates.count, total: candidates.count))
  }

  /// The documents of a collection that hold a pattern, in order, with the ranges of the matches.
  ///
  /// Opens the documents that ``forEachMatch(of:in:fields:limit:progress:_:)`` opens; memory holds the headers and
  /// ranges of those found, and no text.
  ///
  /// - Returns: at most `limit` matches; empty if nothing holds the pattern.
  /// - Throws: `damaged` with the id at the first damaged document that is opened, whether it holds the pattern or not.
  public func search(
    for pattern: SearchPattern, in collection: DocumentCollection, fields: SearchFields = .all, limit: Int = .max
  ) throws(StoreError) -> [SearchMatch] {
    var matches: [SearchMatch] = []
    try searching {
      try forEachMatch(of: pattern, in: collection, fields: fields, limit: limit) { matches.append($0.match) }
    }
    return matches
  }

  /// The ranges of a pattern in one document.
  ///
  /// Opens this document only: its header, and its text if `fields` asks for one.
  ///
  /// - Returns: nil if the document does not hold the pattern.
  /// - Throws: `noSuchDocument`; `damaged` with the id.
  public func match(
    of pattern: SearchPattern, in id: DocumentID, fields: SearchFields = .all
  ) throws(StoreError) -> SearchMatch? {
    var match: SearchMatch?
    try searching {
      try transaction.requireOpen()
      let matcher = DocumentMatcher(pattern, in: fields)
      try transaction.withMatch(id, matcher, withText: fields.opensTexts) { match = FoundDocument($0, matcher).match }
    }
    return match
  }

  /// Runs a search whose closures throw only `StoreError`.
  private func searching(_ body: () throws -> Void) throws(StoreError) {
    do {
      try body()
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a search threw \(type(of: error))")
    }
  }
}
