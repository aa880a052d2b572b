internal import CofferRecords

extension DocumentStore {
  /// Verifies the whole store: whether the rows are the set that was written, and whether each document opens.
  ///
  /// The quick part is one read transaction; documents are then opened in short ones, so that writers can continue.
  /// Damage is in the verdict, not thrown.
  ///
  /// - Parameter progress: called after each batch; if it throws, the work ends.
  /// - Throws: `keyChanged`, `locked`, `cancelled`; errors of `progress` are thrown as `cancelled`.
  public func verify(
    _ depth: VerifyDepth = .full, anchor line: String? = nil, anchorOptions: AnchorOptions = [],
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Verdict {
    try engine.verify(depth, anchor: line, anchorOptions, progress: progress)
  }

  /// Writes header and slots again, as this session verified them, after they were damaged under it.
  ///
  /// - Throws: `rolledBack` if the state is older than one that the session has seen, or names another header; `damaged`
  ///   if the state itself is damaged; nothing is written then.
  public func repairHeader() throws(StoreError) {
    try engine.repairHeader()
  }

  /// The anchor line to keep outside the store: comparing with it reveals an older file in place of the current one.
  ///
  /// Keep the latest, at each close. FORMAT, "Key files, pin, anchor".
  public func anchor() throws(StoreError) -> String {
    try engine.reading { transaction throws(StoreError) in
      try transaction.anchor().line
    }
  }

  /// Compares the store with an anchor line.
  ///
  /// - Throws: `anchorMismatch` for another store, another history, or a newer root key that nothing vouches for;
  ///   `rolledBack` for an older store; `invalidArgument` for a line that is no anchor.
  public func checkAnchor(_ line: String, options: AnchorOptions = []) throws(StoreError) -> AnchorCheck {
    let anchor = try Anchor(line)
    return try engine.reading { transaction throws(StoreError) in
      try engine.compare(anchor, with: transaction, options)
    }
  }
}
