internal import ArgumentParser
internal import Coffer
internal import CofferFoundation
internal import CofferReplication

/// `anchor STORE`: prints a line with the store's generation; kept elsewhere, it reveals a rollback.
struct AnchorVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "anchor",
    abstract: "Print a store's anchor line, or check one that was kept.",
    discussion: """
      An older copy of a store is sound in itself. After each session, keep the anchor where a person who can \
      replace the store cannot write, and check it before you trust the store again.

      With --confirmed the anchor is printed only once Litestream has confirmed that its replica holds this state; \
      otherwise nothing is printed, and the exit code is 24.

        dbtool anchor texts.coffer > ~/anchors/texts
        dbtool anchor texts.coffer --check-file ~/anchors/texts
        dbtool anchor texts.coffer --confirmed /run/litestream.sock
      """)

  @OptionGroup var options: StoreOptions

  @Option(help: ArgumentHelp("Check this anchor line.", valueName: "line"))
  var check: String?

  @Option(help: ArgumentHelp("Check the anchor line of a file.", valueName: "path"), completion: .file())
  var checkFile: String?

  @Option(
    help: ArgumentHelp(
      "Print the anchor once the Litestream with this control socket has confirmed that its replica holds it.",
      valueName: "socket"),
    completion: .file())
  var confirmed: String?

  @Option(help: ArgumentHelp("How long Litestream may take to confirm (default: 30).", valueName: "seconds"))
  var timeout: Double?

  @Flag(help: "A newer store is a mismatch, too.")
  var exact = false

  @OptionGroup var demands: AnchorDemands

  func validate() throws {
    if [check, checkFile, confirmed].count(where: { $0 != nil }) > 1 {
      throw ValidationError("give --check, --check-file or --confirmed: one of them")
    }
    if exact || !demands.isEmpty, check == nil, checkFile == nil {
      throw ValidationError("--exact, --descends and --rekey-known belong to --check or --check-file")
    }
    if let timeout {
      guard confirmed != nil else { throw ValidationError("--timeout belongs to --confirmed") }
      guard timeout > 0, timeout <= 86_400 else { throw ValidationError("--timeout takes seconds, more than 0") }
    }
  }

  func run() throws {
    let kept = try checkFile.map(AnchorLine.read) ?? check.map(AnchorLine.parse)
    let store = try options.open(readOnly: true)
    guard let kept else {
      let anchor = try confirmed.map { try confirm(store, by: $0) } ?? store.anchor()
      try store.close()
      if options.common.isMachineReadable {
        return try Report([("anchor", .string(anchor.description))]).print(as: options.common.listFormat)
      }
      return try printLines(anchor.description)
    }
    let relation = try store.relation(
      to: kept, requiring: exact ? .same : demands.requirement, allowingRekey: demands.rekeyKnown)
    try store.close()
    try Report([("anchor", .string(relation.words))]).print(as: options.common.listFormat)
  }

  private func confirm(_ store: DocumentStore, by socket: String) throws -> StoreAnchor {
    let timeout = timeout.map { Duration.milliseconds(Int64($0 * 1000)) } ?? .seconds(30)
    return try store.confirm(by: .litestream(socket: URL(filePath: socket)), timeout: timeout)
  }
}
