public import Coffer
public import CofferEngine
public import CofferRecords

// MARK: - Confirmed commits

extension DocumentStore {
  /// Returns the current state's anchor after a replication program has confirmed that its replica contains this state.
  ///
  /// ```swift
  /// let anchor = try store.confirm(by: .litestream(socket: socket))
  /// ```
  ///
  /// The anchor is read before calling the program, so the replica contains all commits up to the anchor and possibly
  /// later commits. A false confirmation is only detected when the replica is restored and compared with the anchor
  /// (`DocumentStore.verify(_:against:requiring:allowingRekey:progress:)`).
  ///
  /// - Parameters:
  ///   - service: The replication program.
  ///   - timeout: The maximum time for the program.
  /// - Returns: The anchor. Keep it on another machine, and use it when restoring the replica.
  /// - Throws: `notConfirmed` if the program doesn't respond, refuses, or its replica is incomplete. `noSuchFile` if
  ///   the store's file was replaced. `misuse` inside `write`. Errors of reading the state. After an error, the state
  ///   isn't confirmed. The commits are never affected.
  public func confirm(by service: ReplicationService, timeout: Duration = .seconds(30)) throws(StoreError)
    -> StoreAnchor
  {
    try engine.confirm(by: service, timeout: timeout)
  }
}

// MARK: - Read replicas

extension DocumentStore {
  /// A Boolean value that indicates whether a different file is now at the path used to open the store. This happens if
  /// a link such as `ReplicaFolder.current` points to a newer copy, or if the file was replaced.
  ///
  /// The store continues to read its original file. Reopen the path to read the new file. The value is `false` if the
  /// path doesn't exist. Costs one `stat` call.
  public var isSuperseded: Bool { engine.isSuperseded }

  /// Waits until ``isSuperseded`` is true, by checking it four times a second.
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
  /// - Throws: `closed` if the store is closed during the wait, or `CancellationError`.
  public func superseded() async throws {
    while !isSuperseded {
      guard !engine.session.isClosing else { throw StoreError.storeClosed }
      try await Task.sleep(for: .milliseconds(250))
    }
  }
}

// MARK: - Failover

extension DocumentStore {
  /// Promotes a restored copy for writing. Verifies the copy and then changes its pin in one commit.
  ///
  /// Documents aren't re-encrypted and keys don't change. Instead, the keyring is sealed in the next phase under the
  /// same root key (FORMAT, "Phases"). The new pin rejects all earlier files of the store, including the file on the
  /// replaced machine (``OpenOptions/pin``). Slots and secrets are unchanged. The copy becomes its own replica, so
  /// `merge` can add the earlier file's later changes. Promote only one copy. Otherwise, copies promoted from the same
  /// phase have the same pin, and can only be distinguished by anchors.
  ///
  /// - Parameters:
  ///   - anchor: The last confirmed anchor from `confirm(by:timeout:)`, which the copy must not predate, or `nil` to
  ///     accept any copy.
  ///   - requirement: The relation to the anchor that the copy must have.
  ///   - allowsRekey: Whether a newer root key is accepted because you expect a rekey, as for `verify`.
  ///   - depth: The verification depth. `full` opens every document first. The indexes aren't compared with them.
  ///   - progress: Called after each batch of the verification. Throwing from it leaves the store unchanged.
  /// - Returns: The new pin and anchor, and the anchor of the previous state.
  /// - Throws: `rolledBack` if the copy is older than the anchor. `anchorMismatch`, `damaged` or `setMismatch`.
  ///   `rekeyUnfinished`, because finishing a rekey also changes the pin. `locked` if another process has the copy
  ///   open, but in rollback journal mode an idle process isn't detected. `readOnly`, `noNumberLeft` or `cancelled`.
  ///   After an error, the store is unchanged.
  @discardableResult
  public func promote(
    anchor: StoreAnchor?, requiring requirement: StoreAnchor.Requirement = .sameOrNewer,
    allowingRekey allowsRekey: Bool = false, verifying depth: VerifyDepth = .full, progress: ProgressHandler? = nil
  ) throws(StoreError) -> Promotion {
    try engine.promote(
      depth, anchor: anchor, requiring: requirement, allowingRekey: allowsRekey, progress: progress)
  }
}

extension StoreReading where Self: ~Copyable {
  /// Returns the documents that changed since an anchor's state. After a failover, pass `Promotion.base` to find the
  /// changes in the old file that the new branch lacks.
  ///
  /// Reads all rows once, authenticates them with the set hash and count, and opens the heads of changed documents but
  /// not their texts. Deletions are listed if the state's ring is long enough, about 180 commits
  /// (`StoreTail.namesDeletions`). Read the documents in the same scope.
  ///
  /// - Parameters:
  ///   - anchor: The earlier state's anchor.
  ///   - skipsDamage: Whether to list rows that can't be opened and continue.
  /// - Returns: The changes, sorted by ID.
  /// - Throws: `rolledBack` if the store is older than the anchor. `anchorMismatch` if it doesn't descend from the
  ///   anchor's state. `damaged` and `setMismatch` unless `skipsDamage` is set.
  public func tail(since anchor: StoreAnchor, skippingDamage skipsDamage: Bool = false) throws(StoreError) -> StoreTail
  {
    transaction.notes?.noteEverything()
    return try TailReader(transaction).tail(since: anchor, skippingDamaged: skipsDamage)
  }

  /// Returns the documents that changed since a generation, like `tail(since:skippingDamage:)`. If possible, use an
  /// anchor instead, because a generation doesn't prove that the store had the intended state.
  ///
  /// - Returns: The changes, sorted by ID. `StoreTail.relation` is `nil`.
  /// - Throws: `rolledBack` if the store has an earlier generation. `damaged` and `setMismatch` unless `skipsDamage` is
  ///   set.
  public func tail(sinceGeneration generation: UInt64, skippingDamage skipsDamage: Bool = false) throws(StoreError)
    -> StoreTail
  {
    transaction.notes?.noteEverything()
    return try TailReader(transaction).tail(since: generation, skippingDamaged: skipsDamage)
  }
}
