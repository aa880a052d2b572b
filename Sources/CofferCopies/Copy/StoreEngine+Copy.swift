package import CofferEngine
internal import CofferRecords
internal import CofferSealing

extension StoreEngine {
  /// Copies documents to a new store at `target` with different keys.
  package func copy(
    _ selection: Selection, to target: String, slots: [NewSlot], creation: CreateOptions, replacing: Bool,
    progress: ProgressHandler?
  ) throws -> CopyReport {
    let maker = StoreMaker(
      path: target, creation: creation, wait: options.wait, replacesExisting: replacing, source: path)
    return try read { source in
      try copy(selection, of: source, with: maker, slots: slots, as: .export, progress: progress)
    }
  }

  /// Creates an editable copy with its own identity and keys. Documents keep their change generations (FORMAT,
  /// "Origin").
  ///
  /// - Throws: `noNumberLeft` if too few IDs or generations remain for the copy.
  package func fork(
    to target: String, slots: [NewSlot], creation: CreateOptions, progress: ProgressHandler?
  ) throws -> CopyReport {
    try read { source in
      let state = source.state
      guard state.nextID <= UInt64(Int64.max) - StoreOrigin.step,
        state.generation <= UInt64(StoreFormat.maximumCounter) - StoreOrigin.step
      else {
        throw StoreError(
          .noNumberLeft, "the store's ids or generations are too high for an editable copy",
          hint: "export all documents as NDJSON, import them into a new store without their ids, and copy that")
      }
      let maker = StoreMaker(
        path: target, creation: creation, wait: options.wait, source: path,
        firstGeneration: StoreOrigin.firstGeneration(ofCopyAt: state.generation))
      return try copy(.everything, of: source, with: maker, slots: slots, as: .editableCopy, progress: progress)
    }
  }

  private func copy(
    _ selection: Selection, of source: StoreTransaction, with maker: StoreMaker, slots: [NewSlot],
    as kind: StoreOrigin.Kind, progress: ProgressHandler?
  ) throws -> CopyReport {
    // Report missing documents before asking for a key.
    let walk = try CopyWalk(source, selection, keepingParents: kind == .editableCopy)
    let report = try maker.make(
      slots, allowsTestKeys: options.allowsTestKeys,
      begin: { try progress?(WorkProgress(done: 0, total: walk.expected, phase: .beginning)) },
      fill: {
        let report = try walk.write(into: $0, from: source, as: kind, progress)
        try connections.original?.requireUnchanged()
        return report
      })
    log.info("copied \(report.documents) documents into store \(report.storeID)")
    return report
  }

  /// The options for a new store with this store's titles and padding.
  package var creationOptions: CreateOptions {
    var creation = CreateOptions()
    creation.titles = CreateOptions.Titles(rawValue: session.header.titles)!
    creation.isPadded = session.header.isPadded
    return creation
  }
}
