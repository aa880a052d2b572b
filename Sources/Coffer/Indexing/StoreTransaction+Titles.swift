internal import CofferRecords
internal import CofferSQLite

extension StoreTransaction {
  /// The index of titles, if it holds a collection, lacks few documents, and each of its pages is the one that was
  /// written last; nil otherwise: the rows are to be listed.
  func provedTitles(of record: CollectionRecord) throws(StoreError) -> IndexFile? {
    guard !isWriter, hasIndexes, let found = try indexRoot(IndexPart.titles),
      try gap(since: found.root.contents).limit(of: state.count) <= IndexGap.caughtUp
    else { return nil }
    do throws(StoreError) {
      return try withIndex(IndexPart.titles) { file throws(StoreError) in
        file?.declaration.collection(record.id)?.uid == record.uid ? file : nil
      }
    } catch {
      guard error.isIndexDamage || error.code == .indexBehind else { throw error }
      logger.warning("index \(IndexPart.titles): \(error.message); documents are listed without it")
      return nil
    }
  }

  /// Every header of a collection in order, from proved pages.
  func forEachTitle(
    in record: CollectionRecord, _ titles: IndexFile, _ body: (DocumentHeader) throws -> Void
  ) throws {
    let number = record.id
    let statement = try titles.run { database throws(SQLiteError) in
      try database.statement("SELECT position,id,header FROM main.\(TitleIndex.titles(number))")
    }
    defer { statement.reset() }
    var count = 0
    while true {
      if count % 64 == 0 { try requireOpen() }
      count += 1
      let header = try titles.run { _ throws(SQLiteError) -> DocumentHeader? in
        guard try statement.step() else { return nil }
        let (position, id) = (statement.int64(at: 0), statement.int64(at: 1))
        guard let header = PackedHeader.header(id, in: number, at: position, statement.blobPointer(at: 2)) else {
          throw SQLiteError(.corrupt, "a header that no writer makes")
        }
        return header
      }
      guard let header else { return }
      try body(header)
    }
  }
}
