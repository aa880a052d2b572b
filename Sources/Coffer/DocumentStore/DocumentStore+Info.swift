internal import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

// MARK: - Without a key

extension DocumentStore {
  /// Returns a store's size, document counts and slots, without a key and without verification.
  ///
  /// Reads the header, slots and counts without decrypting data. The counts are index scans. The file is unchanged.
  ///
  /// - Throws: `noSuchFile`, `notAStore`, `otherFormat`, `unsafeFile`, `damaged` for a header or slot with invalid
  ///   values, or `locked` if another process keeps its lock for longer than `wait`, where `nil` waits indefinitely.
  public static func info(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> StoreInfo {
    try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      let (header, slots) = try file.readHeader()
      guard let titles = CreateOptions.Titles(rawValue: header.titles) else {
        throw .damagedStore("unknown title mode")
      }
      var listed: [KeySlot] = []
      for slot in slots { listed.append(try KeySlot(slot, isTest: header.isTest, opened: false)) }
      guard try file.database.isFinite(.order, .collections) else { throw .endlessRows }
      let database = file.database.connection
      return try translatingErrors { () throws(SQLiteError) in
        let collections = countsByNumber(try database.query(SQL.documentsPerCollection).rows)
        let documents = collections.reduce(0) { $0 + $1.count }
        let numbers = try database.query(SQL.collections).rows.compactMap { row in
          if case .integer(let number) = row[0] { number } else { nil }
        }
        let counts = Dictionary(collections.map { ($0.number, $0.count) }, uniquingKeysWith: { first, _ in first })
        return StoreInfo(
          storeID: Hexadecimal.text(header.storeID), pin: StorePin(header), fileBytes: try database.fileSize(),
          format: Int(header.format), journal: file.isWriteAhead ? "wal" : "rollback", titles: titles,
          isTest: header.isTest, isPadded: header.isPadded, documents: documents,
          collections: Set(numbers).union(counts.keys).sorted().map {
            (CollectionID($0), counts[$0] ?? 0)
          },
          slots: listed, epochs: try epochs(of: documents, in: database),
          pageSize: Int(try database.integerPragma("page_size") ?? 0),
          pageCount: Int(try database.integerPragma("page_count") ?? 0),
          freePages: Int(try database.integerPragma("freelist_count") ?? 0),
          sqliteVersion: Database.libraryVersion, hasWALResetBug: Database.hasWALResetBug)
      }
    }
  }

  /// Returns the newest row's generation, which is the minimum generation of the store. Reads all rows. Doesn't need a
  /// key, and doesn't prove the generation.
  package static func newestRevision(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> UInt64 {
    try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      let database = file.database
      return UInt64(clamping: try database.integer(SQL.newestRevision, database.maximumRowCount()) ?? 0)
    }
  }

  /// Returns the number of documents in each epoch. Outside a rekey, all documents have the same epoch. Checking this
  /// takes a third of the time of sorting them.
  private static func epochs(of documents: Int, in database: Database) throws(SQLiteError) -> [(
    epoch: UInt32, count: Int
  )] {
    guard case .integer(let newest)? = try database.firstValue(SQL.newestEpoch) else { return [] }
    var counts = countsByNumber(try database.query(SQL.perOtherEpoch, newest, documents).rows)
    counts.append((newest, max(0, documents - counts.reduce(0) { $0 + $1.count })))
    return counts.map { (UInt32(clamping: $0.number), $0.count) }.sorted { $0.epoch < $1.epoch }
  }

  private static func countsByNumber(_ rows: [SQLiteRow]) -> [(number: Int64, count: Int)] {
    rows.compactMap { row in
      guard case .integer(let number) = row[0], case .integer(let count) = row[1] else { return nil }
      return (number, Int(count))
    }
  }

  /// Returns the problems of the encrypted rows without documents, which are values out of bounds and invalid lengths.
  private static func misfits(in database: StoreDatabase, hasAttachments: Bool) throws(StoreError) -> [String] {
    var problems: [String] = []
    func noting(_ work: () throws(StoreError) -> Void) throws(StoreError) {
      do throws(StoreError) {
        try work()
      } catch {
        guard !error.isTransient else { throw error }
        problems.append(error.message)
      }
    }
    let states = try database.rows(SQL.state, ofAtMost: StoreFormat.headerValueLimit).map { $0[0] }
    let stateCount = StoreState.byteCount + XAESKey.overhead
    if states.count != 1 || !isBlob(states[0], stateCount...stateCount) {
      problems.append("the state is not of a state's length")
    }
    let replicas = try database.rows(SQL.replicas, ofAtMost: StoreFormat.maximumSealedReplicas).map { $0[0] }
    let isRestored = try database.integer(SQL.isRestored) ?? -1
    if replicas.count != 1 || !isBlob(replicas[0], XAESKey.overhead...StoreFormat.maximumSealedReplicas)
      || !(0...1).contains(isRestored)
    {
      problems.append("the replicas are gone or out of their bounds")
    }
    for row in try database.rows(SQL.collections) {
      try noting { () throws(StoreError) in _ = try CollectionRow(columns: row.values, generation: .max) }
    }
    try noting { () throws(StoreError) in try DeletionWalk.forEach(database, within: .none) { _ in } }
    if hasAttachments {
      var walk = AttachmentWalk(database, within: .none, next: UInt64.max)
      try noting { () throws(StoreError) in
        try walk.forEach(refused: { problems.append($0.message) }) { _ in }
      }
    }
    return problems
  }

  /// Returns whether walks over all of these trees end, even if only because of damage.
  private static func areFinite(_ trees: [SQL.Tree], in database: StoreDatabase) throws(StoreError) -> Bool {
    for tree in trees {
      do throws(StoreError) {
        guard try database.isFinite(tree) else { return false }
      } catch {
        guard !error.isTransient else { throw error }
      }
    }
    return true
  }

  /// Appends a problem for each row that's out of bounds or doesn't match the other rows, and counts the documents.
  private static func checkRows(
    in database: Database, hasAttachments: Bool, _ problems: inout [String], count: inout Int
  ) throws(SQLiteError) {
    let statement = try database.statement(SQL.allWithBody)
    defer { statement.reset() }
    // The state can't be opened without the key, so check only the bounds that apply to every state.
    let limits = RowLimits.none
    while try statement.step() {
      count += 1
      do throws(StoreError) { _ = try RecordRow(statement.columns(), within: limits) } catch {
        problems.append(error.message)
      }
    }
    var searches = [
      (SQL.recordsWithoutBody, "the text of document %@ is missing"),
      (SQL.recordsWithTwoBodies, "document %@ has two texts"),
      (SQL.bodiesWithoutRecord, "a text without a document: %@"),
      (SQL.bodiesTooShort, "the text of document %@ is no blob of its place's length"),
      (SQL.recordsWithoutCollection, "collection #%@ is gone, but documents of it are there"),
    ]
    if hasAttachments {
      searches += [
        (SQL.chunksOutOfBounds, "chunk %@ is out of its bounds"),
        (SQL.attachmentsWithoutChunk, "the content of attachment %@ is missing"),
        (SQL.attachmentsWithoutRecord, "the document of attachment %@ is gone"),
      ]
    }
    for (sql, what) in searches {
      for row in try database.query(sql).rows {
        if case .integer(let number) = row[0] {
          problems.append(what.replacing("%@", with: String(number)))
        }
      }
    }
  }

  private static func isBlob(_ value: SQLiteValue, _ counts: ClosedRange<Int>) -> Bool {
    if case .blob(let bytes) = value { counts.contains(bytes.count) } else { false }
  }

  /// Checks the schema, SQLite's pages, the bodies, and the bounds, classes and lengths of all rows, including
  /// attachments and deletions. Doesn't need a key.
  ///
  /// Reads the whole file in one read transaction without changing it. If `isQuick` is `true`, skips SQLite's integrity
  /// check of the pages. A verdict without problems doesn't rule out an attack. To do that, use
  /// ``verify(_:against:requiring:allowingRekey:progress:)``.
  ///
  /// - Returns: The findings, with only ``Verdict/documents``, ``Verdict/problems`` and ``Verdict/unusableSlots``. Findings
  ///   aren't thrown.
  /// - Throws: `notAStore` or `otherFormat`, and errors of opening the file. `locked` if another process keeps its lock
  ///   for longer than `wait`, where `nil` waits indefinitely.
  public static func check(at url: URL, isQuick: Bool = false, wait: Duration? = .seconds(10)) throws(StoreError)
    -> Verdict
  {
    try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      var problems: [String] = []
      var unusableSlots: [KeySlot] = []
      var hasAttachments = false
      do throws(StoreError) {
        let (header, slots) = try file.readHeader()
        hasAttachments = header.hasAttachments
        if CreateOptions.Titles(rawValue: header.titles) == nil {
          problems.append("header titles is out of its bounds")
        }
        unusableSlots = try slots.unusable(isTest: header.isTest)
        // The copy differs from slots that were changed without a key.
        try header.requireSpare(file.database, slots: slots)
      } catch {
        guard error.code == .damaged || error.code == .parametersRefused else { throw error }
        problems.append(error.message)
      }
      var count = 0
      var trees: [SQL.Tree] = [.documents, .order, .bodies, .collections]
      if hasAttachments { trees += [.attachments, .chunks] }
      if try areFinite(trees, in: file.database) {
        do throws(StoreError) {
          try translatingErrors { () throws(SQLiteError) in
            try checkRows(in: file.database.connection, hasAttachments: hasAttachments, &problems, count: &count)
          }
        } catch {
          guard !error.isTransient else { throw error }
          problems.append(error.message)
        }
        do throws(StoreError) {
          problems += try misfits(in: file.database, hasAttachments: hasAttachments)
        } catch {
          guard !error.isTransient else { throw error }
          problems.append(error.message)
        }
      } else {
        problems.append(StoreError.endlessRows.message)
      }
      if !isQuick { problems += try integrityProblems(file.database) }
      return Verdict(documents: count, problems: problems, unusableSlots: unusableSlots)
    }
  }
}
