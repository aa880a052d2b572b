internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// `copy STORE NEW [NAME…]`: copies a store's documents to a new store for other keys.
struct CopyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy a store for other keys, for editing, or to salvage its documents.",
    discussion: """
      NEW has its own identity and keys, and isn't sealed with any key of STORE, so you can give it to another person. \
      Send its pin separately. Without -c or NAME, every document is copied. Ids, order, dates, keys and attributes \
      remain the same. NEW isn't linked to STORE, so the two can't be merged.

      --editable makes a working copy. 'merge' exchanges later changes between the copy and STORE. New documents get \
      large ids, from a range that no other copy uses. Without -r or --new-…, the copy opens with the keys that open \
      STORE.

      --salvage reads a damaged store. NEW gets every document that still matches what was written. Other documents \
      are listed by id with the reason, and the exit code is 3.

        dbtool copy texts.coffer hers.coffer -c news -r coffer-recipient-1-…
        dbtool copy shipped.coffer mine.coffer --editable
        dbtool copy broken.coffer saved.coffer --salvage --new-key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The new store.", valueName: "new"), completion: .file())
  var new: String

  @OptionGroup var extent: ExtentOptions

  @Flag(help: "Make a working copy, which 'merge' can update.")
  var editable = false

  @Flag(help: "Read a damaged store, and omit unreadable documents.")
  var salvage = false

  @Flag(name: .shortAndLong, help: "Replace a store at NEW that no process has open.")
  var force = false

  @OptionGroup var newStore: NewStoreOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    try StoreArgument.requirePath(new)
    guard editable || salvage else { return }
    let option = editable ? "--editable" : "--salvage"
    if salvage, options.store.access.publisher != nil {
      throw ValidationError("a salvage is no release: leave out --publisher")
    }
    if editable, salvage { throw ValidationError("--editable and --salvage exclude each other") }
    if !extent.words.isEmpty || !extent.collections.isEmpty {
      throw ValidationError("\(option) copies everything: leave out -c and names of documents")
    }
    if force { throw ValidationError("\(option) never replaces a file: leave out --force") }
  }

  func run() throws {
    let bar = Progress("copy", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let report = try Interrupt.deferring {
      try copy { step in
        bar.update(step)
        try Interrupt.check()
      }
    }
    bar.finish()
    try printReport(report)
  }

  private func copy(_ progress: @escaping ProgressHandler) throws -> CopyReport {
    let url = URL(filePath: new)
    if !force, InputFile.exists(new) { throw existing }
    let key = try options.openingKey()
    defer { key.forget() }
    if editable, !newStore.namesKeys { return try copyForSameKeys(key, to: url, progress) }
    let slots = try newStore.newSlots(for: new, policy: options.policy)
    // Erase the secrets at the first report, because it follows the last use of a secret.
    let progress: ProgressHandler = { step in
      slots.forget()
      key.forget()
      try progress(step)
    }
    if salvage {
      return try DocumentStore.salvage(
        at: options.store.url, key: key, to: url, keys: slots.keys,
        recipients: slots.recipients, changing: { $0 = try newStore.creation.creation($0, slots: slots.count) },
        options: try options.openOptions(true), progress: progress)
    }
    let store = try open(with: key)
    let creation = try newStore.creation.creation(store.creationOptions, slots: slots.count)
    let report =
      editable
      ? try store.makeEditableCopy(
        at: url, keys: slots.keys, recipients: slots.recipients, creation: creation, progress: progress)
      : try store.copy(
        try selection(in: store), to: url, keys: slots.keys, recipients: slots.recipients, creation: creation,
        replacing: force, progress: progress)
    try store.close()
    return report
  }

  /// Makes an editable copy that opens with the original's keys. Asks for the keys once.
  private func copyForSameKeys(
    _ key: StoreKey, to url: URL, _ progress: @escaping ProgressHandler
  ) throws -> CopyReport {
    let store = try open(with: key)
    let report = try store.makeEditableCopy(
      at: url, keys: [key], creation: try newStore.creation.creation(store.creationOptions, slots: 1),
      progress: { step in
        key.forget()
        try progress(step)
      })
    try store.close()
    return report
  }

  /// Opens the store for reading. For an editable copy, it doesn't change the file or folder, because the original can
  /// be in a read-only location.
  private func open(with key: StoreKey) throws -> DocumentStore {
    try options.open(with: key, readOnly: true, leavesFileUnchanged: editable)
  }

  private var existing: Failure {
    guard editable || salvage, !InputFile.isSameFile(new, options.store.path) else {
      return .storeExists(new, reading: options.store.path)
    }
    let (copy, original) = (Shell.quoted(path: new), Shell.quoted(path: options.store.path))
    let hint =
      editable ? "'dbtool merge --store \(copy) \(original)' brings a copy up to date" : "name another file"
    return Failure(.failed, kind: "already-exists", "\(new) exists already", hint: hint)
  }

  private func selection(in store: DocumentStore) throws -> Selection {
    if !extent.words.isEmpty {
      return .documents(try store.read { try extent.words.existing(in: $0, of: store).map(\.id) })
    }
    if extent.collections.isEmpty { return .everything }
    let names = extent.collections
    try store.read { try Collections.require(names, in: $0, of: store) }
    return .collections(names.map { DocumentCollection($0) })
  }

  private func printReport(_ report: CopyReport) throws {
    let diagnostics = options.common.diagnostics
    if report.isTest { diagnostics.warning("\(new) is a TEST store: its keys may be published") }
    if report.parentsDropped > 0 {
      diagnostics.note(
        "\(counted(report.parentsDropped, "document")) without a parent in \(new): the parent was not copied")
    }
    for left in report.leftOut { diagnostics.finding("left behind: \(left.reason)") }
    for left in report.leftOutAttachments {
      diagnostics.finding("left behind: \(left.reason) (document \(left.document))")
    }
    for number in report.namedByNumber {
      diagnostics.finding(
        "the name of collection \(number) is lost: its documents are in 'collection \(number.rawValue)'")
    }
    for problem in report.problems { diagnostics.finding(problem) }
    var facts: [(String, JSONValue?)] = [("path", .string(new)), ("documents", .integer(report.documents))]
    if report.attachments > 0 { facts.append(("attachments", .integer(report.attachments))) }
    if salvage {
      facts += [
        ("expected", report.expected.map { .integer($0) }),
        ("set", .string(report.setMatches.map { $0 ? "matches" : "differs" } ?? "unknown")),
        (
          "left",
          .array(
            report.leftOut.map { .object([("id", .integer($0.id.rawValue)), ("reason", .string($0.reason))]) })
        ),
        (
          "left_attachments",
          .array(
            report.leftOutAttachments.map {
              .object([
                ("id", .integer($0.id.rawValue)), ("document", .integer($0.document.rawValue)),
                ("reason", .string($0.reason)),
              ])
            })
        ),
        ("named_by_number", .array(report.namedByNumber.map { .string($0.description) })),
        ("problems", .array(report.problems.map { .string($0) })),
      ]
    } else if !editable {
      facts.append(("parents_dropped", .integer(report.parentsDropped)))
    }
    facts += [("store_id", .string(report.storeID)), ("pin", .string(report.pin.description))]
    try Report(facts).print(as: options.common.listFormat)
    guard salvage, !report.isComplete else { return }
    let documents = counted(report.documents, "document")
    let hasRest = report.documents != report.expected || !report.leftOut.isEmpty || !report.leftOutAttachments.isEmpty
    let lost = report.leftOutAttachments.count
    throw Failure(
      .partlyDone, kind: "partly-done",
      (report.expected.map { "\(documents) of \($0) salvaged" } ?? "\(documents) salvaged, out of an unknown number")
        + (lost > 0 ? ", without \(counted(lost, "attachment"))" : ""),
      hint: hasRest ? "look for the rest in a backup" : "compare the new store with a backup")
  }
}
