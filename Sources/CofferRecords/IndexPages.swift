internal import CofferSQLite
internal import CofferSealing

/// An index's pages, each sealed in a row of the store, as the file of the index's inner database.
///
/// Used in one transaction at a time. Written pages go to the store's rows, or to memory if the store is only read.
package final class IndexPages: PageStorage {
  package enum Access: Equatable {
    /// Keep changed pages in memory, up to a number of bytes.
    case inMemory(limit: Int)
    /// Seal and write changed pages.
    case inStore
  }

  /// The reason why a page couldn't be read or written, which SQLite reports only as an I/O error.
  package enum Failure: Error {
    /// A page was changed or is missing, so the index is unusable.
    case damaged(StoreError)
    /// The changed pages exceed the memory limit.
    case overLimit
    case store(StoreError)
  }

  /// The bytes that SQLite leaves unused at a page's end, so a sealed page fits in one page of the store.
  package static let reservedBytes = 96

  package private(set) var root: IndexRoot
  package private(set) var failure: Failure?
  /// The pages that are only in memory.
  private var changed: [Int: UnsafeMutableRawBufferPointer] = [:]
  private var database: StoreDatabase
  private var keys: RowKeys
  private var access: Access
  /// The number of pages, including pages in memory.
  package private(set) var pageCount: Int
  /// The number of stored bytes of a page.
  private let bodyCount: Int
  private let sealed: UnsafeMutableRawBufferPointer
  /// Whether pages of the next revision were written.
  private var hasWritten = false
  /// The pages below the page count that haven't been written yet.
  private var gaps: Set<Int> = []
  /// The marks of all pages' elements after summing them. Other pages are then rejected.
  private var proved: [Int64]?

  package init(_ root: IndexRoot, _ database: StoreDatabase, _ keys: RowKeys, _ access: Access) {
    self.root = root
    self.database = database
    self.keys = keys
    self.access = access
    pageCount = Int(root.pageCount)
    bodyCount = Int(root.pageSize) - Self.reservedBytes
    sealed = .allocate(byteCount: bodyCount + XAESKey.overhead, alignment: 16)
  }

  deinit {
    for memory in changed.values { memory.deallocate() }
    sealed.deallocate()
  }

  // MARK: PageStorage

  package var pageSize: Int { Int(root.pageSize) }
  package var reservedCount: Int { Self.reservedBytes }

  package func read(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws {
    if let kept = changed[page] { return bytes.copyMemory(from: UnsafeRawBufferPointer(kept)) }
    try noting { () throws(Failure) in try readRow(page, into: bytes) }
    UnsafeMutableRawBufferPointer(rebasing: bytes[bodyCount...]).initializeMemory(as: UInt8.self, repeating: 0)
  }

  package func write(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws {
    switch access {
    case .inMemory(let limit):
      if changed[page] == nil {
        try noting { () throws(Failure) in
          guard (changed.count + 1) * pageSize <= limit else { throw .overLimit }
        }
        changed[page] = .allocate(byteCount: pageSize, alignment: 16)
      }
      changed[page]!.copyMemory(from: bytes)
    case .inStore:
      try noting { () throws(Failure) in try writeRow(page, UnsafeRawBufferPointer(rebasing: bytes[..<bodyCount])) }
    }
    pageCount = max(pageCount, page + 1)
  }

  package func truncate(to count: Int) throws {
    switch access {
    case .inMemory:
      for (page, memory) in changed where page >= count {
        memory.deallocate()
        changed[page] = nil
      }
    case .inStore:
      try noting { () throws(Failure) in
        (hasWritten, proved) = (true, nil)
        for page in count..<max(Int(root.pageCount), count) { try removeFromSum(page) }
        do throws(StoreError) {
          try IndexTables(database).deletePages(of: root.part, from: UInt32(count))
        } catch {
          throw .store(error)
        }
        root.pageCount = UInt32(count)
      }
    }
    pageCount = count
  }

  // MARK: Rows

  /// Stores the failure of `work`, because SQLite doesn't report the reason.
  private func noting(_ work: () throws(Failure) -> Void) throws(Failure) {
    do throws(Failure) {
      try work()
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  private func place(_ page: Int, revision: UInt64) -> IndexPlace {
    IndexPlace(
      identity: root.identity, part: root.part, epoch: keys.active.epoch, page: UInt32(page), revision: revision)
  }

  /// Passes the page's revision and sealed bytes to `body`, or returns `nil` if its row is missing.
  private func row<R>(
    _ page: Int, _ body: (UInt64, UnsafeRawBufferPointer) throws(Failure) -> R
  ) throws(Failure) -> R? {
    let statement: StoreStatement
    do throws(StoreError) {
      statement = try database.statement(SQL.indexPage, IndexTables.place(root.part, UInt32(page)))
      guard try statement.step() else {
        statement.reset()
        return nil
      }
    } catch {
      throw .store(error)
    }
    defer { statement.reset() }
    let columns = statement.columns()
    guard columns[0].storageClass == .integer, columns[0].integer == Int64(keys.active.epoch),
      columns[1].storageClass == .integer, columns[1].integer >= 1, columns[2].storageClass == .blob,
      columns[2].bytes.count == bodyCount + XAESKey.overhead
    else { throw .damaged(IndexRoot.damaged("page \(page) is invalid")) }
    let revision = UInt64(columns[1].integer)
    guard revision <= root.revision + (hasWritten ? 1 : 0) else {
      throw .damaged(IndexRoot.damaged("page \(page) is newer than its root"))
    }
    return try body(revision, columns[2].bytes)
  }

  private func readRow(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws(Failure) {
    let isFound: Void? = try row(page) { revision, sealed throws(Failure) in
      do throws(SealingError) {
        try keys.active.index().open(
          sealed, authenticating: keys.binding.indexPage(place(page, revision: revision)),
          plaintext: UnsafeMutableRawBufferPointer(rebasing: bytes[..<bodyCount]))
        if let proved {
          let element = try keys.active.set.element(
            of: keys.binding.indexElement(place(page, revision: revision), sealed: sealed))
          guard page < proved.count, proved[page] == element.mark else {
            throw SealingError(.notAuthentic, "another page than the proved one")
          }
        }
      } catch {
        guard error.code == .notAuthentic else { throw .store(StoreError(error)) }
        throw .damaged(IndexRoot.damaged("page \(page) is not the one that was written"))
      }
    }
    guard isFound != nil else { throw .damaged(IndexRoot.damaged("page \(page) is missing")) }
  }

  private func writeRow(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    (hasWritten, proved) = (true, nil)
    let place = place(page, revision: root.revision + 1)
    // SQLite may write a page before the preceding pages.
    if page < Int(root.pageCount) {
      try removeFromSum(page)
    } else {
      for gap in Int(root.pageCount)..<page { gaps.insert(gap) }
      root.pageCount = UInt32(page + 1)
    }
    gaps.remove(page)
    do throws(SealingError) {
      try keys.active.index().seal(
        bytes, authenticating: keys.binding.indexPage(place), nonces: keys.nonces, into: sealed)
      try keys.summer.add(
        keys.active.set.element(of: keys.binding.indexElement(place, sealed: UnsafeRawBufferPointer(sealed))),
        to: &root.sum)
    } catch {
      throw .store(StoreError(error))
    }
    do throws(StoreError) {
      let statement = try database.statement(
        SQL.putIndexPage, IndexTables.place(root.part, UInt32(page)), Int64(place.epoch), Int64(place.revision))
      defer { statement.reset() }
      try statement.bindBlob(UnsafeRawBufferPointer(sealed), at: 4)
      _ = try statement.step()
    } catch {
      throw .store(error)
    }
  }

  private func removeFromSum(_ page: Int) throws(Failure) {
    guard gaps.isEmpty || !gaps.contains(page) else { return }
    let isFound: Void? = try row(page) { revision, sealed throws(Failure) in
      do throws(SealingError) {
        let element = keys.binding.indexElement(place(page, revision: revision), sealed: sealed)
        try keys.summer.subtract(keys.active.set.element(of: element), from: &root.sum)
      } catch {
        throw .store(StoreError(error))
      }
    }
    guard isFound != nil else { throw .damaged(IndexRoot.damaged("page \(page) is missing")) }
  }

  // MARK: Transactions

  /// Continues in another transaction on the same rows.
  package func use(_ database: StoreDatabase, _ keys: RowKeys, _ access: Access) {
    precondition(
      access != .inStore || changed.isEmpty, "internal error: pages in memory can't be written to a store later")
    self.database = database
    self.keys = keys
    self.access = access
    failure = nil
  }

  /// Stores the state of the documents in the pages. Call this method after the inner database commits, then write
  /// ``root``.
  package func finish(_ contents: IndexRoot.Contents) {
    precondition(gaps.isEmpty, "internal error: pages of an index were never written")
    if hasWritten { root.revision += 1 }
    hasWritten = false
    root.contents = contents
  }
}

extension IndexPages {
  /// Sums all pages, unless they were already summed. Other pages are then rejected.
  ///
  /// - Returns: The problem, or `nil` if the pages match the root.
  package func prove() throws(StoreError) -> StoreError? {
    guard proved == nil else { return nil }
    return try sumPages(openingEach: false)
  }

  /// Sums and opens all pages of an index.
  ///
  /// - Returns: The problem, or `nil` if the pages match the root.
  package static func problem(
    of root: IndexRoot, _ database: StoreDatabase, _ keys: RowKeys
  ) throws(StoreError) -> StoreError? {
    try IndexPages(root, database, keys, .inMemory(limit: 0)).sumPages(openingEach: true)
  }

  private func sumPages(openingEach: Bool) throws(StoreError) -> StoreError? {
    let count = Int(root.pageCount)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: openingEach ? pageSize : 0, alignment: 16)
    defer { memory.deallocate() }
    var sum = SetHash()
    var marks: [Int64] = []
    // The count hasn't been verified yet.
    marks.reserveCapacity(min(count, 1 << 16))
    do throws(Failure) {
      for page in 0..<count {
        if openingEach { try readRow(page, into: memory) }
        let element: SetElement? = try row(page) { revision, sealed throws(Failure) in
          do throws(SealingError) {
            return try keys.active.set.element(
              of: keys.binding.indexElement(place(page, revision: revision), sealed: sealed))
          } catch {
            throw .store(StoreError(error))
          }
        }
        guard let element else { throw .damaged(IndexRoot.damaged("page \(page) is missing")) }
        marks.append(element.mark)
        do throws(SealingError) { try keys.summer.add(element, to: &sum) } catch { throw .store(StoreError(error)) }
      }
    } catch {
      switch error {
      case .damaged(let error): return error
      case .store(let error): throw error
      case .overLimit: preconditionFailure("internal error: reading pages takes no memory")
      }
    }
    guard sum == root.sum else { return IndexRoot.damaged("its pages are not those that were written last") }
    proved = marks
    return nil
  }
}
