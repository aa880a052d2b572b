internal import ArgumentParser
internal import Coffer

/// `cp STORE ID [--to …]`: copies a document under a new id.
struct CopyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cp",
    abstract: "Duplicate a document.",
    discussion: """
      Title, text, attributes and parent, under a new id, which is printed; by default right behind the original. A key \
      stays with the original alone.

        dbtool cp texts.coffer 17
        dbtool cp texts.coffer 17 --to bottom
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var choice: DocumentChoice

  @Option(help: Destination.help)
  var to: Destination?

  @Flag(name: [.customShort("n"), .long], help: "Say what would be copied, and copy nothing.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    if dryRun {
      let header = try store.read { reader in
        let header = try choice.header(in: reader, of: store)
        _ = try placement(beside: header, reader)
        return header
      }
      try store.close()
      return try HeaderField.print([header], as: options.common.listFormat)
    }
    let copy = try store.write { writer in
      let header = try choice.header(in: writer, of: store)
      return try writer.duplicate(header.id, to: try placement(beside: header, writer))
    }
    try store.close()
    if options.common.isMachineReadable {
      try Report([("id", .integer(copy.rawValue))]).print(as: options.common.listFormat)
    } else {
      try printLines(copy.description)
    }
  }

  private func placement(
    beside header: DocumentHeader, _ scope: borrowing some StoreReading & ~Copyable
  ) throws -> Placement {
    guard let to else { return .after(header.id) }
    return try to.placement(in: header.collection, scope)
  }
}
