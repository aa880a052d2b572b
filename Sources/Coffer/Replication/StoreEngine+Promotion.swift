internal import CofferRecords
internal import CofferSealing

/// A store that became the one that is written; see `promote`.
public struct Promotion: Sendable, Hashable {
  /// The anchor of the state before: the new branch departs from it, and `tail(since:skippingDamage:)` of the old file
  /// takes it.
  public let base: String
  /// The new pin, which every earlier file of the store is refused with.
  public let pin: String
  /// The anchor of the promoted state.
  public let anchor: String
  /// The comparison of the state before with the anchor that was given; nil without one.
  public let check: AnchorCheck?
  /// Number of documents, all of them verified.
  public let documents: Int
}

extension StoreEngine {
  func promote(
    _ depth: VerifyDepth, anchor line: String?, _ options: AnchorOptions, progress: ProgressHandler?
  ) throws(StoreError) -> Promotion {
    guard !isReadOnly else { throw .notWritable(path, isChosen: self.options.isReadOnly) }
    try connections.requireNoRead("promote")
    // In the rollback journal an idle process holds no lock.
    guard connections.writeAheadLock?.isOpenElsewhere != true else {
      throw StoreError(
        .locked, "\(path): another process has the store open",
        hint: "stop every writer and every replication of this file, and promote it then")
    }
    let verified = try reading { transaction throws(StoreError) in
      try transaction.requireNoRekey()
      return try transaction.anchor()
    }
    let verdict = try verify(depth, anchor: line, options, progress: progress)
    if let error = verdict.error { throw error }
    try writing { transaction throws(StoreError) in
      // A commit since would not be verified, and shows that a writer is at work.
      guard try transaction.anchor().line == verified.line else {
        throw StoreError(
          .locked, "\(path): another process wrote to the store while it was verified",
          hint: "stop every writer and every replication of this file, and promote it again")
      }
      try transaction.requireNoRekey()
      try transaction.beginNextPhase()
    }
    do throws(StoreError) {
      try emptyLog(after: "the store was promoted", waiting: {})
    } catch {
      // No key has changed: the old pages in the log show nothing that the new ones do not.
      guard error.code == .locked else { throw error }
    }
    // In WAL mode the emptied log was noted in a commit after that of the promotion.
    let anchor = try reading { transaction throws(StoreError) in try transaction.anchor() }
    let pin = StorePin(session.header).line
    log.info("promoted the store to phase \(session.header.phase)")
    return Promotion(
      base: verified.line, pin: pin, anchor: anchor.line, check: verdict.anchor, documents: verdict.documents)
  }
}

extension StoreTransaction {
  fileprivate func requireNoRekey() throws(StoreError) {
    guard state.target == 0 else {
      throw StoreError(
        .rekeyUnfinished, "the store has an unfinished rekey, whose end changes the pin",
        hint: "finish it with \(.resumeRekey), then promote the store")
    }
  }

  /// Seals the same keyring under the same root key in its next phase, and commits (FORMAT, "Phases").
  fileprivate func beginNextPhase() throws(StoreError) {
    let proved = try proveHeader()
    try commitNextPhase(proved.keys, proved.slots, keyring: proved.keys.keyring)
  }
}
