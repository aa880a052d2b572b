internal import CofferRecords

/// A walk that opens the head and text of each document, in short transactions, with the help of other threads.
struct VerifyingWalk {
  /// The limits of one transaction, which keeps writers waiting in rollback journal mode.
  private static let rowLimit = 4096
  private static let byteLimit = 16 << 20
  private static let batchCount = 4

  private let generation: UInt64
  /// The last ID that was read.
  private var last: Int64 = 0
  private var known: Set<DocumentID>
  private(set) var isAtEnd = false
  private(set) var done = 0
  private(set) var damaged: [Verdict.Damage] = []
  private(set) var problems: [String] = []
  /// What the heads say about other documents.
  private(set) var identities = IdentityCheck()

  /// - Parameters:
  ///   - generation: The generation after which documents must have changed, or 0 for all documents.
  ///   - known: The documents whose damage is reported already.
  init(changedSince generation: UInt64, known: Set<DocumentID>) {
    self.generation = generation
    self.known = known
  }

  /// Verifies the next documents in a transaction.
  ///
  /// - Throws: Errors that aren't findings: `systemFailure`, `locked`, `cancelled`.
  mutating func next(_ transaction: StoreTransaction, _ collections: [CollectionRecord]) throws(StoreError) {
    let statement = try transaction.database.statement(
      SQL.batchAfter, last, Int64(clamping: generation), Int64(Self.rowLimit))
    defer { statement.reset() }
    let session = transaction.keys.session
    let (replicas, counter) = (try? transaction.replicas, transaction.state.counter)
    let own = try VerifiedRows(session, collections, replicas, ownCounter: counter)
    let conveyor = Conveyor<RowBatch<VerifiedRows>>(limit: Self.batchCount, workers: .any) { $0.process() }
    var (rows, bytes) = (0, 0)
    try conveyor.run(
      make: { () throws(StoreError) in RowBatch(try VerifiedRows(session, collections, replicas, ownCounter: counter))
      },
      fill: { batch throws(StoreError) in
        batch.fill { () throws(StoreError) in
          try nextRow(statement, transaction, &rows, &bytes)
        }
      },
      take: { batch throws(StoreError) in
        try take(batch.work)
        switch batch.tail {
        case .nothing: break
        case .large(let row):
          own.begin()
          _ = own.process(row, at: 0, head: nil, body: nil)
          try take(own)
        case .failed(let error): throw error
        }
      })
    done += rows
    if rows < Self.rowLimit, bytes < Self.byteLimit { isAtEnd = true }
  }

  /// Returns the next row whose columns are valid, or `nil` at the end of the transaction's part.
  private mutating func nextRow(
    _ statement: StoreStatement, _ transaction: StoreTransaction, _ rows: inout Int, _ bytes: inout Int
  ) throws(StoreError) -> RecordRow? {
    while bytes < Self.byteLimit {
      try transaction.requireOpen()
      do throws(StoreError) {
        guard try statement.step() else { return nil }
      } catch {
        // Stop at corrupt pages, because the following rows can't be listed.
        guard error.code == .damaged else { throw error }
        problems.append(error.message)
        return nil
      }
      rows += 1
      last = statement.int64(at: 0)
      do throws(StoreError) {
        let row = try RecordRow(statement.columns(), within: transaction.limits)
        bytes += row.byteCount
        return row
      } catch {
        try note(last, error)
      }
    }
    return nil
  }

  private mutating func take(_ work: VerifiedRows) throws(StoreError) {
    for (id, error) in work.findings { try note(id, error) }
    identities.add(work.seen)
  }

  /// Records damage, once for each document.
  private mutating func note(_ id: Int64, _ error: StoreError) throws(StoreError) {
    guard !error.isTransient else { throw error }
    guard error.code == .damaged, known.insert(DocumentID(id)).inserted else { return }
    damaged.append(Verdict.Damage(id: DocumentID(id), reason: error.message))
  }
}

/// Opens rows, and compares each text with its digest and each key with its lookup.
private final class VerifiedRows: RowWork {
  private(set) var findings: [(id: Int64, error: StoreError)] = []
  private(set) var seen: [IdentityCheck.Seen] = []
  /// The replicas, or `nil` if they can't be read, which is reported as a problem of the store.
  private let replicas: Replicas?
  private let ownCounter: UInt64
  private let opener: RecordOpener
  private let collections: [CollectionRecord]

  init(
    _ session: SessionKeys, _ collections: [CollectionRecord], _ replicas: Replicas?, ownCounter: UInt64
  ) throws(StoreError) {
    self.replicas = replicas
    self.ownCounter = ownCounter
    opener = RecordOpener(try RowKeys(session))
    self.collections = collections
  }

  func begin() {
    findings = []
    seen = []
  }

  func end() {}

  func process(
    _ row: RecordRow, at index: Int, head: UnsafeMutableRawBufferPointer?, body: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      let data = try opener.openHead(row, in: head, acceptsNewer: true)
      _ = try opener.openBody(row, data, in: body, comparesDigest: true)
      try requireBlindIndex(of: row, data)
      try requireKnownDots(row, data)
      seen.append(
        IdentityCheck.Seen(
          id: row.fields.id, uid: data.uid, collection: row.fields.collection, parent: row.fields.parent,
          parentUID: data.parent))
    } catch {
      findings.append((row.fields.id, error))
    }
    return true
  }

  private func requireKnownDots(_ row: RecordRow, _ head: HeadData) throws(StoreError) {
    guard let replicas else { return }
    let dots = DocumentDots(checked: head.dots)
    guard (dots.parts + [dots.stamp, dots.kept]).allSatisfy({ replicas.covers($0, ownCounter: ownCounter) }) else {
      throw .damagedDocument(row.fields.id, "it names a change that the store doesn't include")
    }
  }

  /// Verifies that a lookup of the head's key finds the document. Skips the check if the collection can't be read.
  private func requireBlindIndex(of row: RecordRow, _ head: HeadData) throws(StoreError) {
    guard let key = head.key, let context = opener.keys.context(of: row.fields.epoch),
      let record = collections.first(where: { $0.id == row.fields.collection })
    else { return }
    var wanted: [UInt8]?
    do throws(StoreError) {
      wanted = try opener.keys.blindIndex(of: DocumentKey(bytes: key), in: record, under: context)
    } catch {
      // A key that can't be folded can't be looked up, so it's reported below.
      guard !error.isTransient else { throw error }
    }
    guard let wanted, let index = row.blindIndex, index.elementsEqual(wanted) else {
      throw .damagedDocument(row.fields.id, "it is not found by its key")
    }
  }
}
