internal import CofferRecords
internal import CofferSQLite

/// Finds what other processes committed: the rows, as they stand, beside what was told of them.
///
/// Looks at numbers only and opens nothing; whoever reads a document then proves it.
struct ChangeScan {
  let known: ChangeFeed.Known
  private(set) var change: StoreChange
  private(set) var entries: [ChangeFeed.Entry] = []
  private var next = 0
  private var own: [Int64: (generation: UInt64, place: ChangeLog.Place?)] = [:]

  init(_ known: ChangeFeed.Known, generation: UInt64) {
    self.known = known
    change = StoreChange(generation: generation)
    entries.reserveCapacity(known.base.count)
    for commit in known.own {
      for (id, touched) in commit.touched { own[id] = (commit.generation, touched.place) }
    }
  }

  /// The rows of one read transaction, by rising id.
  mutating func run(_ database: StoreDatabase) throws(StoreError) {
    let statement = try database.statement(SQL.placesAndRevisions)
    defer { statement.reset() }
    while try statement.step() {
      let columns = statement.columns()
      let place = ChangeLog.Place(
        collection: UInt32(truncatingIfNeeded: columns[1].integer), position: columns[2].integer)
      add(columns[0].integer, place, revision: UInt64(bitPattern: columns[3].integer))
    }
    while next < known.base.count { passMissing() }
    // Ours, and deleted by others before a look.
    for (id, mine) in own {
      if let place = mine.place { change.delete(id, from: place.collection) }
    }
  }

  private mutating func add(_ id: Int64, _ place: ChangeLog.Place, revision: UInt64) {
    entries.append(ChangeFeed.Entry(id, place))
    while next < known.base.count, known.base[next].id < id { passMissing() }
    var before: ChangeLog.Place?
    if next < known.base.count, known.base[next].id == id {
      before = ChangeLog.Place(known.base[next])
      next += 1
    }
    if let mine = own.removeValue(forKey: id) {
      before = mine.place
      if mine.generation == revision, before != nil { return }
    }
    guard revision > known.told || before != place else { return }
    // What else changed in a row that was moved can't be seen without opening it.
    change.add(id, from: before?.collection, to: place.collection, isUpdated: true, isMoved: before != place)
  }

  /// A document that was told of and has no row any more.
  private mutating func passMissing() {
    let entry = known.base[next]
    next += 1
    guard let mine = own.removeValue(forKey: entry.id) else { return change.delete(entry.id, from: entry.collection) }
    if let place = mine.place { change.delete(entry.id, from: place.collection) }
  }
}
