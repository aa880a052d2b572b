internal import CofferRecords
internal import Dispatch

extension ChangeFeed {
  /// The documents of the file as of one generation.
  struct Baseline {
    /// One document; 24 bytes in memory.
    typealias Row = (id: Int64, position: DocumentPosition)

    /// Sorted by id.
    var rows: [Row]
    var names: [CollectionID: String]
    var generation: UInt64
  }

  /// A commit of this process that the baseline does not include yet.
  struct LocalCommit {
    let generation: UInt64
    let changes: [Int64: DocumentChange]
  }

  /// The state that subscribers know: a baseline, and the local commits since.
  struct State {
    var subscribers: [ObjectIdentifier: ChangeSubscriber] = [:]
    /// The baseline's documents, sorted by id.
    private(set) var rows: [Baseline.Row] = []
    private(set) var names: [CollectionID: String] = [:]
    /// The generation that `names` are from.
    private var namesGeneration: UInt64 = 0
    /// Every commit up to this generation has been reported. Of later commits, only local ones have.
    private(set) var reportedGeneration: UInt64 = 0
    /// Sorted by generation.
    private(set) var localCommits: [LocalCommit] = []
    /// The documents in `localCommits`, with their last reported position; nil for a deleted document.
    private(set) var lastReported: [Int64: (position: DocumentPosition?, generation: UInt64)] = [:]
    /// The generation of a local commit in progress. A poll must not report it, even if the file holds it already.
    var committing: UInt64?
    // Set and cancelled under the lock, never used otherwise.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
    var nextPoll = ContinuousClock.now

    /// The reported state without local commits.
    var baseline: Baseline { Baseline(rows: rows, names: names, generation: reportedGeneration) }
  }
}

extension ChangeFeed.State {
  /// Starts from what the file holds when the first subscriber is added.
  mutating func begin(_ baseline: ChangeFeed.Baseline) {
    names = baseline.names
    namesGeneration = baseline.generation
    replaceRows(with: baseline.rows, of: baseline.generation)
  }

  /// - Parameter generation: the rows include every commit up to it.
  mutating func replaceRows(with rows: [ChangeFeed.Baseline.Row], of generation: UInt64) {
    self.rows = rows
    reportedGeneration = generation
    let later = localCommits.filter { $0.generation > generation }
    localCommits = []
    lastReported = [:]
    for commit in later { append(commit.changes, of: commit.generation) }
  }

  mutating func append(_ changes: [Int64: DocumentChange], of generation: UInt64) {
    localCommits.append(ChangeFeed.LocalCommit(generation: generation, changes: changes))
    for (id, change) in changes { lastReported[id] = (change.after, generation) }
    if generation == reportedGeneration + 1 { reportedGeneration = generation }
    // Many commits of one document count too, because each adds to the list.
    if max(lastReported.count, localCommits.count) > max(4096, rows.count / 8) { fold() }
  }

  /// The change to report for a local commit when commits of other processes before it are not reported yet.
  func change(by changes: [Int64: DocumentChange], at generation: UInt64) -> StoreChange {
    var result = StoreChange(generation: generation)
    for (id, change) in changes {
      let last = lastReported(of: id)
      result.add(
        id, from: last.position?.collection, to: change.after?.collection,
        isUpdated: change.isUpdated || change.before.map { $0.revision > last.generation } ?? true,
        isMoved: change.isMoved || change.before?.position != last.position)
    }
    return result
  }

  private func lastReported(of id: Int64) -> (position: DocumentPosition?, generation: UInt64) {
    if let local = lastReported[id] { return local }
    let index = rows.indices.partitionPoint { rows[$0].id < id }
    let exists = index < rows.count && rows[index].id == id
    return (exists ? rows[index].position : nil, reportedGeneration)
  }

  /// - Returns: the collections that differ; none if the state has newer names already.
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

  /// Merges the local commits into the baseline, unless an unreported commit of another process precedes one of them.
  private mutating func fold() {
    guard localCommits.last?.generation ?? 0 <= reportedGeneration else { return }
    var lastReported = lastReported
    var merged: [ChangeFeed.Baseline.Row] = []
    merged.reserveCapacity(rows.count + lastReported.count)
    for row in rows {
      guard let last = lastReported.removeValue(forKey: row.id) else {
        merged.append(row)
        continue
      }
      if let position = last.position { merged.append((row.id, position)) }
    }
    let isSorted = lastReported.isEmpty
    for (id, last) in lastReported {
      if let position = last.position { merged.append((id, position)) }
    }
    if !isSorted { merged.sort { $0.id < $1.id } }
    rows = merged
    localCommits = []
    self.lastReported = [:]
  }
}

extension StoreChange {
  /// The change that a local commit made to the state right before it.
  init(_ changes: [Int64: DocumentChange], at generation: UInt64) {
    self.init(generation: generation)
    for (id, change) in changes {
      add(
        id, from: change.before?.position.collection, to: change.after?.collection, isUpdated: change.isUpdated,
        isMoved: change.isMoved)
    }
  }
}
