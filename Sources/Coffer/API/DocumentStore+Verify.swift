internal import CofferRecords

extension DocumentStore {
  /// Verifies the whole store: whether the rows are the set that was written, and whether each document opens.
  ///
  /// The quick part is one read transaction; documents are then opened in short ones, so that writers can continue.
  /// Damage is in the verdict, not thrown; so is an anchor that does not fit (``Verdict/anchorError``). Nothing is
  /// changed.
  ///
  /// - Parameters:
  ///   - depth: `quick` reads every row and opens none; `full` opens every head and text, too.
  ///   - line: an anchor that ``anchor()`` returned earlier, to compare the store with; nil compares with none.
  ///   - anchorOptions: demands of that comparison.
  ///   - progress: called after each batch; if it throws, the work ends.
  /// - Returns: the findings; ``Verdict/error`` has the one to report.
  /// - Throws: `keyChanged`, `locked`, `closed`; `invalidArgument` for a line that is no anchor; `cancelled`, also in
  ///   place of an error of `progress`.
  public func verify(
    _ depth: VerifyDepth = .full, anchor line: String? = nil, anchorOptions: AnchorOptions = [],
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Verdict {
    try engine.verify(depth, anchor: line, anchorOptions, progress: progress)
  }

  /// Writes header and slots again, as this session verified them, after they were damaged under it.
  ///
  /// - Throws: `rolledBack` if the state is older than one that the session has seen, or names another header;
  ///   `damaged` if the state itself is damaged; nothing is written then.
  public func repairHeader() throws(StoreError) {
    try engine.repairHeader()
  }

  /// The anchor line to keep outside the store: comparing with it reveals an older file in place of the current one.
  ///
  /// Keep the latest, at each close. FORMAT, "Key files, pin, anchor". The line holds no secret. Reads the state, and
  /// opens no document.
  ///
  /// - Throws: errors of beginning a read transaction: `locked`, `keyChanged`, `rolledBack`, `damaged`, `closed`.
  public func anchor() throws(StoreError) -> String {
    try engine.reading { transaction throws(StoreError) in
      try transaction.anchor().line
    }
  }

  /// Compares the store with an anchor line. Reads the state, and opens no document.
  ///
  /// - Returns: whether the store is in the anchor's state, or newer, and how much of that is proved.
  /// - Throws: `anchorMismatch` for another store, another history, or a newer root key that nothing vouches for;
  ///   `rolledBack` for an older store; `invalidArgument` for a line that is no anchor.
  public func checkAnchor(_ line: String, options: AnchorOptions = []) throws(StoreError) -> AnchorCheck {
    let anchor = try Anchor(line)
    return try engine.reading { transaction throws(StoreError) in
      try engine.compare(anchor, with: transaction, options)
    }
  }
}
