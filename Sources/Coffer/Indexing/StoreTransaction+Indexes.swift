internal import CofferRecords
internal import CofferSQLite

/// The numbers of a store's indexes.
enum IndexPart {
  /// Words, substrings and fields of all collections.
  static let contents: UInt32 = 1
  /// Lists of titles.
  static let titles: UInt32 = 2
  static let all = [contents, titles]
}

extension StoreTransaction {
  /// Whether the store has indexes at all.
  var hasIndexes: Bool { keys.session.header.compatible & IndexTables.feature != 0 }

  /// The root of an index as it is in the file; nil if there is none, or it is invalid for this store.
  func indexRoot(_ part: UInt32) throws(StoreError) -> (root: IndexRoot, sealed: [UInt8])? {
    let tables = IndexTables(database)
    guard hasIndexes, try tables.exist(), let row = try tables.root(of: part) else { return nil }
    if let last = connection.lastRoots[part], last.epoch == row.epoch, last.sealed == row.sealed {
      return (last.root, row.sealed)
    }
    do throws(StoreError) {
      let root = try IndexRoot(part: part, epoch: row.epoch, sealed: row.sealed, keys)
      _ = try IndexDeclaration(root.declaration)
      connection.lastRoots[part] = (row.epoch, row.sealed, root)
      return (root, row.sealed)
    } catch {
      guard error.code == .damaged else { throw error }
      logger.warning("index \(part) is invalid for this store: it is ignored")
      return nil
    }
  }

  /// The declared indexes.
  func indexDeclaration() throws(StoreError) -> IndexDeclaration {
    var declaration = IndexDeclaration()
    for part in IndexPart.all {
      if let found = try indexRoot(part) { declaration.join(try IndexDeclaration(found.root.declaration)) }
    }
    return declaration
  }

  // MARK: Up-to-date indexes

  /// Works with the index, brought up to date with this transaction; with nil if there is none.
  ///
  /// Documents that are missing in it are added in memory, whose pages are kept for the next transaction of this
  /// connection. If a page turns out to be damaged, the index is made again in memory, and `work` runs once more.
  ///
  /// - Throws: `indexBehind` if that takes more memory than the options allow; `damaged` for documents.
  func withIndex<R>(
    _ part: UInt32, _ work: (IndexFile?) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard let file = try openIndex(part) else { return try work(nil) }
    do throws(StoreError) {
      try update(file)
      return try work(file)
    } catch {
      connection.closeIndex(part)
      guard error.isIndexDamage else { throw error }
      return try work(try remakeIndex(part, error))
    }
  }

  private var inMemory: IndexPages.Access { .inMemory(limit: connection.session.indexMemoryBytes) }

  /// The index as it is, which may be behind; nil if there is none.
  func openIndex(_ part: UInt32) throws(StoreError) -> IndexFile? {
    guard let found = try indexRoot(part) else {
      connection.closeIndex(part)
      return nil
    }
    let access = inMemory
    do throws(StoreError) {
      return try openIndex(part, found, access)
    } catch {
      guard error.isIndexDamage else { throw error }
      return try remakeIndex(part, error)
    }
  }

  /// The index as its pages in the store have it, opened afresh; nil if there is none.
  ///
  /// - Throws: `damaged` if it is damaged: it is not made again.
  func storedIndex(_ part: UInt32) throws(StoreError) -> IndexFile? {
    connection.closeIndex(part)
    guard let found = try indexRoot(part) else { return nil }
    return try openIndex(part, found, inMemory)
  }

  /// Makes the index again in memory, after `error` of its pages.
  func remakeIndex(_ part: UInt32, _ error: StoreError)
    throws(StoreError) -> IndexFile?
  {
    guard let found = try indexRoot(part) else { return nil }
    logger.warning("index \(part): \(error.message); it is made again in memory")
    var root = found.root
    try root.restart()
    connection.closeIndex(part)
    let file = try IndexFile(root, sealed: found.sealed, self, inMemory)
    try update(file)
    connection.openIndexes[part] = file
    return file
  }

  private func openIndex(
    _ part: UInt32, _ found: (root: IndexRoot, sealed: [UInt8]), _ access: IndexPages.Access
  ) throws(StoreError) -> IndexFile {
    if let open = connection.openIndexes[part] as? IndexFile, open.sealedRoot == found.sealed,
      !open.isTentative || isUpToDate(open)
    {
      try open.use(self, access)
      try fitCaches()
      return open
    }
    // Before the new one is opened: both would share the memory.
    connection.closeIndex(part)
    let file = try IndexFile(found.root, sealed: found.sealed, self, access)
    connection.openIndexes[part] = file
    try fitCaches()
    return file
  }

  /// Gives each open index of this connection its share of the memory.
  private func fitCaches() throws(StoreError) {
    for case let file as IndexFile in connection.openIndexes.values { try file.fitCache() }
  }

  private func isUpToDate(_ file: IndexFile) -> Bool {
    file.contents?.match(state) == true
  }

  /// Adds the documents that are missing, in memory.
  func update(_ file: IndexFile) throws(StoreError) {
    let gap = try gap(since: file.contents)
    if case .nothing = gap { return }
    try IndexUpdate(file, self).run(gap)
    file.didUpdateMemory(try contents(), isTentative: hasWritten)
  }

  // MARK: Writing

  /// Brings the index up to date in the store.
  ///
  /// - Parameters:
  ///   - adding: collections whose tables are made again.
  ///   - limit: gives up if more documents may be missing; nil for no limit.
  /// - Returns: false if it gave up, or if there was nothing to do.
  @discardableResult
  func writeIndex(
    _ part: UInt32, adding: [UInt32] = [], limit: UInt64? = nil, progress: ((Int) throws(StoreError) -> Void)? = nil
  ) throws(StoreError) -> Bool {
    guard let found = try indexRoot(part) else { return false }
    let gap = try gap(since: found.root.contents)
    if case .nothing = gap, adding.isEmpty { return false }
    if let limit, gap.limit(of: state.count) > limit { return false }
    // Pages in memory are of no use for the store.
    if (connection.openIndexes[part] as? IndexFile)?.memoryContents != nil { connection.closeIndex(part) }
    try keys.beginIndexRun(connection.nonceSource)
    do throws(StoreError) {
      let file = try openIndex(part, found, .inStore)
      try IndexUpdate(file, self, progress: progress).run(gap, adding: adding)
      try file.write(try contents(), self)
    } catch {
      connection.closeIndex(part)
      guard error.isIndexDamage, limit == nil else { throw error }
      logger.warning("index \(part): \(error.message); it is made again")
      var root = found.root
      try root.restart()
      try rebuild(root, progress)
    }
    return true
  }

  /// Makes an index from nothing.
  func rebuild(_ root: IndexRoot, _ progress: ((Int) throws(StoreError) -> Void)? = nil) throws(StoreError) {
    let tables = IndexTables(database)
    try tables.delete(root.part)
    connection.closeIndex(root.part)
    guard try !IndexDeclaration(root.declaration).collections.isEmpty else { return }
    try keys.beginIndexRun(connection.nonceSource)
    do throws(StoreError) {
      let file = try IndexFile(root, sealed: [], self, .inStore)
      try IndexUpdate(file, self, progress: progress).run(.everything)
      try file.write(try contents(), self)
      connection.openIndexes[root.part] = file
    } catch {
      connection.closeIndex(root.part)
      throw error
    }
  }
}
