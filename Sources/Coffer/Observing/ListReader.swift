internal import CofferEngine
internal import CofferRecords

/// The list that an iteration last returned, updated in one read transaction.
struct ListReader {
  /// An identity that distinguishes a collection from a dropped collection with the same number.
  private struct Identity: Equatable {
    let id: UInt32
    let uid: UniqueID
  }

  private let name: String
  private var collection: Identity?
  /// The list's state, or `nil` before the first list.
  private var state: StoreState?
  private var order = ListOrder()
  private var limit = 0
  private var hasMore = false
  /// The `hasMore` value in the latest change.
  private var hadMore = false

  init(_ name: String) {
    self.name = name
  }

  var generation: UInt64? { state?.generation }

  /// Returns the change to the list in this transaction, or `nil` if the list is unchanged.
  ///
  /// - Parameters:
  ///   - heard: The documents reported since the list's state, or `nil` if unknown.
  ///   - limit: The new maximum number of rows.
  mutating func next(
    _ transaction: StoreTransaction, heard: StoreChange?, limit: Int
  ) throws(StoreError) -> ListChange? {
    let now = transaction.state
    guard state?.generation != now.generation || self.limit != limit else { return nil }
    let record = try currentCollection(transaction)
    let found = record.map { Identity(id: $0.id, uid: $0.uid) }
    var changed = try state.flatMap { state throws(StoreError) in
      try changes(transaction, since: state, heard, in: record?.id)
    }
    if found != collection || limit != self.limit { changed = nil }
    let isBeginning = state == nil
    let known = found == collection ? state : nil
    self.limit = limit
    var change: ListChange?
    if let record, let changed { change = try update(transaction, record, changed) }
    if change == nil { change = try rereadList(transaction, record, since: known) }
    collection = found
    state = now
    guard let change, isBeginning || !change.isEmpty || change.hasMore != hadMore else { return nil }
    hadMore = change.hasMore
    return change
  }

  /// Returns the list's collection, even if it was renamed, or else the collection with the list's name.
  private func currentCollection(_ transaction: StoreTransaction) throws(StoreError) -> CollectionRecord? {
    if let collection {
      let same = try transaction.collections().first { Identity(id: $0.id, uid: $0.uid) == collection }
      if let same { return same }
    }
    return try transaction.collection(named: name)
  }

  /// Returns the changed documents, or `nil` if they're unknown.
  private func changes(
    _ transaction: StoreTransaction, since state: StoreState, _ heard: StoreChange?, in collection: UInt32?
  ) throws(StoreError) -> StoreChange.Documents? {
    guard try transaction.mayDescend(from: state) else { return nil }
    var change: StoreChange
    if let parts = transaction.ringChanges(since: state) {
      change = StoreChange(generation: transaction.state.generation)
      for part in parts { change.merge(StoreChange(part, at: change.generation)) }
    } else if let heard, heard.generation == transaction.state.generation {
      change = heard
    } else {
      return nil
    }
    guard change.isComplete, let collection else { return nil }
    return change.collections[CollectionID(collection)] ?? StoreChange.Documents()
  }

  // MARK: One walk over the rows

  private mutating func rereadList(
    _ transaction: StoreTransaction, _ record: CollectionRecord?, since known: StoreState?
  ) throws(StoreError) -> ListChange {
    var headers: [DocumentHeader] = []
    var fresh: [Bool] = []
    let isKnown = try known.map { state throws(StoreError) in try transaction.mayDescend(from: state) } ?? false
    if let record {
      // Read one more row to determine whether more documents follow.
      let page = try ListRows(transaction).headers(in: record, limit: limit == .max ? .max : limit + 1) { fields in
        fresh.append(!isKnown || fields.revision > known!.generation)
      }
      headers = page
    }
    hasMore = headers.count > limit
    if hasMore { headers.removeLast() }
    // Don't match rows from a different collection, even if their IDs are equal.
    var before: [DocumentID: Int] = [:]
    if known != nil {
      before.reserveCapacity(order.count)
      for index in 0..<order.count { before[order[index]] = index }
    }
    var kept: [(from: Int, to: Int)] = []
    for (index, header) in headers.enumerated() {
      if let from = before[header.id] { kept.append((from, index)) }
    }
    let staying = longestIncreasingSubsequence(of: kept.map(\.from))
    let stayingBefore = Set(staying.map { kept[$0].from })
    let stayingAfter = Set(staying.map { kept[$0].to })
    let placed = headers.indices.filter { !stayingAfter.contains($0) }.map { index in
      ListDifference.Placed(header: headers[index], from: before[headers[index].id], to: index)
    }
    let difference = ListDifference(
      gone: (0..<order.count).filter { !stayingBefore.contains($0) }, placed: placed)
    let updated = staying.filter { fresh[kept[$0].to] }.map { place in
      ListChange.Update(from: kept[place].from, index: kept[place].to, header: headers[kept[place].to])
    }
    let countBefore = order.count
    order = ListOrder(headers.map(\.id))
    return change(difference, updated, countBefore: countBefore, at: transaction.state.generation)
  }

  private func change(
    _ difference: ListDifference, _ updated: [ListChange.Update], countBefore: Int, at generation: UInt64
  ) -> ListChange {
    ListChange(
      generation: generation, countBefore: countBefore, count: order.count, hasMore: hasMore,
      deleted: difference.deleted, inserted: difference.inserted, moved: difference.moved,
      updated: (updated + difference.stayed).sorted { $0.index < $1.index })
  }

  // MARK: Only the documents that changed

  /// Updates the list, or returns `nil` if rereading it is cheaper, documents beyond the limit can enter it, or the
  /// changes don't match it.
  private mutating func update(
    _ transaction: StoreTransaction, _ record: CollectionRecord, _ changed: StoreChange.Documents
  ) throws(StoreError) -> ListChange? {
    let moving = changed.inserted.union(changed.moved)
    guard 4 * (moving.count + changed.updated.count) <= order.count + 16 else { return nil }
    if !moving.isEmpty || !changed.deleted.isEmpty {
      guard !hasMore, order.count + moving.count <= limit else { return nil }
    }
    guard let found = try ListRows(transaction).places(of: moving, in: record) else { return nil }
    let gone = changed.deleted.union(moving).compactMap { order.index(of: $0) }.sorted()
    guard let placed = placements(found, gone) else { return nil }
    var updated: [(from: Int, header: DocumentHeader)] = []
    for id in changed.updated where !moving.contains(id) {
      guard let from = order.index(of: id) else { continue }
      updated.append((from, try transaction.header(of: id)))
    }
    let countBefore = order.count
    order.change(removing: gone, placing: placed.map { ($0.to, $0.header.id) })
    return change(
      ListDifference(gone: gone, placed: placed),
      updated.map { ListChange.Update(from: $0.from, index: order.index(of: $0.header.id)!, header: $0.header) },
      countBefore: countBefore, at: transaction.state.generation)
  }

  /// Returns the placed rows, or `nil` if a preceding document isn't in the list.
  /// - Parameter gone: The indexes of removed rows, in ascending order.
  private func placements(_ found: [ListRows.Place], _ gone: [Int]) -> [ListDifference.Placed]? {
    var placed: [ListDifference.Placed] = []
    for place in found {
      var to = placed.count
      if let before = place.before {
        if let last = placed.last, last.header.id == before {
          to = last.to + 1
        } else {
          guard let index = order.index(of: before) else { return nil }
          let below = gone.lowerBound(of: index)
          guard below == gone.count || gone[below] != index else { return nil }
          to += index - below + 1
        }
      }
      guard to > placed.last?.to ?? -1 else { return nil }
      placed.append(ListDifference.Placed(header: place.header, from: order.index(of: place.header.id), to: to))
    }
    return placed
  }
}
