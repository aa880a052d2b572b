internal import CofferRecords
internal import Dispatch

extension ChangeFeed {
  /// A commit of this process that the base does not hold yet.
  struct Own {
    let generation: UInt64
    let touched: [Int64: ChangeLog.Touched]
  }

  /// Where a document stands as it was told last.
  struct Told {
    /// nil: it is gone.
    let place: ChangeLog.Place?
    let generation: UInt64
  }

  /// What was told, as a base and the own commits since.
  struct State {
    var subscribers: [ObjectIdentifier: ChangeSubscriber] = [:]
    /// By rising id.
    private(set) var base: [Entry] = []
    private(set) var names: [CollectionID: String] = [:]
    /// Whose names these are.
    private var namesGeneration: UInt64 = 0
    /// Everything up to here was told; own commits beyond it too, but not those of others between them.
    private(set) var told: UInt64 = 0
    /// By rising generation.
    private(set) var own: [Own] = []
    /// The documents in `own`.
    private(set) var latest: [Int64: Told] = [:]
    /// The generation of a commit under way: it may be in the file already, and is told by itself.
    var committing: UInt64?
    // Set and cancelled under the lock, never used otherwise.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
    var nextLook = ContinuousClock.now
  }
}

extension ChangeFeed.State {
  /// The first subscriber comes.
  mutating func begin(_ baseline: ChangeFeed.Baseline) {
    names = baseline.names
    namesGeneration = baseline.generation
    replaceBase(with: baseline.entries, of: baseline.generation)
  }

  /// - Parameter generation: everything up to it is in the entries.
  mutating func replaceBase(with entries: [ChangeFeed.Entry], of generation: UInt64) {
    base = entries
    told = generation
    let rest = own.filter { $0.generation > generation }
    own = []
    latest = [:]
    for own in rest { append(own.touched, of: own.generation) }
  }

  mutating func append(_ touched: [Int64: ChangeLog.Touched], of generation: UInt64) {
    own.append(ChangeFeed.Own(generation: generation, touched: touched))
    for (id, touched) in touched { latest[id] = ChangeFeed.Told(place: touched.place, generation: generation) }
    if generation == told + 1 { told = generation }
    // Many of one document count too: the list is as long.
    if max(latest.count, own.count) > max(4096, base.count / 8) { fold() }
  }

  /// What an own commit means to those who were not told of everything before it.
  func change(by touched: [Int64: ChangeLog.Touched], at generation: UInt64) -> StoreChange {
    var change = StoreChange(generation: generation)
    for (id, touched) in touched {
      let known = knownPlace(of: id)
      let found = touched.before
      change.add(
        id, from: known.place?.collection, to: touched.place?.collection,
        isUpdated: touched.isUpdated || found.map { $0.revision > known.generation } ?? true,
        isMoved: touched.isMoved || found?.place != known.place)
    }
    return change
  }

  private func knownPlace(of id: Int64) -> ChangeFeed.Told {
    if let own = latest[id] { return own }
    var (low, high) = (0, base.count)
    while low < high {
      let middle = (low + high) / 2
      if base[middle].id < id { low = middle + 1 } else { high = middle }
    }
    let isThere = low < base.count && base[low].id == id
    return ChangeFeed.Told(place: isThere ? ChangeLog.Place(base[low]) : nil, generation: told)
  }

  /// - Returns: the collections that differ; none where newer names were taken already.
  mutating func take(_ new: [CollectionID: String], at generation: UInt64) -> Set<CollectionID> {
    guard generation > namesGeneration else { return [] }
    let changed = Set(new.keys).union(names.keys).filter { id in
      guard let before = names[id], let after = new[id] else { return true }
      return !before.utf8.elementsEqual(after.utf8)
    }
    names = new
    namesGeneration = generation
    return changed
  }

  func deliver(_ change: StoreChange) {
    guard !change.isEmpty else { return }
    for subscriber in subscribers.values { subscriber.deliver(change, names: names) }
  }

  /// Puts own commits into the base, unless another process's stand before them.
  private mutating func fold() {
    guard own.last?.generation ?? 0 <= told else { return }
    var latest = latest
    var kept: [ChangeFeed.Entry] = []
    kept.reserveCapacity(base.count + latest.count)
    for entry in base {
      guard let told = latest.removeValue(forKey: entry.id) else {
        kept.append(entry)
        continue
      }
      if let place = told.place { kept.append(ChangeFeed.Entry(entry.id, place)) }
    }
    let isSorted = latest.isEmpty
    for (id, told) in latest {
      if let place = told.place { kept.append(ChangeFeed.Entry(id, place)) }
    }
    if !isSorted { kept.sort { $0.id < $1.id } }
    base = kept
    own = []
    self.latest = [:]
  }
}

extension StoreChange {
  /// An own commit that follows what was told.
  init(_ touched: [Int64: ChangeLog.Touched], at generation: UInt64) {
    self.init(generation: generation)
    for (id, touched) in touched {
      add(
        id, from: touched.before?.place.collection, to: touched.place?.collection, isUpdated: touched.isUpdated,
        isMoved: touched.isMoved)
    }
  }
}

extension ChangeFeed.Entry {
  init(_ id: Int64, _ place: ChangeLog.Place) {
    self.init(id: id, position: place.position, collection: place.collection)
  }
}

extension ChangeLog.Place {
  init(_ entry: ChangeFeed.Entry) {
    self.init(collection: entry.collection, position: entry.position)
  }
}
