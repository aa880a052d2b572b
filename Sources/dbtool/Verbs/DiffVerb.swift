internal import ArgumentParser
internal import Coffer
internal import CofferCopies
internal import CofferFoundation
internal import CofferTerminal

/// `diff STORE OTHER`: lists the differences between two stores.
struct DiffVerb: ParsableCommand {
  enum PairingName: String, CaseIterable, ExpressibleByArgument {
    case identity, key, title

    var pairing: StoreDifferences.Pairing {
      switch self {
      case .identity: .identity
      case .key: .key
      case .title: .title
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show the documents that differ between two stores.",
    discussion: """
      Lists documents that were added, removed, changed or moved from STORE to OTHER, and the parts that differ. A \
      store and its copies are compared by document identity, and other stores by key or title within collections of \
      the same name. The given keys are tried on both stores. The exit code is 0 without differences, or 4 with \
      differences.

        dbtool diff backup.coffer texts.coffer --key-file my.key
        dbtool diff backup.coffer texts.coffer --text
        dbtool diff ours.coffer theirs.coffer --by title --key-file ours.key --key-file theirs.key
        dbtool diff backup.coffer texts.coffer --keyless
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The store to compare with.", valueName: "other"), completion: .file())
  var other: String

  @Option(help: ArgumentHelp("How to pair documents (default: identity).", valueName: "pairing"))
  var by: PairingName?

  @Flag(help: "Show the differing lines of texts, like 'diff -u'.")
  var text = false

  @Flag(help: "Without a key, list ids whose sealed rows differ between two files of one store.")
  var keyless = false

  @OptionGroup(title: "The other store") var otherStore: OtherStoreOptions

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if keyless, text || by != nil { throw ValidationError("--keyless opens nothing: leave out --text and --by") }
    if keyless, !otherStore.isEmpty {
      throw ValidationError("--keyless proves nothing: leave out --other-pin, --other-anchor and --allow-rekey")
    }
    if text, options.common.listFormat != nil {
      throw ValidationError("--text prints lines for people: leave out --json and --format")
    }
  }

  func run() throws {
    guard !keyless else { return try compareRows() }
    let store = try options.open(readOnly: true)
    let right = try otherStore.open(other, with: options)
    let bar = Progress("diff", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    let found = try Interrupt.deferring {
      try store.differences(
        to: right, by: (by ?? .identity).pairing, allowingRekey: otherStore.allowRekey
      ) { step in
        bar.update(step)
        try Interrupt.check()
      }
    }
    bar.finish()
    if text {
      try printTexts(found, store, right)
    } else {
      try found.print(as: options.common.listFormat)
    }
    try store.close()
    try right.close()
    guard found.isEmpty else { throw Outcome(.answerIsNo) }
  }

  /// Compares sealed rows without a key.
  private func compareRows() throws {
    try options.store.requireExpected()
    let found = try DocumentStore.rowDifferences(
      from: options.store.url, to: URL(filePath: other), wait: options.store.access.waitingTime())
    var rows = found.removed.map { DifferenceRow(change: "removed", id: $0, otherID: nil, title: nil, parts: []) }
    rows += found.added.map { DifferenceRow(change: "added", id: nil, otherID: $0, title: nil, parts: []) }
    rows += found.changed.map { DifferenceRow(change: "changed", id: $0, otherID: $0, title: nil, parts: []) }
    try DifferenceRow.print(rows, as: options.common.listFormat)
    guard found.isEmpty else { throw Outcome(.answerIsNo) }
  }

  private func printTexts(_ found: StoreDifferences, _ store: DocumentStore, _ right: DocumentStore) throws {
    let output = StandardOutput()
    func text(_ header: DocumentHeader?, in store: DocumentStore, _ path: String) throws -> String {
      try Failure.naming(path) { try header.map { header in try store.read { try $0.text(of: header.id) } } ?? "" }
    }
    func name(_ header: DocumentHeader?, _ path: String) -> String {
      guard let header else { return "/dev/null" }
      return escapingControls("\(path) \(header.id)" + (header.title.map { " \($0)" } ?? ""))
    }
    for difference in found.removed + found.added + found.changed {
      try Interrupt.check()
      let isWhole = difference.before == nil || difference.after == nil
      try output.write(line: "--- \(name(difference.before, options.store.path))")
      try output.write(line: "+++ \(name(difference.after, other))")
      if !isWhole {
        try output.write(line: "differs in: \(difference.parts.names.joined(separator: ", "))")
      }
      guard isWhole || difference.parts.contains(.text) else { continue }
      let lines = UnifiedDiff(
        try text(difference.before, in: store, options.store.path), try text(difference.after, in: right, other)
      ).text
      for line in lines { try output.write(line: line) }
    }
    try output.flush()
  }
}

/// A row in a list of differences.
private struct DifferenceRow {
  let change: String
  let id: DocumentID?
  let otherID: DocumentID?
  let title: String?
  let parts: [String]

  static func print(_ rows: [DifferenceRow], as format: ListFormat?) throws {
    var table = TableWriter(
      columns: [
        .init(name: "change", isNumber: false), .init(name: "id", isNumber: true),
        .init(name: "other_id", isNumber: true), .init(name: "title", isNumber: false),
        .init(name: "parts", isNumber: false),
      ], format: format)
    let isObjects = format == .json || format == .ndjson
    for row in rows {
      let parts: JSONValue =
        isObjects ? .array(row.parts.map { .string($0) }) : .string(row.parts.joined(separator: " "))
      try table.add([
        .string(row.change), row.id.map { .integer($0.rawValue) }, row.otherID.map { .integer($0.rawValue) },
        row.title.map { .string($0) }, parts,
      ])
    }
    try table.finish()
  }
}

extension StoreDifferences {
  /// Prints a line for each differing document.
  func print(as format: ListFormat?) throws {
    let rows =
      (removed.map { ("removed", $0) } + added.map { ("added", $0) }
      + changed.map { ($0.isMoved ? "moved" : "changed", $0) })
      .map { change, difference in
        DifferenceRow(
          change: change, id: difference.before?.id, otherID: difference.after?.id,
          title: (difference.after ?? difference.before)?.title, parts: difference.parts.names)
      }
    try DifferenceRow.print(rows, as: format)
  }
}

extension StoreDifferences.Difference.Parts {
  fileprivate var names: [String] {
    let names: [(Self, String)] = [
      (.title, "title"), (.text, "text"), (.key, "key"), (.attributes, "attributes"), (.dates, "dates"),
      (.collection, "collection"), (.parent, "parent"), (.place, "place"),
      (.attachments, "attachments"),
    ]
    return names.filter { contains($0.0) }.map(\.1)
  }
}
