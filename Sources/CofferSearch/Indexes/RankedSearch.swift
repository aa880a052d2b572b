internal import CofferDocuments
package import CofferEngine
internal import CofferPatterns
internal import CofferRecords
internal import CofferSQLite

/// Searches for words with the word index, and ranks the matching documents.
package struct RankedSearch {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  package func search(
    ranked query: String, in collection: DocumentCollection, limit: Int, after cursor: RankedMatches.Cursor?,
    withSnippets: Bool
  ) throws(StoreError) -> RankedMatches {
    guard let record = try transaction.collection(named: collection.name) else { throw .noIndex("words") }
    let generation = transaction.state.generation
    if let cursor {
      guard cursor.generation == generation else {
        throw StoreError(
          .misuse, "the next page belongs to generation \(cursor.generation), and the store is at \(generation)",
          hint: "search again from the first page")
      }
      guard cursor.query == query, cursor.collection == collection.name else {
        throw StoreError(.misuse, "the next page belongs to another search")
      }
    }
    return try StoreIndexes(transaction).withIndex(IndexPart.contents) { file throws(StoreError) in
      guard let file, let entry = file.declaration.collection(record.id), entry.uid == record.uid,
        entry.words != nil
      else { throw try StoreIndexes(transaction).lostDeclaration(of: IndexPart.contents) ?? .noIndex("words") }
      let words = WordScan(keepingDiacritics: entry.keepsDiacritics == true)
      let parsed = try WordQuery(query, words)
      let found = try RankedRows(file, record.id, transaction).best(parsed, limit: limit, after: cursor)
      let highlighter = withSnippets && !found.hits.isEmpty ? Highlighter(parsed, members: entry.members, words) : nil
      let matches = try matches(found.hits, in: record.id, highlighter)
      var next: RankedMatches.Cursor?
      if found.hasMore, let last = found.hits.last {
        next = RankedMatches.Cursor(
          generation: generation, query: query, collection: collection.name, rank: last.rank, id: DocumentID(last.id))
      }
      return RankedMatches(matches: matches, total: found.total, generation: generation, next: next)
    }
  }

  /// Returns the matches for hits, after decrypting their documents.
  private func matches(
    _ hits: [RankedRows.Hit], in collection: UInt32, _ highlighter: Highlighter?
  ) throws(StoreError) -> [RankedMatches.Match] {
    var matches: [RankedMatches.Match] = []
    for hit in hits {
      try transaction.requireOpen()
      if let match = try match(hit, in: collection, highlighter) { matches.append(match) }
    }
    return matches
  }

  /// Returns a hit's match, or `nil` if the document is missing or in another collection, which `checkIndexes` reports.
  private func match(
    _ hit: RankedRows.Hit, in collection: UInt32, _ highlighter: Highlighter?
  ) throws(StoreError) -> RankedMatches.Match? {
    do throws(StoreError) {
      return try transaction.reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(hit.id), withBody: highlighter != nil, within: transaction.limits)
        let head = try reader.opener.openHead(row)
        guard row.fields.collection == collection else { return nil }
        let header = try transaction.counted(DocumentHeader(row, head))
        let places = try highlighter?.places(
          title: header.title ?? "", try reader.opener.openBody(row, head), isValue: header.isJSON,
          names: header.attachmentCount == 0 ? [] : try names(of: hit.id), transaction.requireOpen)
        return RankedMatches.Match(
          header: header, score: -hit.rank, titleRanges: places?.title ?? [], snippet: places?.snippet,
          attachments: places?.names ?? [])
      }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      transaction.logger.warning("an index names document \(hit.id), which is not there: check the indexes")
      return nil
    }
  }

  private func names(of document: Int64) throws(StoreError) -> [SearchMatch.AttachmentName] {
    let attached = try AttachedNames(of: document...document, in: transaction)
    defer { attached.end() }
    return try attached.find(of: document).names
  }
}

/// The rows that FTS5 finds in a collection, ranked against the current rows.
struct RankedRows {
  struct Hit {
    let rank: Double
    let id: Int64

    /// Returns whether the hit comes before another hit in the result.
    func precedes(_ other: Hit) -> Bool { (rank, id) < (other.rank, other.id) }
  }

  private let file: IndexFile
  private let collection: UInt32
  private let transaction: StoreTransaction

  init(_ file: IndexFile, _ collection: UInt32, _ transaction: StoreTransaction) throws(StoreError) {
    self.file = file
    self.collection = collection
    self.transaction = transaction
    try file.prepareRank(of: collection)
  }

  /// Returns the best matches after the cursor, the total number of matches, and whether more matches follow.
  func best(_ query: WordQuery, limit: Int, after cursor: RankedMatches.Cursor?) throws(StoreError)
    -> (hits: [Hit], total: Int, hasMore: Bool)
  {
    guard let words = query.normalForm else { return ([], 0, false) }
    file.rank.countOnly(query.phrases.map(\.counts))
    let start = cursor.map { Hit(rank: $0.rank, id: $0.id.rawValue) }
    var best = BestHits(limit: max(limit, 0))
    var (total, behind) = (0, 0)
    try file.watching(transaction) { () throws(StoreError) in
      let table = ContentIndex.words(collection)
      let extra = try file.run { database throws(SQLiteError) in
        try database.statement("SELECT id FROM main.extra_row WHERE row=?")
      }
      let rows = try file.run { database throws(SQLiteError) in
        let rows = try database.statement(
          "SELECT rowid,\(FullTextRank.name)(\(table)) FROM main.\(table) WHERE \(table) MATCH ?")
        try rows.bind(words, at: 1)
        return rows
      }
      defer { rows.reset() }
      while try file.run({ _ throws(SQLiteError) in try rows.step() }) {
        guard !rows.isNull(at: 1) else { continue }
        var id = rows.int64(at: 0)
        if id >= ContentIndex.firstExtraRow { id = try document(ofExtraRow: id, extra) }
        total += 1
        let hit = Hit(rank: rows.double(at: 1), id: id)
        if let start, !start.precedes(hit) { continue }
        behind += 1
        best.add(hit)
      }
    }
    return (best.sorted(), total, behind > best.count)
  }

  private func document(ofExtraRow row: Int64, _ statement: Statement) throws(StoreError) -> Int64 {
    try file.run { _ throws(SQLiteError) in
      defer { statement.reset() }
      try statement.bind(row, at: 1)
      guard try statement.step() else { throw SQLiteError(.corrupt, "a row of no document") }
      return statement.int64(at: 0)
    }
  }
}

/// The best hits so far, in a heap with the worst hit first.
private struct BestHits {
  private let limit: Int
  private var hits: [RankedRows.Hit] = []

  init(limit: Int) {
    self.limit = limit
  }

  var count: Int { hits.count }

  mutating func add(_ hit: RankedRows.Hit) {
    if hits.count < limit {
      hits.append(hit)
      var place = hits.count - 1
      while place > 0, hits[(place - 1) / 2].precedes(hits[place]) {
        hits.swapAt(place, (place - 1) / 2)
        place = (place - 1) / 2
      }
    } else if let worst = hits.first, hit.precedes(worst) {
      hits[0] = hit
      sink()
    }
  }

  private mutating func sink() {
    var place = 0
    while true {
      var worst = place
      for child in [2 * place + 1, 2 * place + 2] where child < hits.count && hits[worst].precedes(hits[child]) {
        worst = child
      }
      guard worst != place else { return }
      hits.swapAt(place, worst)
      place = worst
    }
  }

  func sorted() -> [RankedRows.Hit] {
    hits.sorted { $0.precedes($1) }
  }
}
