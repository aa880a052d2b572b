public import FoundationEssentials

// Async forms of long calls: the same names and parameters, run on a separate thread, so that waiting for a lock, for
// scrypt or for the disk blocks no other task. A cancelled task gets `CancellationError` once the work has ended, which
// it does at its next row, batch or wait for a lock; a work that was done by then returns its result. Each form says
// what a cancelled one leaves.

extension DocumentStore {
  /// `open` for async code.
  ///
  /// Cancelled, it may have created the store, or emptied it as asked. A derivation of scrypt runs to its end.
  public static func open(
    at url: URL, key: StoreKey, creatingIfMissing: Bool = false, startingAfresh: Bool = false,
    options: OpenOptions = OpenOptions()
  ) async throws -> DocumentStore {
    try await offCooperativePool {
      try open(
        at: url, key: key, creatingIfMissing: creatingIfMissing, startingAfresh: startingAfresh, options: options)
    }
  }

  /// `create` for async code. Cancelled, it has created the whole store or nothing.
  public static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions = CreateOptions(), options: OpenOptions = OpenOptions()
  ) async throws -> DocumentStore {
    try await offCooperativePool { try create(at: url, keys: keys, creation: creation, options: options) }
  }

  /// `close` for async code: returns when no text can be given out any more and the keys are wiped. Goes on to its end
  /// if the task is cancelled.
  public func close() async throws {
    try await Task.detached { try await offCooperativePool { try self.close() } }.value
  }

  /// `unlock` for async code. Cancelled, it may have unlocked the store.
  public func unlock(with key: StoreKey, expectingPin pin: String? = nil) async throws {
    try await offCooperativePool { try self.unlock(with: key, expectingPin: pin) }
  }

  /// `verify` for async code. Cancelled, it has changed nothing.
  public func verify(
    _ depth: VerifyDepth = .full, anchor line: String? = nil, anchorOptions: AnchorOptions = [],
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> Verdict {
    try await offCooperativePool {
      try self.verify(depth, anchor: line, anchorOptions: anchorOptions, progress: progress)
    }
  }

  // MARK: Indexes

  /// `index` for async code. Cancelled, all of these indexes are declared and built, or none.
  public func index(
    _ collection: DocumentCollection, _ indexes: DocumentIndex...,
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws {
    try await index(collection, indexes, progress: progress)
  }

  /// `index` for async code, with the indexes in an array. Cancelled, all of them are declared and built, or none.
  public func index(
    _ collection: DocumentCollection, _ indexes: [DocumentIndex],
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws {
    try await offCooperativePool { try self.index(collection, indexes, progress: progress) }
  }

  /// `updateIndexes` for async code. Cancelled, the indexes are as before, or up to date.
  @discardableResult
  public func updateIndexes(progress: (@Sendable (WorkProgress) throws -> Void)? = nil) async throws -> Bool {
    try await offCooperativePool { try self.updateIndexes(progress: progress) }
  }

  /// `checkIndexes` for async code. Cancelled, it has changed nothing.
  public func checkIndexes(
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> [IndexProblem] {
    try await offCooperativePool { try self.checkIndexes(progress: progress) }
  }

  // MARK: Copies

  /// `backup` of the store at `url`, for async code. Cancelled, it leaves nothing, or the whole copy if that had its
  /// name already.
  public static func backup(
    at url: URL, to target: URL, replacing isReplacing: Bool = false, allowingDamage allowsDamage: Bool = false,
    wait: Duration? = .seconds(10), progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws {
    try await offCooperativePool {
      try backup(
        at: url, to: target, replacing: isReplacing, allowingDamage: allowsDamage, wait: wait, progress: progress)
    }
  }

  /// `backup` of this store, for async code; cancelled, it leaves nothing, or the whole copy.
  public func backup(
    to target: URL, replacing isReplacing: Bool = false, allowingDamage allowsDamage: Bool = false,
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws {
    try await offCooperativePool {
      try self.backup(to: target, replacing: isReplacing, allowingDamage: allowsDamage, progress: progress)
    }
  }

  /// `restore` for async code. Cancelled, the store is the old one or the restored one, whole in either case.
  public static func restore(
    at url: URL, from source: URL, replacing isReplacing: Bool = false, wait: Duration? = .seconds(10),
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws {
    try await offCooperativePool {
      try restore(at: url, from: source, replacing: isReplacing, wait: wait, progress: progress)
    }
  }

  /// `compact` of the store at `url`, for async code. Cancelled, the store is unchanged, or compacted.
  @discardableResult
  public static func compact(at url: URL, wait: Duration? = .seconds(10)) async throws -> CompactReport {
    try await offCooperativePool { try compact(at: url, wait: wait) }
  }

  /// `compact` of this store, for async code. Cancelled, the store is unchanged, or compacted.
  @discardableResult
  public func compact() async throws -> CompactReport {
    try await offCooperativePool { try self.compact() }
  }

  /// `salvage` for async code. Cancelled, it leaves nothing at `new`, or the whole new store.
  public static func salvage(
    at url: URL, key: StoreKey, to new: URL, keys: [NewKey], options: OpenOptions = OpenOptions(),
    creation change: (@Sendable (inout CreateOptions) throws -> Void)? = nil,
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> SalvageReport {
    try await offCooperativePool {
      try salvage(at: url, key: key, to: new, keys: keys, options: options, creation: change, progress: progress)
    }
  }

  /// `export` for async code. Cancelled, it leaves nothing at `url`, or the whole store.
  @discardableResult
  public func export(
    _ selection: ExportSelection = .everything, to url: URL, keys: [NewKey], options: ExportOptions = ExportOptions(),
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> ExportReport {
    try await offCooperativePool {
      try self.export(selection, to: url, keys: keys, options: options, progress: progress)
    }
  }
}

// MARK: - Bulk work, each call one write transaction

extension DocumentStore {
  /// Inserts the documents of a source in one write transaction; see
  /// ``StoreWriter/insert(contentsOf:into:options:)-(DraftSource,_,_)``. Cancelled, it has stored nothing.
  @discardableResult
  public func insert(
    contentsOf source: sending some DraftSource, into collection: DocumentCollection?,
    options: sending BulkOptions = BulkOptions()
  ) async throws -> BulkReport {
    try await writing(Handed { try $0.insert(contentsOf: source, into: collection, options: options) })
  }

  /// Inserts documents in one write transaction; see
  /// ``StoreWriter/insert(contentsOf:into:options:)-(Sequence<Document>,_,_)``. Cancelled, it has stored nothing.
  @discardableResult
  public func insert(
    contentsOf documents: sending some Sequence<Document>, into collection: DocumentCollection,
    options: sending BulkOptions = BulkOptions()
  ) async throws -> BulkReport {
    try await writing(Handed { try $0.insert(contentsOf: documents, into: collection, options: options) })
  }

  /// Inserts values in one write transaction; see
  /// ``StoreWriter/insert(contentsOf:into:options:key:title:attributes:)``. Cancelled, it has stored nothing.
  @discardableResult
  public func insert<Value: Encodable & Sendable>(
    contentsOf values: sending some Sequence<Value>, into collection: DocumentCollection,
    options: sending BulkOptions = BulkOptions(),
    key: @escaping @Sendable (Value) throws -> ExternalKey? = { _ in nil },
    title: @escaping @Sendable (Value) throws -> String? = { _ in nil },
    attributes: @escaping @Sendable (Value) throws -> Attributes = { _ in Attributes() }
  ) async throws -> BulkReport {
    try await writing(
      Handed {
        try $0.insert(
          contentsOf: values, into: collection, options: options, key: key, title: title, attributes: attributes)
      })
  }

  /// Makes a collection match items in one write transaction; see
  /// ``StoreWriter/synchronize(_:with:options:)-(_,Sequence<SyncItem>,_)``. Cancelled, it has stored nothing.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with items: sending some Sequence<SyncItem>,
    options: sending SyncOptions = SyncOptions()
  ) async throws -> SyncReport {
    try await writing(Handed { try $0.synchronize(collection, with: items, options: options) })
  }

  /// Makes a collection match a source in one write transaction; see
  /// ``StoreWriter/synchronize(_:with:options:)-(_,DraftSource,_)``. Cancelled, it has stored nothing.
  @discardableResult
  public func synchronize(
    _ collection: DocumentCollection, with source: sending some DraftSource,
    options: sending SyncOptions = SyncOptions()
  ) async throws -> SyncReport {
    try await writing(Handed { try $0.synchronize(collection, with: source, options: options) })
  }

  private func writing<Report: Sendable>(_ work: Handed<Report>) async throws -> Report {
    try await write { try work.run(&$0) }
  }
}

/// Work on its way to the one thread that does it.
private struct Handed<Report>: @unchecked Sendable {
  // The caller sent all that it uses, and can't use that any more.
  let run: (inout StoreWriter) throws -> Report

  init(_ run: @escaping (inout StoreWriter) throws -> Report) {
    self.run = run
  }
}
