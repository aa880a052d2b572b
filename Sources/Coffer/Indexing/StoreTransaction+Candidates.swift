internal import CofferDocuments
internal import CofferRecords
internal import CofferSQLite

extension StoreTransaction {
  /// The documents that may hold a pattern, in the collection's order, by its index of substrings.
  ///
  /// - Returns: nil where a scan is as good: without such an index, for an expression, for less than three letters, for
  ///   fields that are not indexed, for many candidates, and for an index that is behind by more than memory may hold.
  func candidates(for pattern: SearchPattern, in record: CollectionRecord, fields: SearchFields) throws(StoreError)
    -> [DocumentHeader]?
  {
    guard hasIndexes, fields.isSubset(of: .all), let text = pattern.text else { return nil }
    let trigrams = Trigrams(SubstringFolding().folded(text))
    guard !trigrams.query.isEmpty else { return nil }
    let ids: [Int64]?
    do throws(StoreError) {
      ids = try withIndex(IndexPart.contents) { file throws(StoreError) in
        guard let file, let entry = file.declaration.collection(record.id), entry.uid == record.uid,
          entry.hasSubstrings
        else { return nil }
        return try file.candidates(trigrams.query, in: record.id, limit: Int(state.count / 4), self)
      }
    } catch {
      guard error.code == .indexBehind else { throw error }
      return nil
    }
    guard let ids else { return nil }
    var headers: [DocumentHeader] = []
    for id in ids {
      do throws(StoreError) {
        let header = try reading { reader throws(StoreError) in
          try reader.header(DocumentID(rawValue: id), within: limits)
        }
        if header.collection.rawValue == record.id { headers.append(header) }
      } catch {
        // An old page that was put back names it.
        guard error.code == .noSuchDocument else { throw error }
        logger.warning("an index names document \(id), which is not there: check the indexes")
      }
    }
    return headers.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
  }

  /// Opens a candidate; calls a closure with it if it holds what the matcher looks for.
  func withMatch(
    _ id: DocumentID, _ matcher: DocumentMatcher, withText: Bool, _ body: (OpenedDocument) throws -> Void
  ) throws {
    let reader = connection.takeReader()
    defer { connection.giveBack(reader) }
    let row = try reader.row(id, withBody: withText, within: limits)
    let head = try reader.opener.openHead(row)
    let text = withText ? try reader.opener.openBody(row, head) : UnsafeRawBufferPointer(start: nil, count: 0)
    guard matcher.matches(head, text, isValue: row.fields.isJSON) else { return }
    try body(OpenedDocument(header: DocumentHeader(row, head), utf8: text))
  }
}

/// A folded text as a query of FTS5: every three letters in a row, all of which a document must hold.
private struct Trigrams {
  /// More narrow the candidates no further.
  private static let limit = 32

  let query: String

  init(_ folded: String) {
    let letters = Array(folded.unicodeScalars)
    let starts = Array(letters.indices.dropLast(2))
    let step = max(1, (starts.count + Self.limit - 1) / Self.limit)
    let parts = stride(from: 0, to: starts.count, by: step).map { start in
      var part = String.UnicodeScalarView()
      for letter in letters[start..<start + 3] {
        part.append(letter)
        if letter == "\"" { part.append(letter) }
      }
      return "\"\(String(part))\""
    }
    query = parts.joined(separator: " ")
  }
}

extension IndexFile {
  /// The documents whose current rows match a query of substrings; nil if there are more than `limit`.
  fileprivate func candidates(
    _ query: String, in collection: UInt32, limit: Int, _ transaction: StoreTransaction
  ) throws(StoreError) -> [Int64]? {
    try watching(transaction) { () throws(StoreError) in
      try run { database throws(SQLiteError) in
        let outdated = try outdatedRows(of: collection)
        let table = ContentIndex.substrings(collection)
        let rows = try database.statement("SELECT rowid FROM main.\(table) WHERE \(table) MATCH ?")
        defer { rows.reset() }
        try rows.bind(query, at: 1)
        let extra = try database.statement("SELECT id FROM main.extra_row WHERE row=?")
        defer { extra.reset() }
        var ids: [Int64] = []
        while try rows.step() {
          var id = rows.int64(at: 0)
          if outdated.contains(id) { continue }
          if id >= ContentIndex.firstExtraRow {
            extra.reset()
            try extra.bind(id, at: 1)
            guard try extra.step() else { throw SQLiteError(.corrupt, "a row of no document") }
            id = extra.int64(at: 0)
          }
          guard ids.count < limit else { return nil }
          ids.append(id)
        }
        return ids
      }
    }
  }
}
