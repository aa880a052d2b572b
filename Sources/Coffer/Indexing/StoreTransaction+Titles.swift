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

  /// The headers of a collection in order, from proved pages.
  ///
  /// - Returns: the last header that `body` was given if a page can't be opened, behind which the rows are to be listed;
  ///   nil once all were given.
  func forEachTitle(
    in record: CollectionRecord, _ titles: IndexFile, _ body: (DocumentHeader) throws -> Void
  ) throws -> UnfinishedTitles? {
    var last: DocumentHeader?
    var count = 0
    let list: TitleList
    do throws(StoreError) {
      list = try TitleList(titles, record.id)
    } catch {
      return try unfinished(nil, error)
    }
    defer { list.reset() }
    while true {
      if count % 64 == 0 { try requireOpen() }
      count += 1
      let header: DocumentHeader?
      do throws(StoreError) {
        header = try list.next()
      } catch {
        return try unfinished(last, error)
      }
      guard let header else { return nil }
      try body(header)
      last = header
    }
  }

  /// A list from the index of titles that ended before its end.
  struct UnfinishedTitles {
    /// nil if no header was given.
    let last: DocumentHeader?
  }

  private func unfinished(_ last: DocumentHeader?, _ error: StoreError) throws(StoreError) -> UnfinishedTitles {
    guard error.isIndexDamage else { throw error }
    connection.closeIndex(IndexPart.titles)
    logger.warning("index \(IndexPart.titles): \(error.message); documents are listed without it")
    return UnfinishedTitles(last: last)
  }
}
