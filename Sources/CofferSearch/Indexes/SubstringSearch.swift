package import CofferDocuments
package import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// Searches for substrings with the substring index.
package struct SubstringSearch {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Returns the documents that may contain a pattern, in the collection's order, from the substring index.
  ///
  /// - Parameter also: Documents that are returned if they're in the collection.
  /// - Returns: `nil` if a scan is preferable: without a substring index, for regular expressions, fewer than three
  ///   letters, unindexed fields or many candidates, or if updating the index exceeds the memory limit.
  package func candidates(
    for pattern: SearchPattern, in record: CollectionRecord, fields: SearchPattern.Fields, also: Set<Int64>
  ) throws(StoreError) -> [DocumentHeader]? {
    guard transaction.hasIndexes, fields.isSubset(of: .all), let text = pattern.literal else { return nil }
    let trigrams = Trigrams(SubstringFolding().folded(text))
    guard !trigrams.query.isEmpty else { return nil }
    let ids: [Int64]?
    do throws(StoreError) {
      ids = try StoreIndexes(transaction).withIndex(IndexPart.contents) { file throws(StoreError) in
        guard let file, let entry = file.declaration.collection(record.id), entry.uid == record.uid,
          entry.hasSubstrings
        else { return nil }
        return try file.candidates(trigrams.query, in: record.id, limit: Int(transaction.state.count / 4), transaction)
      }
    } catch {
      guard error.code == .indexBehind else { throw error }
      return nil
    }
    guard let ids else { return nil }
    let others = also.subtracting(ids)
    var headers: [DocumentHeader] = []
    for id in ids + others {
      do throws(StoreError) {
        let header = try transaction.reading { reader throws(StoreError) in
          try reader.header(DocumentID(rawValue: id), within: transaction.limits)
        }
        if header.collection.rawValue == record.id { headers.append(header) }
      } catch {
        // A key holder's index can list missing documents.
        guard error.code == .noSuchDocument else { throw error }
        transaction.logger.warning("an index names document \(id), which is not there: check the indexes")
      }
    }
    return headers.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
  }

  /// Decrypts a candidate, and calls `body` with it if it matches, or if it's already found.
  package func withMatch(
    _ id: DocumentID, _ matcher: DocumentMatcher, withText: Bool, isFound: Bool, _ body: (OpenedDocument) throws -> Void
  ) throws {
    let reader = transaction.connection.takeReader()
    defer { transaction.connection.giveBack(reader) }
    let row = try reader.row(id, withBody: withText, within: transaction.limits)
    let head = try reader.opener.openHead(row)
    let text = withText ? try reader.opener.openBody(row, head) : UnsafeRawBufferPointer(start: nil, count: 0)
    guard isFound || matcher.matches(head, text, isValue: row.fields.isJSON) else { return }
    try body(OpenedDocument(header: transaction.counted(DocumentHeader(row, head)), utf8: text))
  }
}

/// An FTS5 query for documents that contain the three-letter sequences of a folded text.
private struct Trigrams {
  /// The maximum number of sequences, because more sequences don't narrow the candidates further.
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
  /// Returns the documents whose current rows match a substring query, or `nil` if there are more than `limit`.
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
