internal import CofferRecords

// MARK: - Confirmed commits

extension DocumentStore {
  /// The anchor of the present state, once a replication program has confirmed that its replica holds it.
  ///
  /// ```swift
  /// let anchor = try await store.confirm(by: .litestream(socket: socket))
  /// ```
  ///
  /// The anchor is read first, then the program is asked: the replica has every commit up to the anchor, and perhaps later
  /// ones. A program that confirms what it has not done is found when the replica is restored and compared with the
  /// anchor (``checkAnchor(_:options:)``), not before.
  ///
  /// - Parameters:
  ///   - service: the program.
  ///   - timeout: the longest time that the program may take.
  /// - Returns: the anchor line; keep it outside of the machine, and give it to those who restore.
  /// - Throws: `notConfirmed` if the program does not answer, refuses, or its replica has less; `noSuchFile` if the store's
  ///   file was replaced; `misuse` inside `write`; errors of reading the state. Nothing was confirmed then. Commits stay as
  ///   they are in every case.
  public func confirm(by service: ReplicationService, timeout: Duration = .seconds(30)) throws(StoreError) -> String {
    try engine.confirm(by: service, timeout: timeout).line
  }

  /// `confirm` for async code. Cancelled, it has confirmed nothing.
  public func confirm(by service: ReplicationService, timeout: Duration = .seconds(30)) async throws -> String {
    try await offCooperativePool { try self.confirm(by: service, timeout: timeout) }
  }
}

// MARK: - Read replicas

extension DocumentStore {
  /// Whether another file is now at the path by which this store was opened: a link such as ``ReplicaFolder/current`` names
  /// a newer copy, or the file was replaced.
  ///
  /// This store then goes on reading its own file; open the path again to read the new one. False also if the path names
  /// nothing. Costs one call of `stat`.
  public var isSuperseded: Bool { engine.isSuperseded }

  /// Returns when ``isSuperseded`` is true, which is looked at four times a second.
  ///
  /// ```swift
  /// var store = try await DocumentStore.open(at: folder.current, key: key, options: options)
  /// while true {
  ///   show(store)
  ///   try await store.superseded()
  ///   let newer = try await DocumentStore.open(at: folder.current, key: key, options: options)
  ///   try await store.close()
  ///   store = newer
  /// }
  /// ```
  ///
  /// - Throws: `closed` if the store is closed meanwhile; `CancellationError`.
  public func superseded() async throws {
    while !isSuperseded {
      guard !engine.session.isClosing else { throw StoreError.storeClosed }
      try await Task.sleep(for: .milliseconds(250))
    }
  }
}

// MARK: - Failover

extension DocumentStore {
  /// Makes a restored copy the one that is written: verifies it, then changes its pin in one commit.
  ///
  /// No document is encrypted again and no key changes: the keyring is sealed in the next phase under the same root key
  /// (FORMAT, "Phases"). The new pin refuses every earlier file of the store, the one on the replaced machine too
  /// (``OpenOptions/expectedPin``); slots and secrets stay. Promote one copy only: two copies that are promoted from the
  /// same phase have one pin, and only anchors tell them apart.
  ///
  /// - Parameters:
  ///   - line: the last confirmed anchor, from `confirm(by:timeout:)`: the copy must not be older. nil accepts
  ///     the copy as it is.
  ///   - anchorOptions: demands of that comparison.
  ///   - depth: `full` opens every document first.
  ///   - progress: called after each batch of the verification; if it throws, nothing is changed.
  /// - Returns: the new pin and anchor, and the anchor of the state before.
  /// - Throws: `rolledBack` for a copy that is older than the anchor; `anchorMismatch`; `damaged` or `setMismatch`;
  ///   `rekeyUnfinished`, since the end of a rekey changes the pin too; `locked` if another process has the copy open, which an
  ///   idle one is not seen to do in the rollback journal;
  ///   `readOnly`, `noNumberLeft`, `cancelled`. Nothing is changed then.
  @discardableResult
  public func promote(
    anchor line: String?, anchorOptions: AnchorOptions = [], verifying depth: VerifyDepth = .full,
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Promotion {
    try engine.promote(depth, anchor: line, anchorOptions, progress: progress)
  }

  /// `promote` for async code. Cancelled, the store is promoted or as before.
  @discardableResult
  public func promote(
    anchor line: String?, anchorOptions: AnchorOptions = [], verifying depth: VerifyDepth = .full,
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> Promotion {
    try await offCooperativePool {
      try self.promote(anchor: line, anchorOptions: anchorOptions, verifying: depth, progress: progress)
    }
  }
}

extension ReadScope where Self: ~Copyable {
  /// The documents that changed since the state of an anchor: after a failover, those that the old file has and the new
  /// branch lacks, when it is given ``Promotion/base``.
  ///
  /// Walks over all rows once, proves them by set hash and count, and opens the heads of those that changed; no text.
  /// Deletions are named while the state's ring reaches back, some fifty commits
  /// (``StoreTail/namesDeletions``). Read the documents in the same scope.
  ///
  /// - Parameters:
  ///   - anchor: the anchor line of the earlier state.
  ///   - skipsDamage: lists rows that do not open, and goes on.
  /// - Returns: the changes, sorted by id.
  /// - Throws: `rolledBack` for a store that is older than the anchor; `anchorMismatch` if it does not descend from
  ///   the anchor's state; `invalidArgument` for a line that is no anchor; `damaged` and `setMismatch` unless `skipsDamage`.
  public func tail(since anchor: String, skippingDamage skipsDamage: Bool = false) throws(StoreError) -> StoreTail {
    try transaction.tail(since: Anchor(anchor), skippingDamaged: skipsDamage)
  }

  /// The documents that changed since a generation, as `tail(since:skippingDamage:)` gives them. Nothing proves that this
  /// store had the state that you mean: give an anchor if you have one.
  ///
  /// - Returns: the changes, sorted by id; ``StoreTail/check`` is nil.
  /// - Throws: `rolledBack` for a store of an earlier generation; `damaged` and `setMismatch` unless `skipsDamage`.
  public func tail(sinceGeneration generation: UInt64, skippingDamage skipsDamage: Bool = false) throws(StoreError)
    -> StoreTail
  {
    try transaction.tail(since: generation, skippingDamaged: skipsDamage)
  }
}
