internal import ArgumentParser
internal import Coffer

/// `rm STORE NAME…`: deletes documents, all of them or none.
struct RemoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Delete documents.",
    discussion: """
      All of them in one transaction, or none where one is missing. A range of ids or a glob of titles needs --force; \
      --dry-run lists what they name.

        dbtool rm texts.coffer 17 18
        dbtool rm texts.coffer 17-20 --force
        dbtool rm texts.coffer -c notes 'draft *' --dry-run
        dbtool rm texts.coffer n-42
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var selection: DocumentSelection

  @Flag(name: .shortAndLong, help: "Delete all that a range or a glob names.")
  var force = false

  @Flag(name: [.customShort("n"), .long], help: "Say what would be deleted, and delete nothing.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    let headers: [DocumentHeader]
    if dryRun {
      headers = try store.read { try selection.words.existing(in: $0, of: store) }
    } else {
      headers = try store.write { writer in
        var usesPattern = false
        let found = try selection.words.existing(in: writer, of: store, usesPattern: &usesPattern)
        guard force || !usesPattern else {
          throw Failure.usage(
            "a range or a glob names \(counted(found.count, "document"))", hint: "-f deletes them; -n lists them")
        }
        for id in Set(found.map(\.id)) {
          try writer.delete(id)
        }
        return found
      }
    }
    try store.close()
    guard dryRun || options.common.isMachineReadable else { return }
    try HeaderField.print(headers, as: options.common.listFormat)
  }
}
