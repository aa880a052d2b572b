internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation

/// `restore STORE FROM`: restores a backup, or single documents from it.
struct RestoreVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Restore a backup, or single documents from it.",
    discussion: """
      Without NAME, a key isn't needed. The copy is checked before it replaces a file, except for its texts, which \
      'verify' checks. FROM remains unchanged. An existing store is replaced only with --force, and only while no \
      process has it open. It is kept next to the copy as STORE.replaced, with its journal or log, unless \
      --discard-replaced deletes it. A file that isn't a store is never replaced. Notes show the generations of both \
      files (exactly, if a key is given), and a warning appears if FROM is older.

      With names, the documents become the same as in FROM, including their position, and other documents remain \
      unchanged. FROM is a backup or an editable copy of the store. Its set of rows is proved first. --allow-damage \
      takes readable documents from a damaged FROM. A file of the same store with another root key is refused without \
      --allow-rekey, because anyone who had the former key can have written it. An editable copy has its own root key.

        dbtool restore texts.coffer backups/texts-20261122T081500Z.coffer --force
        dbtool restore texts.coffer backups/texts-20261122T081500Z.coffer 17 30-34 --key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The backup.", valueName: "from"), completion: .file())
  var backup: String

  @Argument(
    help: ArgumentHelp(
      "Documents to restore, by id, key or title in FROM (default: everything).", valueName: "name"))
  var names: [String] = []

  @OptionGroup(title: "Documents") var naming: NamingOptions

  private var words: DocumentWords { naming.words(names) }

  @Flag(name: .shortAndLong, help: "Replace an existing store.")
  var force = false

  @Flag(help: "With --force, delete the replaced store instead of keeping it as STORE.replaced.")
  var discardReplaced = false

  @Flag(help: "Take readable documents from a damaged backup.")
  var allowDamage = false

  @OptionGroup(title: "FROM, with names") var otherStore: OtherStoreOptions

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  private var store: StoreArgument { options.store }
  private var common: CommonOptions { options.common }

  func validate() throws {
    if !words.isEmpty, force { throw ValidationError("--force replaces the whole store: leave it out with names") }
    if discardReplaced, !force { throw ValidationError("--discard-replaced belongs to --force") }
    if words.isEmpty, naming.collection != nil {
      throw ValidationError("without names the whole store is replaced: leave out --collection, or name documents")
    }
    if words.isEmpty, allowDamage { throw ValidationError("--allow-damage is for single documents") }
    if words.isEmpty, !otherStore.isEmpty {
      throw ValidationError(
        "--other-pin, --other-anchor and --allow-rekey are for single documents: --pin is for a whole backup")
    }
  }

  func run() throws {
    guard words.isEmpty else { return try bringBack() }
    let source = URL(filePath: backup)
    if store.access.expect != nil {
      try store.requireExpected(try DocumentStore.info(at: source, wait: store.access.waitingTime()).pin, of: backup)
    }
    guard force || !InputFile.exists(store.path) else { throw Failure.storeExists(store.path, reading: backup) }
    let states = InputFile.exists(store.path) ? try compare() : nil
    let bar = Progress("restore", unit: "page", style: progress.progress, isQuiet: common.quiet)
    let replaced = try bar.interruptible { step in
      try DocumentStore.restore(
        at: store.url, from: source, replacing: force, keepingReplaced: !discardReplaced,
        wait: store.access.waitingTime(), progress: step)
    }
    let size = InputFile.size(of: store.path)
    if common.isMachineReadable {
      try Report([
        ("path", .string(store.path)), ("size", size.map { .integer($0) }),
        ("generation", states?.backup.map { .integer(Int64($0.generation)) }),
        ("replaced_generation", states?.store.map { .integer(Int64($0.generation)) }),
        ("replaced", replaced.map { .string($0.path) }),
      ]).print(as: common.listFormat)
    } else {
      common.diagnostics.note("\(store.path) restored from \(backup)" + (size.map { " (\(ByteCount($0)))" } ?? ""))
    }
    if let replaced {
      // If the path is a link, the replaced file isn't next to it.
      let beside = OutputFile.folder(of: store.path) + InputFile.name(of: replaced.path)
      let path = InputFile.isSameFile(beside, replaced.path) ? beside : replaced.path
      let command = "dbtool restore --store \(Shell.quoted(path: store.path)) \(Shell.quoted(path: path)) --force"
      common.diagnostics.note("the replaced store is \(path); to go back: \(command)")
    }
  }

  /// Notes the generations of the store and of the backup, and warns before an older store replaces a newer store.
  private func compare() throws -> (store: StoreGeneration?, backup: StoreGeneration?) {
    // Check the lease first, because reading the generations opens the store in this process.
    _ = try FileLease.taken(on: store.path)
    let key = openingKey
    defer { key?.forget() }
    func state(_ path: String) -> StoreGeneration? {
      do {
        return try StoreGeneration(of: path, key: key, try options.openOptions(true))
      } catch {
        common.diagnostics.note("\(path): its generation can't be read: \(Failure(error).message)")
        return nil
      }
    }
    let states = (store: state(store.path), backup: state(backup))
    for (path, state) in [(store.path, states.store), (backup, states.backup)] {
      if let state { common.diagnostics.note("\(path): \(state)") }
    }
    if let old = states.store, let new = states.backup {
      for warning in new.warnings(replacing: old) { common.diagnostics.warning("\(backup) \(warning)") }
    }
    return states
  }

  /// A key that doesn't need a prompt, because a restore doesn't need a key.
  private var openingKey: StoreKey? {
    let given = options.keys.inOrder
    let arguments = given.isEmpty ? [Environment.key].compactMap { $0 } : given
    let keys = arguments.compactMap { try? $0.openingKey(for: store.path, policy: options.policy) }
    return keys.isEmpty ? nil : .anyOf(keys)
  }

  /// Returns the IDs of the named documents. If a document is missing, proves the rows of FROM before it reports the error.
  private func named(in source: DocumentStore) throws -> [DocumentID] {
    try Failure.naming(backup) {
      do {
        return try source.read { try words.existing(in: $0, of: source).map(\.id) }
      } catch {
        let failure = Failure(error)
        guard failure.status == .noDocument else { throw error }
        if !allowDamage, let error = try source.verify(.quick).error { throw error }
        throw Failure(failure.status, kind: failure.kind, "\(backup): \(failure.message)", hint: failure.hint)
      }
    }
  }

  /// Restores single documents.
  private func bringBack() throws {
    let target = try options.open(readOnly: false)
    let source = try otherStore.open(backup, with: options)
    let wanted = try named(in: source)
    let outcomes = try Interrupt.deferring {
      try target.restore(
        wanted, from: source, allowingDamage: allowDamage, allowingRekey: otherStore.allowRekey)
    }
    try source.close()
    try target.close()
    var table = TableWriter(
      columns: [.init(name: "id", isNumber: true), .init(name: "outcome", isNumber: false)],
      format: common.listFormat)
    for (id, outcome) in zip(wanted, outcomes) { try table.add([.integer(id.rawValue), .string(outcome.rawValue)]) }
    try table.finish()
  }
}
