internal import Coffer
internal import CofferFoundation

extension ExportVerb {
  /// Exports the selected documents into a new store.
  func exportStore(to path: String?) throws {
    guard let path else { throw Failure.usage("a store is a file", hint: "name it with -o") }
    let slots = try newStore.newSlots(for: path, policy: options.policy)
    let store = try options.open(readOnly: true)
    let creation = try newStore.creation.creation(store.creationOptions, slots: slots.count)
    let selection = try selection(in: store)
    let bar = Progress("export", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let report = try Interrupt.deferring {
      try store.copy(
        selection, to: URL(filePath: path), keys: slots.keys, recipients: slots.recipients, creation: creation,
        replacing: force
      ) { step in
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
      ("store_id", .string(report.storeID)), ("pin", .string(report.pin.description)),
    ]).print(as: options.common.listFormat)
  }

  private func selection(in store: DocumentStore) throws -> Selection {
    if !words.isEmpty {
      return .documents(try store.read { try words.existing(in: $0, of: store).map(\.id) })
    }
    if collections.isEmpty { return .everything }
    let names = collections
    try store.read { try Collections.require(names, in: $0, of: store) }
    return .collections(names.map { DocumentCollection($0) })
  }
}
