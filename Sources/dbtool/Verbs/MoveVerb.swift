internal import ArgumentParser
internal import Coffer

/// `mv STORE ID --to …`: moves a document within its collection or to another.
struct MoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mv",
    abstract: "Move a document in the order, or into another collection.",
    discussion: """
      A number is the document's new place, from 1. The other documents keep their order. In another collection, which \
      is created if it is missing, the document keeps its id and goes to the bottom unless --to names another place. \
      Its parent remains in the old collection.

        dbtool mv texts.coffer 17 --to top
        dbtool mv texts.coffer 17 --to after:12
        dbtool mv texts.coffer n-42 --to 3
        dbtool mv texts.coffer 17 --into archive
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var choice: DocumentChoice

  @Option(help: Destination.help)
  var to: Destination?

  @Option(parsing: .unconditional, help: ArgumentHelp("The target collection.", valueName: "name"))
  var into: String?

  @Flag(name: [.customShort("n"), .long], help: "Show what would be moved without moving it.")
  var dryRun = false

  func validate() throws {
    if to == nil, into == nil { throw ValidationError("say where to: --to, --into or both") }
  }

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    let header: DocumentHeader
    var note: String?
    if dryRun {
      header = try store.read { reader in
        let header = try choice.header(in: reader, of: store)
        _ = try placement(of: header, in: reader, store)
        note = try newCollectionNote(reader)
        return header
      }
    } else {
      header = try store.write { writer in
        let header = try choice.header(in: writer, of: store)
        let placement = try placement(of: header, in: writer, store)
        note = try newCollectionNote(writer)
        if let into {
          try writer.move(header.id, into: DocumentCollection(into), at: placement)
        } else {
          try writer.move(header.id, to: placement)
        }
        return try writer.header(of: header.id)
      }
    }
    try store.close()
    if let note { options.common.diagnostics.note(note) }
    guard dryRun || options.common.isMachineReadable else { return }
    try HeaderField.print([header], as: options.common.listFormat)
  }

  private func newCollectionNote(_ scope: borrowing some StoreReading & ~Copyable) throws -> String? {
    guard let into, try !scope.exists(DocumentCollection(into)) else { return nil }
    return Collections.note(new: [into], beside: try scope.collectionNames().map(\.name), isNamed: true)
  }

  private func placement(
    of header: DocumentHeader, in scope: borrowing some StoreReading & ~Copyable, _ store: DocumentStore
  ) throws -> Placement {
    guard let into else { return try to!.placement(of: header, in: scope) }
    guard let to else { return .bottom }
    let target = DocumentCollection(into)
    guard try scope.exists(target) else {
      guard [.top, .bottom, .place(1)].contains(to) else {
        let there = try listed(scope.collectionNames().map(\.name))
        throw Failure.usage(
          "\(into) would be a new collection, which has no such place", hint: "there are: \(there)")
      }
      return .bottom
    }
    let id = try scope.info(of: target).id
    return id == header.collection ? try to.placement(of: header, in: scope) : try to.placement(in: id, scope)
  }
}
