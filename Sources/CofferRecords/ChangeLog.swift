package import CofferDocuments
package import CofferSealing

/// What one write transaction does, document by document: what the cache of texts must forget, and what subscribers are
/// told.
///
/// Every note says what it does to the set hash. Where their sum is not the state's own, something was written without a
/// note, and nothing here is believed: the cache is emptied, subscribers learn from a scan.
package struct ChangeLog {
  /// What a rewritten row means to a reader.
  package enum Kind {
    case updated
    case moved
    /// Its position is another, its place in the order is not: room was made beside it.
    case placed
    /// The same document under another key; its title may have gone with a change of the title mode.
    case resealed
  }

  package struct Place: Hashable {
    package var collection: UInt32
    package var position: Int64

    package init(collection: UInt32, position: Int64) {
      self.collection = collection
      self.position = position
    }
  }

  /// A row as this transaction found it.
  package struct Found {
    package var place: Place
    /// What it was written by last.
    package var revision: UInt64
  }

  /// One document before and after.
  package struct Touched {
    /// nil: it was not there.
    package var before: Found?
    /// nil: it is gone.
    package var place: Place?
    package var isUpdated = false
    package var isMoved = false
  }

  /// Documents told one by one; beyond, only that there were many.
  package static let limit = 1 << 16

  package private(set) var set: SetHash
  /// What changed or went; nil when too many.
  package private(set) var forgotten: [DocumentID]? = []
  /// nil where nobody listens and nothing is logged, or too many.
  package private(set) var touched: [Int64: Touched]?
  package private(set) var changesCollections = false

  package init(_ state: StoreState, notesDocuments: Bool) {
    set = state.set
    touched = notesDocuments ? [:] : nil
  }

  package mutating func insert(_ row: SealedBatch.Row) {
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
  package mutating func replace(_ old: SetHash, with row: SealedBatch.Row, before: RowFields, as kind: Kind) {
    set.subtract(old)
    set.add(row.element)
    guard kind != .resealed else {
      forgotten = nil
      return
    }
    forget(row.fields.id)
    touch(row.fields.id) { touched in
      var touched = touched ?? Touched(before: Found(before))
      touched.place = Place(row.fields)
      touched.isUpdated = touched.isUpdated || kind == .updated
      touched.isMoved = touched.isMoved || kind == .moved
      return touched
    }
  }

  package mutating func delete(_ row: RowFields, _ element: SetHash) {
    set.subtract(element)
    forget(row.id)
    touch(row.id) { touched in
      var touched = touched ?? Touched(before: Found(row))
      touched.place = nil
      return touched
    }
  }

  package mutating func changeCollection(_ old: SetHash?, to new: SetHash?) {
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
  package init(_ fields: RowFields) {
    self.init(collection: fields.collection, position: fields.position)
  }
}
