internal import CofferRecords

// An editable copy and its original.

extension StoreEngine {
  /// Compares the original with the state that this copy was made from, and replaces or merges the copy where that is
  /// asked for.
  func follow(
    _ original: StoreEngine, _ options: OriginalOptions, _ progress: ProgressHandler?
  ) throws -> OriginalCheck {
    let origin = try reading { transaction throws(StoreError) in transaction.state.origin }
    return try original.read { source in
      guard try original.compare(with: origin, in: source, options, path: path) else { return .unchanged }
      switch options.onNewer {
      case .keep: return .newer
      case .replace:
        try replaceEverything(from: source, progress)
        try original.connections.original?.requireUnchanged()
        return .replaced
      case .merge(let policy):
        var merging = MergeOptions()
        merging.rekeyKnown = options.rekeyKnown
        let report = try merge(original, from: source, policy, merging, progress)
        return report.isMerged ? .merged(report) : .conflicts(report)
      }
    }
  }

  /// - Returns: whether this original is newer than `origin`, a copy's.
  func compare(
    with origin: StoreOrigin, in transaction: StoreTransaction, _ options: OriginalOptions, path copy: String
  ) throws(StoreError) -> Bool {
    guard origin.kind == .editableCopy else {
      throw StoreError(
        .misuse, "\(copy) is no editable copy", hint: "open it by itself, or name another file for the copy")
    }
    let anchor = Anchor(origin)
    switch try compared(anchor, with: transaction, options.rekeyKnown ? .rekeyKnown : []) {
    case .success(let check): return check != .same
    case .failure(let fault): throw error(fault, anchor, found: transaction.state, copy)
    }
  }

  private func error(_ fault: Anchor.Fault, _ anchor: Anchor, found state: StoreState, _ copy: String) -> StoreError {
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
        hint: "if you know of the rekey, give the original's new pin, or \(.acceptRekey)")
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

  /// Makes this copy as its original is, in one transaction.
  private func replaceEverything(from source: StoreTransaction, _ progress: ProgressHandler?) throws {
    try write { transaction in
      let walk = try ExportWalk(source, .everything, keepingParents: true)
      var report = ExportReport()
      let next = transaction.state.nextID
      try transaction.writer.deleteEverything()
      try walk.write(into: transaction, from: source, as: .editableCopy, &report, progress)
      // Ids that the user's documents had are not given out again.
      try transaction.writer.reserveIDs(through: next - 1)
    }
  }
}
