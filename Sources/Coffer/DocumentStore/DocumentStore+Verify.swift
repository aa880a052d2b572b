internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

extension DocumentStore {
  /// The depth of a verification.
  public typealias VerifyDepth = Verdict.Depth

  /// Verifies that the store contains exactly the written documents, and compares it with an anchor if you specify one.
  ///
  /// `quick` reads every row and index page in one read transaction, without decrypting documents. `full` also decrypts
  /// every document in it. If all documents are intact, it finally compares the indexes with the documents in another
  /// read transaction, which decrypts the documents of indexed collections again and uses two numbers of memory for
  /// each. An index that lacks more documents than ``OpenOptions/indexMemoryBytes`` allows isn't compared. With a
  /// rollback journal, writers wait until a transaction ends. In a store with 10,000 documents or more, a second reader
  /// concurrently checks SQLite's pages if one of ``OpenOptions/maximumReaders`` is free.
  ///
  /// Damage is reported in the verdict instead of being thrown, and so is an anchor that doesn't match
  /// (``Verdict/anchorError``). The file is unchanged.
  ///
  /// - Parameters:
  ///   - depth: The depth of the verification.
  ///   - anchor: An earlier result of ``anchor()`` to compare the store with, or `nil` to skip the comparison.
  ///   - requirement: The relation to the anchor that the store must have.
  ///   - allowsRekey: Whether to accept a newer root key because you expect a rekey. Only a passphrase or key file can
  ///     then prove that an owner of the secret made the new root key. For other keys, open the store with its new pin.
  ///     A store with a newer root key never meets the requirements `descendant` and `same`.
  ///   - progress: Called after each batch. Throwing from it ends the verification.
  /// - Returns: The findings. ``Verdict/error`` is the error to report.
  /// - Throws: `keyChanged`, `locked` or `closed`. `cancelled` if `progress` throws another error.
  public func verify(
    _ depth: VerifyDepth = .full, against anchor: StoreAnchor? = nil,
    requiring requirement: StoreAnchor.Requirement = .sameOrNewer, allowingRekey allowsRekey: Bool = false,
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Verdict {
    try engine.verify(
      depth, against: anchor, requiring: requirement, allowingRekey: allowsRekey, progress: progress)
  }

  /// Rewrites the header and slots, as verified by this session, if they were damaged while the store was open.
  ///
  /// - Throws: `rolledBack` if the state is older than a state that the session has seen, or doesn't match the header.
  ///   `damaged` if the state itself is damaged. The file is unchanged then.
  public func repairHeader() throws(StoreError) {
    try engine.repairHeader()
  }

  /// Returns the current state's anchor. If you keep it outside the store, it reveals when an older file replaces the
  /// store.
  ///
  /// Keep the latest anchor, for example whenever you close the store (FORMAT, "Key files, pin, anchor"). Reads the
  /// state and counts the rows without decrypting documents.
  ///
  /// - Throws: `setMismatch` if rows are missing. `locked`, `keyChanged`, `rolledBack`, `damaged` or `closed`, like the
  ///   start of a read transaction.
  public func anchor() throws(StoreError) -> StoreAnchor {
    try engine.reading { transaction throws(StoreError) in
      try transaction.requireCount()
      return try transaction.anchor()
    }
  }

  /// Returns the store's relation to an anchor. Reads the state without decrypting documents.
  ///
  /// - Throws: `anchorMismatch` for another store, another history, or a newer root key that isn't allowed or proved.
  ///   `rolledBack` for an older store.
  package func relation(
    to anchor: StoreAnchor, requiring requirement: StoreAnchor.Requirement = .sameOrNewer,
    allowingRekey allowsRekey: Bool = false
  ) throws(StoreError) -> StoreAnchor.Relation {
    try engine.reading { transaction throws(StoreError) in
      try engine.relation(of: transaction, to: anchor, requiring: requirement, allowingRekey: allowsRekey)
    }
  }
}
