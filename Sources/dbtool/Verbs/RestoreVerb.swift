internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation

/// `restore STORE FROM`: a backup in the place of a store, or single documents of it.
struct RestoreVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put back a backup, or single documents from it.",
    discussion: """
      Without NAME, no key is needed. The copy is checked before it replaces anything, except for its texts, which \
      'verify' checks. FROM stays as it is. A store that exists is replaced with --force only, and only while no \
      process has it open. It is kept beside the copy as STORE.replaced, with its journal or log; --discard-replaced deletes it instead. A file that is no store \
      is never replaced. The generations of both are noted, exactly if a key is given, and a warning says if FROM is \
      older.

      With names, the documents become as they are in FROM, with their places, and everything else stays. FROM is a \
      backup or an editable copy of the store. Its set of rows is proved first; --allow-damage takes documents that \
      open from one that isn't whole. A file of the same store with another root key is refused without --allow-rekey, \
      because whoever had the former key can have written it. An editable copy has its own root key.

        dbtool restore texts.coffer backups/texts-20261122T081500Z.coffer --force
        dbtool restore texts.coffer backups/texts-20261122T081500Z.coffer 17 30-34 --key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The backup.", valueName: "from"), completion: .file())
  var backup: String

  @Argument(
    help: ArgumentHelp(
      "Documents to bring back, by their ids, keys or titles in FROM (default: everything).", valueName: "name"))
  var names: [String] = []

  @OptionGroup(title: "Documents") var naming: NamingOptions

  private var words: DocumentWords { naming.words(names) }

  @Flag(name: .shortAndLong, help: "Replace an existing store.")
  var force = false

  @Flag(help: "With --force: delete the replaced store, in place of keeping it as STORE.replaced.")
  var discardReplaced = false

  @Flag(help: "Take single documents that open from a damaged backup.")
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
      // The file isn't beside a link to the store.
      let beside = OutputFile.folder(of: store.path) + InputFile.name(of: replaced.path)
      let path = InputFile.isSameFile(beside, replaced.path) ? beside : replaced.path
      let command = "dbtool restore --store \(Shell.quoted(path: store.path)) \(Shell.quoted(path: path)) --force"
      common.diagnostics.note("the replaced store is \(path); to go back: \(command)")
    }
  }

  /// Notes the generations of the store and of the backup, and warns before an older one replaces a newer one.
  private func compare() throws -> (store: StoreGeneration?, backup: StoreGeneration?) {
    // Otherwise this process would have the store open.
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

  /// A key that is given without asking, since none is needed.
  private var openingKey: StoreKey? {
    let given = options.keys.inOrder
    let arguments = given.isEmpty ? [Environment.key].compactMap { $0 } : given
    let keys = arguments.compactMap { try? $0.openingKey(for: store.path, policy: options.policy) }
    return keys.isEmpty ? nil : .anyOf(keys)
  }

  /// Returns the IDs of the named documents. If one is missing, the rows of FROM are proved before that is said.
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

  /// Single documents.
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
