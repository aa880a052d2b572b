internal import CofferRecords

extension DocumentStore {
  /// Looks at everything: whether the rows are the set that was written, and whether each document opens.
  ///
  /// The quick part is one read transaction; documents are then opened in short ones, so that writers go on. Damage is
  /// in the verdict, not thrown.
  ///
  /// - Parameter progress: called after each batch; throwing from it ends the work.
  /// - Throws: `keyChanged`, `locked`, `cancelled` and what `progress` throws as `cancelled`.
  public func verify(
    _ depth: VerifyDepth = .full, anchor line: String? = nil, progress: ((WorkProgress) throws -> Void)? = nil
  ) throws(StoreError) -> Verdict {
    try engine.verify(depth, anchor: line, progress: progress)
  }

  /// The line to keep outside: against it, a whole older file put in this one's place is seen.
  ///
  /// Keep the latest, at each close. FORMAT, "Key files, pin, anchor".
  public func anchor() throws(StoreError) -> String {
    try engine.reading { transaction throws(StoreError) in
      try transaction.keys.session.anchor(of: transaction.state)
    }
  }

  /// Compares the store with an anchor line.
  ///
  /// - Parameter exact: a newer store is refused too.
  /// - Throws: `anchorMismatch` for another store, or another history of the same generation; `rolledBack` for an older
  ///   store; `invalidArgument` for a line that is no anchor.
  public func checkAnchor(_ line: String, exact: Bool = false) throws(StoreError) -> AnchorCheck {
    let anchor = try Anchor(line)
    return try engine.reading { transaction throws(StoreError) in
      try anchor.compare(with: transaction.state, of: transaction.keys.session, exact: exact)
    }
  }
}
