package import CofferEngine
internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// Updates an open store's indexes in the file, on one thread at a time.
final class IndexUpkeep: SessionCompanion {
  let queue = DispatchQueue(label: "coffer.indexes", qos: .utility)
  /// Held by the thread that updates the indexes.
  let turn = Mutex<Void>(())
  /// The number of threads that wait for the queue.
  let waiterCount = Atomic<Int>(0)
  private let isScheduled = Atomic<Bool>(false)
  private let isClosed = Atomic<Bool>(false)

  init(_ options: OpenOptions, _ file: ProcessLocks) {}

  /// Runs work on the queue, unless other work waits there or the store is closed.
  func schedule(_ work: @escaping @Sendable () -> Void) {
    guard !isClosed.load(ordering: .relaxed), !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else {
      return
    }
    queue.async {
      self.isScheduled.store(false, ordering: .releasing)
      work()
    }
  }

  func close() { isClosed.store(true, ordering: .relaxed) }

  func releaseMemory() {}
}

extension StoreEngine {
  private var upkeep: IndexUpkeep { session.companion(IndexUpkeep.self) }

  /// Starts updating the indexes in the file on another thread after enough commits by this process.
  package func beginIndexUpkeep() {
    session.indexDebt.onLimit { [weak self] in
      self?.upkeep.schedule { [weak self] in
        _ = try? self?.updateIndexesInFile(wait: .seconds(1), isDue: true)
      }
    }
  }

  /// Waits for the updates caused by previous commits.
  package func waitForIndexUpkeep() {
    upkeep.waiterCount.add(1, ordering: .relaxed)
    upkeep.queue.sync {}
    upkeep.waiterCount.subtract(1, ordering: .relaxed)
  }

  /// Updates the indexes in the file, if this process has made commits, other writers aren't active, and readers had to
  /// add documents to the indexes in memory.
  ///
  /// - Parameter count: The number of documents that readers must have added. Fewer documents wait for the next call.
  /// - Returns: Whether an index was written.
  @discardableResult
  package func updateOutdatedIndexes(atLeast count: Int = 1) -> Bool {
    let outdated = session.outdatedIndexDocuments.load(ordering: .relaxed)
    guard outdated >= count, session.indexDebt.mayWrite, connections.canWriteImmediately else { return false }
    return (try? updateIndexesInFile(wait: .zero)) == true
  }

  /// Updates the indexes in the file before the store is closed, without waiting for other processes.
  package func updateIndexesBeforeClosing() {
    guard !isReadOnly, connections.isOutsideScope else { return }
    // It can be the writer, between two steps that belong together.
    waitForIndexUpkeep()
    guard connections.canWriteImmediately, !updateOutdatedIndexes(), session.indexDebt.isOwed else { return }
    _ = try? updateIndexesInFile(wait: .zero, isDue: true)
  }

  /// Returns whether a failed read can be retried, because it failed only for lack of memory to update an index.
  ///
  /// Releases the pages of idle connections, and updates the index in the file when it's this thread's turn to write.
  /// Inside another store's transaction, it doesn't wait for that turn. If the file can't be written, the read isn't
  /// retried, because it would need the same memory.
  ///
  /// - Throws: `locked`, `cancelled`, `suspended` or `closed` if that ended the update.
  package func canRepeatRead(after error: any Error) throws(StoreError) -> Bool {
    guard (error as? StoreError)?.code == .indexBehind, !isReadOnly else { return false }
    connections.closeIdleReaders()
    let isInScope = StoreEngine.isInScope
    return try updateIndexesInFile(wait: isInScope ? .zero : nil, awaitsTurn: !isInScope) != nil
  }

  /// Adds missing documents to the indexes in memory, like a reader, and then writes the changed pages to the file.
  ///
  /// - Parameters:
  ///   - wait: The maximum time to wait for a lock, or `nil` for the store's waiting time.
  ///   - isDue: Whether to write only indexes that lack many documents, or much of the ring.
  ///   - awaitsTurn: Whether to wait for another thread that updates the indexes.
  /// - Returns: Whether an index was written, or `nil` if the indexes couldn't be updated.
  /// - Throws: `locked`, `cancelled`, `suspended` or `closed` if that ended the update.
  private func updateIndexesInFile(
    wait: Duration?, isDue: Bool = false, awaitsTurn: Bool = false
  ) throws(StoreError) -> Bool? {
    guard !isReadOnly else { return nil }
    try session.requireRunning()
    func update() throws(StoreError) -> Bool? {
      let outdated = session.outdatedIndexDocuments.exchange(0, ordering: .relaxed)
      let debt = session.indexDebt.take()
      do throws(StoreError) {
        var hasWritten = false
        for part in IndexPart.all where try updateInFile(part, wait: wait, isDue: isDue) { hasWritten = true }
        return hasWritten
      } catch {
        // Until then, readers update the indexes in memory.
        switch error.code {
        case .locked, .cancelled, .suspended:
          session.outdatedIndexDocuments.wrappingAdd(outdated, ordering: .relaxed)
          session.indexDebt.giveBack(debt)
          throw error
        case .closed: throw error
        case .readOnly, .diskFull, .damaged, .misuse, .otherFormat:
          log.debug("an index wasn't updated: \(error.message)")
        default: log.warning("an index wasn't updated: \(error.message)")
        }
        return nil
      }
    }
    if awaitsTurn { return try upkeep.turn.withLock { _ throws(StoreError) in try update() } }
    return try upkeep.turn.withLockIfAvailable { _ throws(StoreError) in try update() } ?? nil
  }

  private func updateInFile(_ part: UInt32, wait: Duration?, isDue: Bool) throws(StoreError) -> Bool {
    let update: IndexMemory.Update?
    do throws(StoreError) {
      update = try reading(wait: wait) { transaction throws(StoreError) in
        let indexes = StoreIndexes(transaction)
        return try indexes.isOutdated(part, isDue: isDue) ? try indexes.update(of: part) : nil
      }
    } catch {
      guard error.code == .indexBehind else { throw error }
      // The pages exceed the readers' memory limit.
      let steps = IndexSteps()
      repeat {
        let hasWritten = try writing(wait: wait) { transaction throws(StoreError) in
          guard try StoreIndexes(transaction).write(part, in: steps) else { return false }
          try transaction.commit()
          return true
        }
        guard hasWritten else { return false }
      } while !steps.isFinished
      return true
    }
    guard let update else { return false }
    return try writing(wait: wait) { transaction throws(StoreError) in
      guard try StoreIndexes(transaction).write(part, update) else { return false }
      try transaction.commit()
      return true
    }
  }
}

extension StoreIndexes {
  /// Returns whether an index in the file lacks documents.
  ///
  /// - Parameter isDue: Whether it must lack enough documents to make an update worth a commit.
  fileprivate func isOutdated(_ part: UInt32, isDue: Bool) throws(StoreError) -> Bool {
    guard let (root, sealed) = try root(part) else { return false }
    // After a rekey, an index is empty until it's needed.
    guard let contents = root.contents else { return !isDue }
    let gap = try gap(since: contents)
    // It may have dates that another program couldn't read.
    let hasOwnDates = try IndexDeclaration(root.declaration).hasOwnDates
    let isNothing = if case .nothing = gap { true } else { false }
    guard isDue else { return !isNothing || hasOwnDates }
    let unread = hasOwnDates ? try unreadCount(root, sealed) : 0
    guard gap.limit(of: transaction.state.count) &+ unread < IndexDebt.limit else { return true }
    let ring = transaction.start.ring
    return !isNothing
      && ring.byteCount(after: contents.generation).map { $0 > ring.byteCount / 3 } ?? true
  }

  /// Returns the number of documents in the file whose dates another program couldn't read, or 0 if it's damaged.
  private func unreadCount(_ root: IndexRoot, _ sealed: [UInt8]) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      // An index that is open may have read them in memory.
      return try unreadCount(IndexFile(root, sealed: sealed, transaction, .inMemory(memory.budget)))
    } catch {
      guard error.isIndexDamage else { throw error }
      return 0
    }
  }

  /// Returns an index's pages in memory after updating them for this transaction.
  ///
  /// Tables with many outdated rows are rebuilt here, while other writers can write, if the index takes up to half of
  /// the memory.
  func update(of part: UInt32) throws(StoreError) -> IndexMemory.Update? {
    try withIndex(part) { file throws(StoreError) in
      guard let file, let contents = file.memoryContents else { return nil }
      let update = IndexMemory.Update(sealedRoot: file.sealedRoot, pages: file.pages.overlay, contents: contents)
      let rebuild = try IndexUpdate(file, transaction)
      guard file.pages.pageCount * file.pages.pageSize <= memory.budget.limit / 2, try rebuild.hasWornTables else {
        return update
      }
      // This reader doesn't need the pages after the update.
      defer { transaction.connection.openIndexes.close(part) }
      rebuild.rebuildsWorn = true
      do throws(StoreError) {
        try rebuild.run(.nothing)
        return IndexMemory.Update(sealedRoot: file.sealedRoot, pages: file.pages.overlay, contents: contents)
      } catch {
        guard error.code == .indexBehind else { throw error }
        return update
      }
    }
  }

  /// Writes a reader's pages in memory to the store. Rebuilds any remaining tables with many outdated rows.
  ///
  /// - Returns: `false` if the index has changed since then.
  func write(_ part: UInt32, _ update: IndexMemory.Update) throws(StoreError) -> Bool {
    guard let found = try root(part), found.sealed == update.sealedRoot, !found.root.isOtherVersion else {
      return false
    }
    try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
    let pages = IndexPages(found.root, transaction.database, transaction.keys, .inStore)
    try pages.seal(update.pages)
    try pages.finish(update.contents)
    try transaction.put(pages.root)
    transaction.connection.openIndexes.close(part)
    memory[part] = nil
    try rebuildWorn(part)
    return true
  }
}
