internal import ArgumentParser
internal import Coffer
internal import CofferFoundation
internal import CofferReplication

/// `replica adopt|promote|tail|confirm`: manages copies that another program replicates.
struct ReplicaVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replica",
    abstract: "Serve, promote and confirm copies that Litestream replicates.",
    discussion: """
        dbtool replica confirm texts.coffer /run/litestream.sock
        dbtool replica adopt /var/lib/follow/texts.coffer /srv/texts --anchor confirmed.anchor
        dbtool replica promote restored.coffer --anchor confirmed.anchor
        dbtool replica tail old.coffer --since base.anchor
      """,
    subcommands: [ReplicaAdoptVerb.self, ReplicaConfirmVerb.self, ReplicaPromoteVerb.self, ReplicaTailVerb.self])
}

struct ReplicaConfirmVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm",
    abstract: "Print the store's anchor after Litestream confirms that state.",
    discussion: """
      Prints the anchor only after the Litestream with this control socket confirms that its replica contains the \
      store's state. Otherwise, nothing is printed, and the exit code is 24.

        dbtool replica confirm texts.coffer /run/litestream.sock > confirmed.anchor
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "Litestream's control socket.", completion: .file())
  var socket: String

  @Option(help: ArgumentHelp("The maximum time for the confirmation (default: 30).", valueName: "seconds"))
  var timeout: Double?

  func validate() throws {
    if let timeout, !(timeout > 0 && timeout <= 86_400) {
      throw ValidationError("--timeout takes seconds, more than 0")
    }
  }

  func run() throws {
    let timeout = timeout.map { Duration.milliseconds(Int64($0 * 1000)) } ?? .seconds(30)
    let store = try options.open(readOnly: true)
    let anchor = try store.confirm(by: .litestream(socket: URL(filePath: socket)), timeout: timeout)
    try store.close()
    if options.common.isMachineReadable {
      return try Report([("anchor", .string(anchor.description))]).print(as: options.common.listFormat)
    }
    try printLines(anchor.description)
  }
}
