internal import CofferRecords
internal import CofferSealing

extension StoreEngine {
  /// Writes documents into a new store at `target`, under other keys.
  func export(
    _ selection: ExportSelection, to target: String, keys: [NewKey], options: ExportOptions,
    progress: ProgressHandler?
  ) throws -> ExportReport {
    let maker = StoreMaker(
      path: target, creation: options.creation ?? creationOptions, wait: self.options.wait,
      replacesExisting: options.replacesExisting, source: path)
    return try read { source in
      try copy(selection, of: source, with: maker, keys: keys, as: .export, progress: progress)
    }
  }

  /// Writes an editable copy: a store with another identity and other keys, whose documents keep the generations of
  /// their changes (FORMAT, "Origin").
  ///
  /// - Throws: also `noNumberLeft` if no ids or generations would be left for the copy.
  func fork(
    to target: String, keys: [NewKey], creation: CreateOptions, progress: ProgressHandler?
  ) throws -> ExportReport {
    try read { source in
      let state = source.state
      guard state.nextID <= UInt64(Int64.max) - StoreOrigin.step,
        state.generation <= UInt64(StoreFormat.maximumCounter) - StoreOrigin.step
      else {
        throw StoreError(
          .noNumberLeft, "the store's ids or generations are too high for an editable copy",
          hint: "export it into a new store, and copy that")
      }
      let maker = StoreMaker(
        path: target, creation: creation, wait: options.wait, source: path,
        firstGeneration: StoreOrigin.firstGeneration(ofCopyAt: state.generation))
      return try copy(.everything, of: source, with: maker, keys: keys, as: .editableCopy, progress: progress)
    }
  }

  private func copy(
    _ selection: ExportSelection, of source: StoreTransaction, with maker: StoreMaker, keys: [NewKey],
    as kind: StoreOrigin.Kind, progress: ProgressHandler?
  ) throws -> ExportReport {
    // Missing documents and collections are reported before any key is asked for.
    let walk = try ExportWalk(source, selection, keepingParents: kind == .editableCopy)
    var report = ExportReport()
    let made = try maker.make(
      keys, allowsTestKeys: self.options.allowsTestKeys,
      begin: { try progress?(WorkProgress(done: 0, total: walk.expected, phase: .beginning)) },
      fill: {
        try walk.write(into: $0, from: source, as: kind, &report, progress)
        try connections.original?.requireUnchanged()
      })
    report.storeID = Hexadecimal.text(made.storeID)
    report.pin = StorePin(made.header).line
    report.isTest = made.header.isTest
    log.info("exported \(report.documents) documents into store \(report.storeID)")
    return report
  }

  /// The same titles and padding as this store.
  var creationOptions: CreateOptions {
    var creation = CreateOptions()
    creation.titles = TitleMode(rawValue: session.header.titles)!
    creation.isPadded = session.header.isPadded
    return creation
  }
}
