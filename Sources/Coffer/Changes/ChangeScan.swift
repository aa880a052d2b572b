internal import CofferRecords
internal import CofferSQLite

/// Finds the commits of other processes: compares the rows with the last reported positions.
///
/// Reads row numbers only and opens no document; a reader verifies a document when it opens it.
struct ChangeScan {
  let baseline: ChangeFeed.Baseline
  private(set) var change: StoreChange
  /// Every document of the transaction, sorted by id.
  private(set) var rows: [ChangeFeed.Baseline.Row] = []
  /// The index of the next baseline row to compare.
  private var next = 0
  /// The documents of local commits that are not compared yet, with their last reported position.
  private var local: [Int64: (position: DocumentPosition?, generation: UInt64)] = [:]

  init(_ baseline: ChangeFeed.Baseline, _ localCommits: [ChangeFeed.LocalCommit], generation: UInt64) {
    self.baseline = baseline
    change = StoreChange(generation: generation)
    rows.reserveCapacity(baseline.rows.count)
    for commit in localCommits {
      for (id, change) in commit.changes { local[id] = (change.after, commit.generation) }
    }
  }

  /// Scans the rows of one read transaction.
  mutating func run(_ database: StoreDatabase) throws(StoreError) {
    let statement = try database.statement(SQL.placesAndRevisions)
    defer { statement.reset() }
    while try statement.step() {
      let columns = statement.columns()
      let position = DocumentPosition(
        collection: UInt32(truncatingIfNeeded: columns[1].integer), position: columns[2].integer)
      add(columns[0].integer, position, revision: UInt64(bitPattern: columns[3].integer))
    }
    while next < baseline.rows.count { passMissing() }
    // Inserted by a local commit, then deleted by another process before this poll.
    for (id, last) in local {
      if let position = last.position { change.delete(id, from: position.collection) }
    }
  }

  private mutating func add(_ id: Int64, _ position: DocumentPosition, revision: UInt64) {
    rows.append((id, position))
    while next < baseline.rows.count, baseline.rows[next].id < id { passMissing() }
    var before: DocumentPosition?
    if next < baseline.rows.count, baseline.rows[next].id == id {
      before = baseline.rows[next].position
      next += 1
    }
    if let last = local.removeValue(forKey: id) {
      before = last.position
      if last.generation == revision, before != nil { return }
    }
    guard revision > baseline.generation || before != position else { return }
    // Only opening the row would show whether a moved document was updated too.
    change.add(id, from: before?.collection, to: position.collection, isUpdated: true, isMoved: before != position)
  }

  /// Passes a baseline row whose document has been deleted.
  private mutating func passMissing() {
    let row = baseline.rows[next]
    next += 1
    guard let last = local.removeValue(forKey: row.id) else {
      return change.delete(row.id, from: row.position.collection)
    }
    if let position = last.position { change.delete(row.id, from: position.collection) }
  }
}
