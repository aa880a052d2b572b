internal import Coffer
internal import FoundationEssentials

extension ExportVerb {
  /// Exports the selected documents into a new store.
  func exportStore(to path: String?) throws {
    guard let path else { throw Failure.usage("a store is a file", hint: "name it with -o") }
    let keys = try newStore.newKeys(for: path, policy: options.policy)
    let store = try options.open(readOnly: true)
    var export = ExportOptions()
    export.creation = try newStore.creation.creation(store.creationOptions, slots: keys.count)
    export.replacesExisting = force
    let selection = try selection(in: store)
    let bar = Progress("export", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let report = try Interrupt.deferring {
      try store.export(selection, to: URL(filePath: path), keys: keys, options: export) { step in
        bar.update(step)
        try Interrupt.check()
      }
    }
    bar.finish()
    try store.close()
    if report.isTest { options.common.diagnostics.warning("\(path) is a TEST store: its keys may be published") }
    if report.parentsDropped > 0 {
      let documents = counted(report.parentsDropped, "document")
      options.common.diagnostics.note("\(documents) without a parent in \(path): the parent was not exported")
    }
    try Report([
      ("path", .string(path)), ("format", .string(ExportFormat.store.rawValue)),
      ("documents", .integer(report.documents)), ("parents_dropped", .integer(report.parentsDropped)),
      ("store_id", .string(report.storeID)), ("pin", .string(report.pin)),
    ]).print(as: options.common.listFormat)
  }

  private func selection(in store: DocumentStore) throws -> ExportSelection {
    if all { return .everything }
    if !words.isEmpty {
      return .documents(try store.read { try words.existing(in: $0, of: store, isReading: true).map(\.id) })
    }
    let names = try store.read { try Collections.named(collections, in: $0, of: store) }
    return .collections(names.map { store.collection($0) })
  }
}
