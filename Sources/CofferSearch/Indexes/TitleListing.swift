package import CofferEngine
package import CofferRecords
internal import CofferSQLite

/// Lists documents from the title index.
package struct TitleListing {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Returns the title index if it contains a collection, and lacks few documents.
  /// Otherwise, returns `nil`, and the caller lists the rows instead.
  package func verifiedTitles(of record: CollectionRecord) throws(StoreError) -> IndexFile? {
    guard !transaction.isWriter, transaction.hasIndexes,
      let found = try StoreIndexes(transaction).root(IndexPart.titles),
      try StoreIndexes(transaction).gap(since: found.root.contents).limit(of: transaction.state.count)
        <= IndexGap.listingLimit
    else { return nil }
    do throws(StoreError) {
      return try StoreIndexes(transaction).withIndex(IndexPart.titles) { file throws(StoreError) in
        file?.declaration.collection(record.id)?.uid == record.uid ? file : nil
      }
    } catch {
      guard error.isIndexDamage || error.code == .indexBehind else { throw error }
      transaction.logger.warning("index \(IndexPart.titles): \(error.message); documents are listed without it")
      return nil
    }
  }

  /// Calls `body` with a collection's headers in order, from verified pages.
  ///
  /// - Returns: `nil` after all headers, or the last header passed to `body` if a page is damaged. The caller lists the
  ///   remaining rows instead.
  package func forEachTitle(
    in record: CollectionRecord, _ titles: IndexFile, _ body: (DocumentHeader) throws -> Void
  ) throws -> IncompleteTitles? {
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
      if count % 64 == 0 { try transaction.requireOpen() }
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

  /// An incomplete list from the title index.
  package struct IncompleteTitles {
    /// The last listed header, or `nil` if the list is empty.
    package let last: DocumentHeader?
  }

  private func unfinished(_ last: DocumentHeader?, _ error: StoreError) throws(StoreError) -> IncompleteTitles {
    guard error.isIndexDamage else { throw error }
    transaction.connection.openIndexes.close(IndexPart.titles)
    transaction.logger.warning("index \(IndexPart.titles): \(error.message); documents are listed without it")
    return IncompleteTitles(last: last)
  }
}
