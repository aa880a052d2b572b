internal import Coffer
public import CofferEngine
internal import CofferRecords
internal import CofferSealing
internal import CofferSearch

/// The result of promoting a store. See `promote`.
public struct Promotion: Sendable, Hashable {
  /// The anchor of the previous state, from which the new branch departs. Pass it to `tail(since:skippingDamage:)` of
  /// the old file.
  public let base: StoreAnchor
  /// The new pin, which rejects all earlier files of the store.
  public let pin: StorePin
  /// The promoted state's anchor.
  public let anchor: StoreAnchor
  /// The previous state's relation to the given anchor, or `nil` without an anchor.
  public let relation: StoreAnchor.Relation?
  /// The number of documents, all of which are verified.
  public let documents: Int
}

extension StoreEngine {
  func promote(
    _ depth: Verdict.Depth, anchor: StoreAnchor?, requiring requirement: StoreAnchor.Requirement,
    allowingRekey allowsRekey: Bool, progress: ProgressHandler?
  ) throws(StoreError) -> Promotion {
    guard !isReadOnly else { throw .notWritable(path, isChosen: isReadOnlyByChoice) }
    try connections.requireNoRead("promote")
    // In rollback journal mode, an idle process doesn't hold a lock.
    guard connections.writeAheadLock?.isOpenInAnotherProcess != true else {
      throw StoreError(
        .locked, "\(path): another process has the store open",
        hint: "stop every writer and every replication of this file, and promote it then")
    }
    let verified = try reading { transaction throws(StoreError) in
      try requireNoRekey(transaction)
      return try transaction.anchor()
    }
    let verdict = try verify(
      depth, against: anchor, requiring: requirement, allowingRekey: allowsRekey, progress: progress
    ) { transaction throws(StoreError) in try StoreIndexes(transaction).problems() }
    if let error = verdict.error { throw error }
    var promoted = try writing { transaction throws(StoreError) in
      // A later commit would be unverified, and indicates an active writer.
      guard try transaction.anchor() == verified else {
        throw StoreError(
          .locked, "\(path): another process wrote to the store while it was verified",
          hint: "stop every writer and every replication of this file, and promote it again")
      }
      try requireNoRekey(transaction)
      try beginNextPhase(transaction)
      return try transaction.anchor()
    }
    // Ignore errors, because the store is promoted. The keys are unchanged, so old pages in the log don't reveal
    // additional data.
    try? emptyLog(after: "the store was promoted", waiting: {})
    // Emptying the log adds a commit in WAL mode.
    do throws(StoreError) {
      promoted = try reading { transaction throws(StoreError) in try transaction.anchor() }
    } catch {
      log.debug("the store was promoted, and can't be read: \(error.message)")
    }
    log.info("promoted the store to phase \(session.header.phase)")
    return Promotion(
      base: verified, pin: StorePin(session.header), anchor: promoted, relation: verdict.anchor,
      documents: verdict.documents)
  }

  private func requireNoRekey(_ transaction: StoreTransaction) throws(StoreError) {
    guard transaction.state.target == 0 else {
      throw StoreError(
        .rekeyUnfinished, "the store has an unfinished rekey, whose end changes the pin",
        hint: "finish it with \(.resumeRekey), then promote the store")
    }
  }

  /// Seals the keyring under the same root key in the next phase, and commits (FORMAT, "Phases").
  private func beginNextPhase(_ transaction: StoreTransaction) throws(StoreError) {
    let proved = try transaction.proveHeader()
    // The old branch may continue as the store's former replica.
    let writer = try transaction.writer
    try writer.willWrite()
    try writer.renewReplica()
    try transaction.commitNextPhase(proved.keys, proved.slots, keyring: proved.keys.keyring)
  }
}
