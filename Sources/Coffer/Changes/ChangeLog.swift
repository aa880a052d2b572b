internal import CofferSealing

/// What one write transaction does, document by document: what the cache of texts must forget, and what subscribers are
/// told.
///
/// Every note says what it does to the set hash. Where their sum is not the state's own, something was written without a
/// note, and nothing here is believed: the cache is emptied, subscribers learn from a scan.
struct ChangeLog {
  /// What a rewritten row means to a reader.
  enum Kind {
    case updated
    case moved
    /// Its position is another, its place in the order is not: room was made beside it.
    case placed
  }

  struct Place: Hashable {
    var collection: UInt32
    var position: Int64
  }

  /// A row as this transaction found it.
  struct Found {
    var place: Place
    /// What it was written by last.
    var revision: UInt64
  }

  /// One document before and after.
  struct Touched {
    /// nil: it was not there.
    var before: Found?
    /// nil: it is gone.
    var place: Place?
    var isUpdated = false
    var isMoved = false
  }

  /// Documents told one by one; beyond, only that there were many.
  static let limit = 1 << 16

  private(set) var set: SetHash
  /// What changed or went; nil when too many.
  private(set) var forgotten: [DocumentID]? = []
  /// nil where nobody listens and nothing is logged, or too many.
  private(set) var touched: [Int64: Touched]?
  private(set) var changesCollections = false

  init(_ state: StoreState, isHeard: Bool) {
    set = state.set
    touched = isHeard ? [:] : nil
  }

  mutating func insert(_ row: SealedBatch.Row) {
    set.add(row.element)
    touch(row.fields.id) { touched in
      var touched = touched ?? Touched(before: nil)
      touched.place = Place(row.fields)
      // Under a number that was deleted before: another document in its place.
      touched.isUpdated = touched.before != nil
      touched.isMoved = touched.isUpdated
      return touched
    }
  }

  /// - Parameter before: the row as it was.
  mutating func replace(_ old: SetHash, with row: SealedBatch.Row, before: RowFields, as kind: Kind) {
    set.subtract(old)
    set.add(row.element)
    forget(row.fields.id)
    touch(row.fields.id) { touched in
      var touched = touched ?? Touched(before: Found(before))
      touched.place = Place(row.fields)
      touched.isUpdated = touched.isUpdated || kind == .updated
      touched.isMoved = touched.isMoved || kind == .moved
      return touched
    }
  }

  mutating func delete(_ row: RowFields, _ element: SetHash) {
    set.subtract(element)
    forget(row.id)
    touch(row.id) { touched in
      var touched = touched ?? Touched(before: Found(row))
      touched.place = nil
      return touched
    }
  }

  /// The same document under another key.
  mutating func reseal(_ old: SetHash, as new: SetHash) {
    set.subtract(old)
    set.add(new)
    // Its title may have gone with a change of the title mode.
    forgotten = nil
  }

  mutating func changeCollection(_ old: SetHash?, to new: SetHash?) {
    if let old { set.subtract(old) }
    if let new { set.add(new) }
    changesCollections = true
  }

  private mutating func forget(_ id: Int64) {
    guard let count = forgotten?.count else { return }
    if count < Self.limit { forgotten?.append(DocumentID(id)) } else { forgotten = nil }
  }

  private mutating func touch(_ id: Int64, _ change: (Touched?) -> Touched) {
    guard let count = touched?.count else { return }
    guard count < Self.limit else {
      touched = nil
      return
    }
    let changed = change(touched?[id])
    touched?[id] = changed
  }
}

extension ChangeLog.Found {
  fileprivate init(_ fields: RowFields) {
    self.init(place: ChangeLog.Place(fields), revision: fields.revision)
  }
}

extension ChangeLog.Place {
  init(_ fields: RowFields) {
    self.init(collection: fields.collection, position: fields.position)
  }
}
