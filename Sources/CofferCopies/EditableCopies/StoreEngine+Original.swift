package import CofferEngine
internal import CofferRecords

// Comparing an editable copy with its original.

extension StoreEngine {
  /// Compares the original with the state that this copy was made from, then replaces or merges the copy if `choice`
  /// requires it.
  package func follow(
    _ original: StoreEngine, onNewer choice: NewerOriginal, allowingRekey: Bool, _ progress: ProgressHandler?
  ) throws -> OriginalCheck {
    let origin = try reading { transaction throws(StoreError) in transaction.state.origin }
    return try original.read { source in
      let isNewer = try original.compare(with: origin, in: source, allowingRekey: allowingRekey, path: path)
      guard isNewer else { return .unchanged }
      switch choice {
      case .keep: return .newer
      case .replace:
        try replaceEverything(from: source, progress)
        try original.connections.original?.requireUnchanged()
        return .replaced
      case .merge(let policy):
        var merging = MergeOptions()
        merging.allowsRekey = allowingRekey
        let report = try merge(original, from: source, policy, merging, progress)
        return report.isMerged ? .merged(report) : .conflicts(report)
      }
    }
  }

  /// Returns whether this original is newer than a copy's `origin`.
  func compare(
    with origin: StoreOrigin, in transaction: StoreTransaction, allowingRekey: Bool, path copy: String
  ) throws(StoreError) -> Bool {
    guard origin.kind == .editableCopy else {
      throw StoreError(
        .misuse, "\(copy) is no editable copy", hint: "open it by itself, or name another file for the copy")
    }
    let anchor = StoreAnchor(origin)
    switch try compared(anchor, with: transaction, allowingRekey: allowingRekey) {
    case .success(let relation): return relation != .same
    case .failure(let fault):
      throw error(fault, anchor, found: transaction.state, copy, allowsRekey: allowingRekey)
    }
  }

  private func error(
    _ fault: StoreAnchor.Fault, _ anchor: StoreAnchor, found state: StoreState, _ copy: String,
    allowsRekey: Bool
  ) -> StoreError {
    switch fault {
    case .otherStore:
      StoreError(.anchorMismatch, "\(path) is not the store that \(copy) was made from")
    case .older:
      StoreError(
        .rolledBack,
        "\(path) is older than the state that \(copy) was made from: generation \(state.generation), and that was "
          + "\(anchor.generation)")
    case .newerRootKey:
      StoreError(
        .anchorMismatch, "\(path) has a newer root key than when \(copy) was made from it",
        hint: allowsRekey
          ? "open it with a passphrase or key file: an identity doesn't prove who changed the key"
          : "accept it with \(.acceptRekey), if you know of the rekey")
    case .otherRootKey:
      StoreError(.anchorMismatch, "\(path) has another root key than the store that \(copy) was made from")
    case .forked, .newer, .unproved:
      StoreError(
        .anchorMismatch,
        "\(path) does not descend from the state that \(copy) was made from: its generation \(anchor.generation) was "
          + "another",
        hint: "it is another copy of the original, which took other writes")
    }
  }

  /// Replaces this copy's contents with its original in one transaction.
  private func replaceEverything(from source: StoreTransaction, _ progress: ProgressHandler?) throws {
    try write { transaction in
      let walk = try CopyWalk(source, .everything, keepingParents: true)
      let next = transaction.state.nextID
      try transaction.writer.deleteEverything()
      _ = try walk.write(into: transaction, from: source, as: .editableCopy, progress)
      // Reserve the IDs of the user's documents, so they're never reused.
      try transaction.writer.reserveIDs(through: next - 1)
    }
  }
}
