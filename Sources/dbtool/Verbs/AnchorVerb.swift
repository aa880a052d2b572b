internal import ArgumentParser
internal import Coffer

/// `anchor STORE`: prints a line with the store's generation; kept elsewhere, it reveals a rollback.
struct AnchorVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "anchor",
    abstract: "Print a store's anchor line, or check one that was kept.",
    discussion: """
      An older copy of a store is sound in itself. After each session, keep the anchor where a person who can \
      replace the store cannot write, and check it before you trust the store again.

        dbtool anchor texts.coffer > ~/anchors/texts
        dbtool anchor texts.coffer --check-file ~/anchors/texts
      """)

  @OptionGroup var options: StoreOptions

  @Option(help: ArgumentHelp("Check this anchor line.", valueName: "line"))
  var check: String?

  @Option(help: ArgumentHelp("Check the anchor line of a file.", valueName: "path"), completion: .file())
  var checkFile: String?

  @Flag(help: "A newer store is a mismatch, too.")
  var exact = false

  @OptionGroup var demands: AnchorDemands

  func validate() throws {
    if check != nil, checkFile != nil { throw ValidationError("give --check or --check-file, not both") }
    if exact || !demands.options.isEmpty, check == nil, checkFile == nil {
      throw ValidationError("--exact, --descends and --rekey-known belong to --check or --check-file")
    }
  }

  func run() throws {
    let line = try checkFile.map(AnchorLine.read) ?? check
    let store = try options.open(readOnly: true)
    guard let line else {
      let anchor = try store.anchor()
      try store.close()
      if options.common.isMachineReadable {
        return try Report([("anchor", .string(anchor))]).print(as: options.common.listFormat)
      }
      return try printLines(anchor)
    }
    let outcome = try store.checkAnchor(line, options: demands.options.union(exact ? .exact : []))
    try store.close()
    try Report([("anchor", .string(outcome.words))]).print(as: options.common.listFormat)
  }
}
