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
      // Missing documents and collections are reported before any key is asked for.
      let walk = try ExportWalk(source, selection)
      var report = ExportReport()
      let made = try maker.make(
        keys, allowsTestKeys: self.options.allowsTestKeys,
        begin: { try progress?(WorkProgress(done: 0, total: walk.expected, phase: .beginning)) },
        fill: { transaction in
          let copier = try RowCopier(into: transaction)
          for collection in walk.collections { try transaction.writer.insertCollection(copier.add(collection)) }
          try transaction.setOrigin(try source.origin(as: .export))
          try transaction.insert(
            readBy: { _ in () }, sealedBy: { batch, _ in try walk.fill(batch, with: copier) },
            refused: { row, error in throw row.refusal(error) },
            inserted: { batch in
              report.documents += batch.rows.count
              try progress?(WorkProgress(done: report.documents, total: max(report.documents, walk.expected)))
            })
          try walk.requireWhole()
        })
      report.parentsDropped = walk.parentsDropped
      report.storeID = Hexadecimal.text(made.storeID)
      report.pin = StorePin(made.header).line
      report.isTest = made.header.isTest
      log.info("exported \(report.documents) documents into store \(report.storeID)")
      return report
    }
  }

  /// The same titles and padding as this store.
  var creationOptions: CreateOptions {
    var creation = CreateOptions()
    creation.titles = TitleMode(rawValue: session.header.titles)!
    creation.isPadded = session.header.isPadded
    return creation
  }
}
