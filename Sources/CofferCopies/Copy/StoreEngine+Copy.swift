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
      try copy(selection, of: source, with: maker, slots: slots, .new, progress: progress)
    }
  }

  /// Creates an editable copy with its own keys, which is a replica of its own (FORMAT, "Replicas").
  ///
  /// - Throws: `noNumberLeft` if the store can't have another replica.
  package func fork(
    to target: String, slots: [NewSlot], creation: CreateOptions, progress: ProgressHandler?
  ) throws -> CopyReport {
    try read { source in
      let maker = StoreMaker(
        path: target, creation: creation, wait: options.wait, source: path,
        heritage: StoreHeritage(
          family: source.keys.session.keyring.family, replicas: try source.replicasOfStart().copied,
          counter: source.start.counter, hasOwnRange: true))
      return try copy(.everything, of: source, with: maker, slots: slots, .kept(nil), progress: progress) {
        try $0.takeReleases(of: source)
      }
    }
  }

  private func copy(
    _ selection: Selection, of source: StoreTransaction, with maker: StoreMaker, slots: [NewSlot],
    _ lineage: RowCopier.Lineage, progress: ProgressHandler?, finish: (StoreTransaction) throws -> Void = { _ in }
  ) throws -> CopyReport {
    // Report missing documents before asking for a key.
    let walk = try CopyWalk(source, selection, lineage)
    let report = try maker.make(
      slots, allowsTestKeys: options.allowsTestKeys,
      begin: { try progress?(WorkProgress(done: 0, total: walk.expected, phase: .beginning)) },
      fill: {
        let report = try walk.write(into: $0, from: source, progress)
        try finish($0)
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
