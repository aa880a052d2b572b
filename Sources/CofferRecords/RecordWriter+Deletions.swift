package import CofferDocuments
internal import CofferSQLite
package import CofferSealing

// Deletions are rows, because a document's absence could have other reasons (FORMAT, "Deletions").

extension RecordWriter {
  /// Records that this transaction deleted a document or an attachment.
  package func noteDeletion(of uid: UniqueID) throws(StoreError) {
    // A restored file's first write changes the dot.
    try willWrite()
    try insertDeletion(uid: uid, dots: [dot], stamp: dot)
  }

  /// Inserts a deletion.
  ///
  /// - Throws: `noNumberLeft`.
  package func insertDeletion(uid: UniqueID, dots: [Dot], stamp: Dot, extensionBytes: [UInt8] = []) throws(StoreError) {
    try willWrite()
    let last = if let nextDeletion { nextDeletion - 1 } else { try database.integer(SQL.highestDeletion) ?? 0 }
    guard last >= 0, last < .max, state.deletionCount < StoreFormat.maximumCount else {
      throw StoreError(.noNumberLeft, "a store has at most 2^40 deletions", hint: "export it into a new store")
    }
    let next = last + 1
    var record = DeletionRecord(number: next, revision: revision, uid: uid, dots: dots, stamp: stamp)
    record.extensionBytes = extensionBytes
    let row = try record.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.insertDeletion, row.number, Int64(row.revision), row.sealed)
      state.deletionCount += 1
      try sum(replacing: nil, with: row.element(keys))
    }
    nextDeletion = next == .max ? nil : next + 1
    deletionNumbers?[uid] = next
  }

  /// Seals a changed deletion, or an unchanged deletion in a new epoch.
  ///
  /// - Parameter before: The replaced row, if its element hasn't been removed yet.
  package func replaceDeletion(_ before: DeletionRow, with new: DeletionRecord) throws(StoreError) {
    try willWrite()
    let element = try before.element(keys)
    try replaceDeletion(element, with: new)
  }

  /// - Parameter before: The replaced row's element.
  package func replaceDeletion(_ before: SetElement, with new: DeletionRecord) throws(StoreError) {
    try willWrite()
    let row = try new.seal(keys)
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateDeletion, Int64(row.revision), row.sealed, row.number)
      guard database.connection.lastRowsAffected == 1 else { throw .damagedStore("deletion #\(row.number) is gone") }
      try sum(replacing: before, with: row.element(keys))
    }
  }

  /// Deletes a deletion's row, because its document is restored.
  package func removeDeletion(_ row: DeletionRow) throws(StoreError) {
    try willWrite()
    let uid = deletionNumbers == nil ? nil : try DeletionRecord(row, keys).uid
    try changing { () throws(StoreError) in
      try database.execute(SQL.deleteDeletion, row.number)
      guard database.connection.lastRowsAffected == 1, state.deletionCount > 0 else {
        throw .damagedStore("deletion #\(row.number) is gone")
      }
      state.deletionCount -= 1
      try sum(replacing: row.element(keys), with: nil)
    }
    if let uid { deletionNumbers?[uid] = nil }
  }

  /// Removes a document's deletion before restoring the document, and returns its new history.
  ///
  /// The restored document takes precedence over the deleted document, even if it's older.
  ///
  /// - Parameter parent: The parent's ID. A missing parent remains the parent in the former history.
  package func historyOfReturn(_ former: DocumentHistory, parent: DocumentID?) throws(StoreError) -> DocumentHistory {
    try willWrite()
    let uid = former.uid
    if let number = try deletionNumber(of: uid) {
      guard let row = try database.rows(SQL.deletion, number).first else {
        throw .damagedStore("deletion #\(number) is gone")
      }
      try removeDeletion(DeletionRow(row.values, generation: limits.generation))
    }
    var dots = DocumentDots(dot)
    // Removed members remain removed.
    dots.members = former.decodedDots.members.map { DocumentDots.Member($0.name, dot) }
    dots.kept = dot
    let known = try self.uid(ofParent: parent?.rawValue)
    return DocumentHistory(uid: uid, parent: parent == nil ? nil : known ?? former.parent, dots: dots.bytes)
  }

  /// Returns the identities that have a deletion.
  package func deletedIdentities(among identities: Set<UniqueID>) throws(StoreError) -> Set<UniqueID> {
    var found: Set<UniqueID> = []
    for uid in identities where try deletionNumber(of: uid) != nil { found.insert(uid) }
    return found
  }

  /// Returns a deletion's number, or `nil` if it doesn't exist. The transaction's first call reads all deletions.
  private func deletionNumber(of uid: UniqueID) throws(StoreError) -> Int64? {
    if deletionNumbers == nil {
      var numbers: [UniqueID: Int64] = [:]
      try DeletionWalk.forEach(database, within: limits) { row throws(StoreError) in
        let deletion = try DeletionRecord(row, keys)
        numbers[deletion.uid] = row.number
      }
      deletionNumbers = numbers
    }
    return deletionNumbers?[uid]
  }
}

/// Reads a store's deletions in the order of their numbers.
package struct DeletionWalk {
  private let database: StoreDatabase
  private let generation: UInt64
  /// The lowest number of the next rows, or `nil` at the end. Rows below 1 are also read, because they're damage.
  private var lowest: Int64? = .min
  private static let pageSize: Int64 = 1024

  package init(_ database: StoreDatabase, within limits: RowLimits) {
    self.database = database
    generation = limits.generation
  }

  /// Returns the next rows, or an empty array at the end.
  ///
  /// - Throws: `damaged` for a row that's out of bounds or in the wrong order.
  package mutating func next() throws(StoreError) -> [DeletionRow] {
    guard let start = lowest else { return [] }
    var rows: [DeletionRow] = []
    for columns in try database.rows(SQL.deletions, start, Self.pageSize) {
      let row = try DeletionRow(columns.values, generation: generation)
      guard let lowest, row.number >= lowest else {
        throw .damagedStore("deletion #\(row.number) is not in its place")
      }
      self.lowest = row.number.successor
      rows.append(row)
    }
    return rows
  }

  /// Calls a closure for each row.
  package static func forEach(
    _ database: StoreDatabase, within limits: RowLimits, _ body: (DeletionRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    var walk = DeletionWalk(database, within: limits)
    while case let rows = try walk.next(), !rows.isEmpty {
      for row in rows { try body(row) }
    }
  }
}
