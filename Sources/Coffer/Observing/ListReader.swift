internal import CofferEngine
internal import CofferRecords

/// The list that an iteration last returned, updated in one read transaction.
struct ListReader<Element: Sendable>: ObservedReads {
  /// An identity that distinguishes a collection from a dropped collection with the same number.
  private struct Identity: Equatable {
    let id: UInt32
    let uid: UniqueID
  }

  private struct Attached: Equatable {
    let count: Int
    let byteCount: Int

    /// Returns `nil` for a document without attachments.
    init?(_ header: DocumentHeader) {
      guard header.attachmentCount > 0 else { return nil }
      (count, byteCount) = (header.attachmentCount, header.attachmentByteCount)
    }
  }

  private let name: String
  private let content: ListContent<Element>
  private var collection: Identity?
  /// The list's state, or `nil` before the first list.
  private var state: StoreState?
  private var order = ListOrder()
  /// The attachments of rows with attachments. Attaching and detaching don't write the document's row, so rereading
  /// compares the attachments.
  private var attached: [DocumentID: Attached] = [:]
  private var limit = 0
  /// A row beyond the limit, if any.
  private var beyond: DocumentID?
  /// The `hasMore` value in the latest change.
  private var hadMore = false

  init(_ name: String, _ content: ListContent<Element>) {
    self.name = name
    self.content = content
  }

  var generation: UInt64? { state?.generation }

  /// A closure that returns whether a change affects the shown collection, or may show another collection.
  var mayDiffer: @Sendable (StoreChange) -> Bool {
    { [collection] change in
      !change.isComplete || !change.changedCollections.isEmpty
        || collection.map { change.collections[CollectionID($0.id)] != nil } ?? false
    }
  }

  mutating func next(
    _ transaction: StoreTransaction, heard: StoreChange?, limit: Int
  ) throws(StoreError) -> ListChange<Element>? {
    let now = transaction.state
    guard state?.generation != now.generation || self.limit != limit else { return nil }
    let record = try currentCollection(transaction)
    let found = record.map { Identity(id: $0.id, uid: $0.uid) }
    let isBeginning = state == nil
    let known = found == collection ? state : nil
    var change: ListChange<Element>?
    if let record, let known, let changed = try changes(transaction, since: known, heard, in: record.id) {
      change = try update(transaction, record, changed, limit)
    }
    if change == nil { change = try reread(transaction, record, since: known, limit) }
    (collection, state, self.limit) = (found, now, limit)
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
    _ transaction: StoreTransaction, since state: StoreState, _ heard: StoreChange?, in collection: UInt32
  ) throws(StoreError) -> StoreChange.Documents? {
    guard state.generation != transaction.state.generation else { return StoreChange.Documents() }
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
    guard change.isComplete else { return nil }
    return change.collections[CollectionID(collection)] ?? StoreChange.Documents()
  }

  // MARK: One walk over the rows

  private mutating func reread(
    _ transaction: StoreTransaction, _ record: CollectionRecord?, since known: StoreState?, _ limit: Int
  ) throws(StoreError) -> ListChange<Element> {
    let isKnown = try known.map { state throws(StoreError) in try transaction.mayDescend(from: state) } ?? false
    var rows: [ListContent<Element>.Row] = []
    // Read one more row to determine whether more follow.
    if let record {
      rows = try content.rows(of: record, limit: limit == .max ? .max : limit + 1, transaction)
    }
    beyond = rows.count > limit ? rows.removeLast().id : nil
    let countBefore = order.count
    let difference: ListDifference<Element>
    if known == nil {
      // Don't match rows from a different collection, even if their IDs are equal.
      difference = ListDifference(
        gone: Array(0..<countBefore),
        placed: rows.indices.map { ListDifference.Placed(element: rows[$0].element, from: nil, to: $0) }, updated: [])
    } else {
      difference = ListDifference(from: order.ids, to: rows.map(\.id), element: { rows[$0].element }) { _, to in
        !isKnown || rows[to].revision > known!.generation
          || Attached(rows[to].header) != attached[rows[to].id]
      }
    }
    attached = [:]
    for row in rows { attached[row.id] = Attached(row.header) }
    order = ListOrder(rows.map(\.id))
    return change(difference, from: countBefore, at: transaction.state.generation)
  }

  private func change(
    _ difference: ListDifference<Element>, from countBefore: Int, at generation: UInt64
  ) -> ListChange<Element> {
    ListChange(difference, from: countBefore, to: order.count, hasMore: beyond != nil, at: generation)
  }

  // MARK: Only the documents that changed

  /// Updates the list, or returns `nil` if rereading it is cheaper, or if the changes don't match it.
  private mutating func update(
    _ transaction: StoreTransaction, _ record: CollectionRecord, _ changed: StoreChange.Documents, _ limit: Int
  ) throws(StoreError) -> ListChange<Element>? {
    guard 4 * (changed.inserted.count + changed.moved.count + changed.updated.count) <= order.count + 16 else {
      return nil
    }
    var entering = changed.inserted.union(changed.moved)
    var gone = changed.deleted.union(entering).compactMap { order.index(of: $0) }
    var updated: [(from: Int, header: DocumentHeader, element: Element)] = []
    for id in changed.updated where !entering.contains(id) {
      if let from = order.index(of: id) {
        let header = try transaction.header(of: id)
        let element = try content.element(of: header, transaction)
        if let element { updated.append((from, header, element)) } else { gone.append(from) }
      } else if content.readsTexts {
        entering.insert(id)
      }
    }
    guard let headers = try headers(of: entering, in: record, transaction) else { return nil }
    var list = ListUpdate(order, without: gone.sorted(), beyond, in: record, content, transaction)
    guard try list.place(headers) else { return nil }
    let isBeyondStale = beyond.map { changed.deleted.contains($0) || entering.contains($0) } ?? false
    try list.fit(to: limit, isBeyondStale: isBeyondStale)
    let countBefore = order.count
    order.change(removing: list.gone, placing: list.placed.map { ($0.row.to, $0.id) })
    beyond = list.beyond
    let difference = ListDifference(
      gone: list.gone, placed: list.placed.map(\.row),
      updated: updated.compactMap { row in
        order.index(of: row.header.id).map { ListChange.Update(from: row.from, index: $0, element: row.element) }
      })
    for row in updated { attached[row.header.id] = Attached(row.header) }
    for row in list.placed { attached[row.id] = Attached(content.header(row.row.element)) }
    return change(difference, from: countBefore, at: transaction.state.generation)
  }

  /// Returns the headers in the collection's order, or `nil` if a document isn't in the collection.
  private func headers(
    of ids: Set<DocumentID>, in record: CollectionRecord, _ transaction: StoreTransaction
  ) throws(StoreError) -> [DocumentHeader]? {
    var headers: [DocumentHeader] = []
    for id in ids {
      guard try transaction.hasRow(id) else { return nil }
      let header = try transaction.header(of: id)
      guard header.collection == CollectionID(record.id) else { return nil }
      headers.append(header)
    }
    return headers.sorted { $0.isBefore($1) }
  }
}
