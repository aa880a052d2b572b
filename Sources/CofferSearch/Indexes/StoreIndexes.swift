package import CofferEngine
package import CofferRecords
internal import CofferSQLite
internal import Synchronization

/// The indexes that a transaction reads, updates and writes.
package struct StoreIndexes {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Returns an index's root in the file, or `nil` if it's missing or invalid for this store.
  func root(_ part: UInt32) throws(StoreError) -> (root: IndexRoot, sealed: [UInt8])? {
    let tables = IndexTables(transaction.database)
    guard transaction.hasIndexes, try tables.exist(), let row = try tables.root(of: part) else { return nil }
    do throws(StoreError) {
      let root = try root(part, row.epoch, row.sealed)
      guard root.isOtherVersion || root.identity == transaction.state[index: part] else { throw IndexRoot.earlier }
      return (root, row.sealed)
    } catch {
      guard error.code == .damaged else { throw error }
      transaction.logger.warning("index \(part) is invalid for this store: it is ignored")
      return nil
    }
  }

  private func root(_ part: UInt32, _ epoch: Int64, _ sealed: [UInt8]) throws(StoreError) -> IndexRoot {
    if let last = openIndexes.roots[part], last.epoch == epoch, last.sealed == sealed { return last.root }
    let root = try IndexRoot(part: part, epoch: epoch, sealed: sealed, transaction.keys)
    _ = try IndexDeclaration(root.declaration)
    openIndexes.roots[part] = (epoch, sealed, root)
    return root
  }

  /// Returns the combined declaration of all indexes.
  package func declaration() throws(StoreError) -> IndexDeclaration {
    var declaration = IndexDeclaration()
    for part in IndexPart.all {
      if let found = try root(part) { declaration.join(try IndexDeclaration(found.root.declaration)) }
    }
    return declaration
  }

  // MARK: Up-to-date indexes

  /// Calls `work` with an index that's up to date in this transaction, or with `nil` if the index doesn't exist.
  ///
  /// Missing documents are added in memory, and these pages are kept for the connection's next transaction. If a page
  /// is damaged, the index is rebuilt in memory and `work` is called a second time.
  ///
  /// - Throws: `indexBehind` if the update exceeds the memory limit, or `damaged` if a document is damaged.
  func withIndex<R>(
    _ part: UInt32, _ work: (IndexFile?) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard let file = try open(part) else { return try work(nil) }
    do throws(StoreError) {
      return try work(try update(file))
    } catch {
      openIndexes.close(part)
      guard error.isIndexDamage else { throw error }
      return try work(try rebuildInMemory(part, error))
    }
  }

  var memory: IndexMemory { transaction.connection.session.companion(IndexMemory.self) }

  private var openIndexes: OpenIndexes { transaction.connection.openIndexes }

  private var inMemory: IndexPages.Access {
    .inMemory(memory.budget)
  }

  /// Opens an index that may be outdated, or returns `nil` if the index doesn't exist.
  func open(_ part: UInt32) throws(StoreError) -> IndexFile? {
    guard let found = try root(part) else {
      openIndexes.close(part)
      return nil
    }
    let access = inMemory
    do throws(StoreError) {
      return try open(part, found, access)
    } catch {
      guard error.isIndexDamage else { throw error }
      return try rebuildInMemory(part, error)
    }
  }

  /// Reopens an index from its pages in the store, or returns `nil` if the index doesn't exist.
  ///
  /// - Throws: `damaged` if the index is damaged, because this function doesn't rebuild it.
  func reopen(_ part: UInt32) throws(StoreError) -> IndexFile? {
    openIndexes.close(part)
    guard let found = try root(part) else { return nil }
    return try open(part, found, inMemory)
  }

  /// Rebuilds an index in memory after an error in its pages.
  func rebuildInMemory(_ part: UInt32, _ error: StoreError)
    throws(StoreError) -> IndexFile?
  {
    guard let found = try root(part) else { return nil }
    transaction.logger.warning("index \(part): \(error.message); it is made again in memory")
    var root = found.root
    try root.restart()
    openIndexes.close(part)
    openIndexes.files[part] = try IndexFile(root, sealed: found.sealed, transaction, inMemory)
    return try update(openIndexes.files[part]!)
  }

  private func open(
    _ part: UInt32, _ found: (root: IndexRoot, sealed: [UInt8]), _ access: IndexPages.Access,
    isNewDeclaration: Bool = false
  ) throws(StoreError) -> IndexFile {
    releaseFormerPages(part, since: found.sealed)
    if let open = openIndexes.files[part], open.sealedRoot == found.sealed,
      !open.hasUncommittedChanges || isUpToDate(open)
    {
      open.use(transaction, access)
      try adjustCaches()
      return open
    }
    // Close the old index first, because both would share the memory.
    openIndexes.close(part)
    let file = try IndexFile(
      found.root, sealed: found.sealed, transaction, access, isNewDeclaration: isNewDeclaration)
    openIndexes.files[part] = file
    try adjustCaches()
    return file
  }

  /// Adjusts the cache of each open index on this connection to its memory share.
  private func adjustCaches() throws(StoreError) {
    for file in openIndexes.files.values { try file.adjustCache() }
  }

  private func isUpToDate(_ file: IndexFile) -> Bool {
    file.contents?.match(transaction.state) == true
  }

  /// Adds missing documents to an index in memory. If many are missing, one reader at a time adds them, and the others
  /// continue from its pages.
  ///
  /// - Returns: The index, which is reopened to continue from another reader's pages.
  func update(_ file: IndexFile) throws(StoreError) -> IndexFile {
    try closingOnError(file.pages.root.part) { () throws(StoreError) in
      try inTurn(file) { () throws(StoreError) in
        let file = try continuing(file)
        try updateInPlace(file)
        return file
      }
    }
  }

  /// Adds missing documents to an index that a view reads.
  func updateForView(_ file: IndexFile) throws(StoreError) {
    try closingOnError(file.pages.root.part) { () throws(StoreError) in
      try inTurn(file) { () throws(StoreError) in try updateInPlace(file) }
    }
  }

  /// Closes an index after an error, because its pages in memory may be from an unfinished update.
  private func closingOnError<R>(_ part: UInt32, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      openIndexes.close(part)
      throw error
    }
  }

  /// Opens an index for a view, with the documents that other readers have added.
  func openForView(_ part: UInt32) throws(StoreError) -> IndexFile? {
    guard var file = try open(part) else { return nil }
    // The views need a new index's tables.
    file = try file.contents == nil ? update(file) : continuing(file)
    guard file.isInQuery, let found = try root(part) else { return file }
    let shared = file.memoryContents.map {
      IndexMemory.Update(sealedRoot: file.sealedRoot, pages: file.pages.overlay, contents: $0)
    }
    return try IndexFile(found.root, sealed: found.sealed, transaction, inMemory, continuing: shared)
  }

  /// Runs work on an index. If the file's readers share their pages, only one reader runs at a time.
  private func inTurn<R>(_ file: IndexFile, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    guard try mustShare(file) else { return try work() }
    let session = transaction.connection.session
    let turn = session.locks.indexReaders
    try turn.wait(nil, owner: session, transaction.connection.currentCancellation)
    defer { turn.signal() }
    return try work()
  }

  /// Returns whether a reader must share its changed pages, because an index lacks many documents, or because all
  /// readers' pages exceed half of the memory.
  private func mustShare(_ file: IndexFile) throws(StoreError) -> Bool {
    guard !transaction.isWriter else { return false }
    return try gap(since: file.contents).limit(of: transaction.state.count) &+ unreadCount(file)
      > (memory.budget.isScarce ? 0 : IndexGap.privateUpdateLimit)
  }

  private func updateInPlace(_ file: IndexFile) throws(StoreError) {
    let gap = try gap(since: file.contents)
    let unread = try unreadCount(file)
    if case .nothing = gap, unread == 0 { return }
    // Record the gap first, because the update may exceed the readers' memory limit.
    if !transaction.isWriter {
      let missing = Int(clamping: max(1, gap.limit(of: transaction.state.count) &+ unread))
      transaction.connection.session.outdatedIndexDocuments.wrappingAdd(missing, ordering: .relaxed)
    }
    try IndexUpdate(file, transaction).run(gap)
    file.didUpdateMemory(try contents(), hasUncommittedChanges: transaction.hasWritten)
    if !transaction.isWriter { try share(file) }
  }

  /// Returns the number of documents whose dates another program couldn't read and this program can.
  func unreadCount(_ file: IndexFile) throws(StoreError) -> UInt64 {
    guard file.declaration.hasOwnDates, file.contents != nil else { return 0 }
    let index = try file.tables(transaction)
    return UInt64(try file.run { _ throws(SQLiteError) in try index.unreadDocuments().count })
  }

  // MARK: Sharing pages in memory

  /// Returns an index that continues from another reader's pages, if readers share them and they aren't missing more
  /// documents.
  private func continuing(_ file: IndexFile) throws(StoreError) -> IndexFile {
    guard try mustShare(file) else { return file }
    let count = transaction.state.count
    let part = file.pages.root.part
    guard let shared = memory[part], shared.sealedRoot == file.sealedRoot, let found = try root(part) else {
      return file
    }
    // An index is made again in memory if a page in the file is damaged, which the shared pages may not replace.
    guard shared.pages.isWhole || !file.pages.overlay.isWhole else {
      memory[part] = nil
      return file
    }
    guard
      try gap(since: shared.contents).limit(of: count) <= gap(since: file.contents).limit(of: count)
    else { return file }
    return try open(found, shared)
  }

  private func open(
    _ found: (root: IndexRoot, sealed: [UInt8]), _ shared: IndexMemory.Update
  ) throws(StoreError) -> IndexFile {
    let part = found.root.part
    openIndexes.close(part)
    let file = try IndexFile(found.root, sealed: found.sealed, transaction, inMemory, continuing: shared)
    openIndexes.files[part] = file
    try adjustCaches()
    return file
  }

  /// Releases the shared pages of an earlier root, because another process may have replaced it.
  private func releaseFormerPages(_ part: UInt32, since sealed: [UInt8]) {
    guard let shared = memory[part], shared.sealedRoot != sealed,
      shared.contents.generation <= transaction.start.generation
    else { return }
    memory[part] = nil
  }

  /// Shares an index's pages with other readers, unless their pages lack only few documents.
  private func share(_ file: IndexFile) throws(StoreError) {
    guard let contents = file.memoryContents else { return }
    let part = file.pages.root.part
    if let shared = memory[part], shared.sealedRoot == file.sealedRoot {
      guard contents.generation > shared.contents.generation else { return }
      let gap = try gap(since: shared.contents)
      let least = memory.budget.isScarce ? 0 : IndexGap.privateUpdateLimit / 2
      guard gap.limit(of: transaction.state.count) > least else { return }
    }
    memory[part] = IndexMemory.Update(
      sealedRoot: file.sealedRoot, pages: file.pages.overlay, contents: contents)
  }

  // MARK: Writing

  /// Updates an index in the store.
  ///
  /// - Parameters:
  ///   - adding: The collections whose tables to rebuild.
  ///   - isNewDeclaration: Whether the tables still belong to an earlier declaration.
  ///   - steps: The steps, of which this call performs one, or `nil` to update the entire index. Building or rebuilding
  ///     an index takes one step.
  /// - Returns: `false` if the index is missing or up to date.
  @discardableResult
  func write(
    _ part: UInt32, adding: [UInt32] = [], isNewDeclaration: Bool = false, in steps: IndexSteps? = nil,
    progress: ((Int) throws(StoreError) -> Void)? = nil
  ) throws(StoreError) -> Bool {
    guard let found = try root(part) else { return false }
    let former = steps?.begin(found.sealed, found.root.contents) ?? found.root.contents
    var gap = try gap(since: former)
    if let steps, let contents = steps.contents { gap = try self.gap(since: contents).through(steps.last, then: gap) }
    let isUpToDate = if case .nothing = gap { !isNewDeclaration } else { false }
    if isUpToDate, try !IndexDeclaration(found.root.declaration).hasOwnDates { return false }
    guard !found.root.isOtherVersion else {
      try rebuild(found.root, progress)
      return true
    }
    // Pages changed in memory can't be used in the store.
    if (openIndexes.files[part])?.memoryContents != nil { openIndexes.close(part) }
    try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
    do throws(StoreError) {
      let file = try open(part, found, .inStore, isNewDeclaration: isNewDeclaration)
      if isUpToDate, try unreadCount(file) == 0 { return false }
      if isNewDeclaration { try file.pages.renewIdentity() }
      let limit = former == nil ? nil : steps?.limit
      let update = try IndexUpdate(file, transaction, progress: progress)
      let last = try update.run(gap, adding: adding, limit: limit)
      if isNewDeclaration { try file.checkSchema() }
      let contents = try contents()
      try file.write(steps?.contents(after: last, contents) ?? contents, transaction)
      memory[part] = nil
      steps?.end(file.sealedRoot, leavesUnread: update.leavesUnread)
    } catch {
      openIndexes.close(part)
      guard error.isIndexDamage else { throw error }
      transaction.logger.warning("index \(part): \(error.message); it is made again")
      var root = found.root
      try root.restart()
      try rebuild(root, progress)
    }
    return true
  }

  /// Rebuilds the tables of collections with many outdated rows.
  func rebuildWorn(_ part: UInt32) throws(StoreError) {
    guard let found = try root(part), let contents = found.root.contents else { return }
    let file = try open(part, found, .inStore)
    let rebuild = try IndexUpdate(file, transaction)
    guard try rebuild.hasWornTables else { return }
    do throws(StoreError) {
      // The rebuilt tables contain the current documents, so update the other tables, too.
      try rebuild.run(try gap(since: contents))
      try file.write(try self.contents(), transaction)
    } catch {
      openIndexes.close(part)
      throw error
    }
  }

  /// Deletes an index with its pages, including those in memory.
  func delete(_ part: UInt32) throws(StoreError) {
    try transaction.deleteIndex(part)
    openIndexes.close(part)
    memory[part] = nil
  }

  /// Rebuilds an index, or deletes it if its declaration is empty.
  func rebuild(_ root: IndexRoot, _ progress: ((Int) throws(StoreError) -> Void)? = nil) throws(StoreError) {
    try delete(root.part)
    guard try !IndexDeclaration(root.declaration).collections.isEmpty else { return }
    try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
    do throws(StoreError) {
      let file = try IndexFile(root, sealed: [], transaction, .inStore)
      try IndexUpdate(file, transaction, progress: progress).run(.everything)
      try file.write(try contents(), transaction)
      openIndexes.files[root.part] = file
    } catch {
      openIndexes.close(root.part)
      throw error
    }
  }
}
