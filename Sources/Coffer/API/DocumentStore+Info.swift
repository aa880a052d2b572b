internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

// MARK: - Without a key

extension DocumentStore {
  /// Describes the store at `url`: size, number of documents, slots; needs no key, and verifies nothing.
  ///
  /// Reads header, slots and counts, which are index scans, and opens nothing. The file is not changed.
  ///
  /// - Throws: `noSuchFile`, `notAStore`, `otherFormat`, `unsafeFile`, `damaged` for a header or slot out of its
  ///   bounds, and `locked` if another process keeps its lock longer than `wait` (nil waits for ever).
  public static func info(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> StoreInfo {
    try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      let (header, slots) = try file.readHeader()
      guard let titles = TitleMode(rawValue: header.titles) else { throw .damagedStore("unknown title mode") }
      var listed: [KeySlot] = []
      for slot in slots { listed.append(try KeySlot(slot, isTest: header.isTest, opened: false)) }
      return try file.database.run { database throws(SQLiteError) in
        let collections = countsByNumber(try database.query(SQL.documentsPerCollection).rows)
        let documents = collections.reduce(0) { $0 + $1.count }
        let numbers = try database.query(SQL.collections).rows.compactMap { row in
          if case .integer(let number) = row[0] { number } else { nil }
        }
        let counts = Dictionary(collections.map { ($0.number, $0.count) }, uniquingKeysWith: { first, _ in first })
        return StoreInfo(
          storeID: Hexadecimal.text(header.storeID), pin: StorePin(header).line, fileBytes: try database.fileSize(),
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

  /// Number of documents in each epoch. Outside a rekey all have the same epoch; checking that no other epoch exists
  /// takes a third of the time of sorting them.
  private static func epochs(of documents: Int, in database: Database) throws(SQLiteError) -> [(
    epoch: UInt32, count: Int
  )] {
    guard case .integer(let newest)? = try database.firstValue(SQL.newestEpoch) else { return [] }
    var counts = countsByNumber(try database.query(SQL.perOtherEpoch, newest).rows)
    counts.append((newest, max(0, documents - counts.reduce(0) { $0 + $1.count })))
    return counts.map { (UInt32(clamping: $0.number), $0.count) }.sorted { $0.epoch < $1.epoch }
  }

  private static func countsByNumber(_ rows: [SQLiteRow]) -> [(number: Int64, count: Int)] {
    rows.compactMap { row in
      guard case .integer(let number) = row[0], case .integer(let count) = row[1] else { return nil }
      return (number, Int(count))
    }
  }

  /// Sealed rows with invalid lengths.
  private static func misfits(in database: Database) throws(SQLiteError) -> [String] {
    var problems: [String] = []
    let states = try database.query(SQL.state).rows.map { $0[0] }
    if states.count != 1 || !isBlob(states[0], StoreState.byteCount + XAESKey.overhead) {
      problems.append("the state is not of a state's length")
    }
    for row in try database.query(SQL.collections).rows {
      do throws(StoreError) {
        _ = try CollectionRow(row, generation: .max)
      } catch {
        problems.append(error.message)
      }
    }
    return problems
  }

  private static func isBlob(_ value: SQLiteValue, _ count: Int) -> Bool {
    if case .blob(let bytes) = value { bytes.count == count } else { false }
  }

  /// Checks everything that needs no key: schema, bounds, classes and lengths of every row, bodies, SQLite's pages.
  ///
  /// Reads the whole file in one read transaction, and never changes it. With `isQuick` it leaves out SQLite's own
  /// integrity check of the pages. A sound report proves nothing against an attacker:
  /// `verify` does.
  ///
  /// - Returns: the number of rows, and the findings in words.
  /// - Throws: `notAStore`, `otherFormat`, and errors of opening the file; findings are in the report. `locked` if
  ///   another process keeps its lock longer than `wait` (nil waits for ever).
  public static func check(at url: URL, isQuick: Bool = false, wait: Duration? = .seconds(10)) throws(StoreError)
    -> CheckReport
  {
    try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      var problems: [String] = []
      let database = file.database.connection
      var isTest = false
      do throws(StoreError) {
        let (header, slots) = try file.readHeader()
        isTest = header.isTest
        if TitleMode(rawValue: header.titles) == nil { problems.append("header titles is out of its bounds") }
        for slot in slots { _ = try slot.checkedParameters(isTest: isTest) }
      } catch {
        guard error.code == .damaged || error.code == .parametersRefused else { throw error }
        problems.append(error.message)
      }
      var count = 0
      do throws(SQLiteError) {
        let statement = try database.statement(SQL.allWithBody)
        defer { statement.reset() }
        // Without the key the state can't be opened: only bounds of every state are checked.
        let limits = RowLimits.none
        while try statement.step() {
          count += 1
          do throws(StoreError) { _ = try RecordRow(statement.columns(), within: limits) } catch {
            problems.append(error.message)
          }
        }
        problems += try misfits(in: database)
        for (sql, what) in [
          (SQL.recordsWithoutBody, "the text of document %@ is missing"),
          (SQL.recordsWithTwoBodies, "document %@ has two texts"),
          (SQL.bodiesWithoutRecord, "a text without a document: %@"),
          (SQL.bodiesTooShort, "the text of document %@ is no blob of its place's length"),
          (SQL.recordsWithoutCollection, "collection #%@ is gone, but documents of it are there"),
        ] {
          for row in try database.query(sql).rows {
            if case .integer(let number) = row[0] {
              problems.append(what.replacing("%@", with: String(number)))
            }
          }
        }
      } catch {
        let failure = StoreError(error)
        guard !failure.isPassing else { throw failure }
        problems.append(failure.message)
      }
      if !isQuick { problems += try integrityProblems(file.database) }
      return CheckReport(documents: count, problems: problems)
    }
  }
}
