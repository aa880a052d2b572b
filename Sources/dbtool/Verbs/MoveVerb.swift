internal import ArgumentParser
internal import Coffer

/// `mv STORE ID --to …`: a document elsewhere in its collection's order.
struct MoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mv",
    abstract: "Move a document in its collection's order.",
    discussion: """
      A number is the place that the document has afterwards, from 1. The other documents keep their order.

        dbtool mv texts.coffer 17 --to top
        dbtool mv texts.coffer 17 --to after:12
        dbtool mv texts.coffer -c notes --key-name n-42 --to 3
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var selection: DocumentSelection

  @Option(help: Destination.help)
  var to: Destination

  @Flag(help: "Say what would be moved, and move nothing.")
  var dryRun = false

  func validate() throws {
    try selection.requireOne()
  }

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    let header: DocumentHeader
    if dryRun {
      header = try store.read { reader in
        let header = try selection.existing(in: reader, of: store)[0]
        _ = try to.placement(of: header, in: reader)
        return header
      }
    } else {
      header = try store.write { writer in
        let header = try selection.existing(in: writer, of: store)[0]
        try writer.move(header.id, to: try to.placement(of: header, in: writer))
        return header
      }
    }
    try store.close()
    guard dryRun || options.common.isMachineReadable else { return }
    try HeaderField.print([header], as: options.common.listFormat)
  }
}
