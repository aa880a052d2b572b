internal import ArgumentParser
internal import Coffer

/// `rm STORE NAME…`: deletes all of the named documents, or none of them.
struct RemoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Delete documents.",
    discussion: """
      Deletes all documents in one transaction, or none if one is missing. A range of ids or a glob of titles needs \
      --force. --dry-run lists the matching documents.

        dbtool rm texts.coffer 17 18
        dbtool rm texts.coffer 17-20 --force
        dbtool rm texts.coffer -c notes 'draft *' --dry-run
        dbtool rm texts.coffer n-42
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var selection: DocumentSelection

  @Flag(name: .shortAndLong, help: "Delete all documents that a range or glob names.")
  var force = false

  @Flag(name: [.customShort("n"), .long], help: "Show what would be deleted without deleting it.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    var usesPattern = false
    let (headers, unreadable): ([DocumentHeader], [DocumentID])
    if dryRun {
      (headers, unreadable) = try store.read { try named(in: $0, of: store, usesPattern: &usesPattern) }
    } else {
      (headers, unreadable) = try store.write { writer in
        let (found, unreadable) = try named(in: writer, of: store, usesPattern: &usesPattern)
        guard force || !usesPattern else {
          throw Failure.usage(
            "a range or a glob names \(counted(found.count, "document"))", hint: "-f deletes them; -n lists them")
        }
        for id in found.map(\.id) + unreadable {
          try writer.delete(id)
        }
        return (found, unreadable)
      }
    }
    try store.close()
    if !unreadable.isEmpty {
      let ids = unreadable.map(\.description).joined(separator: ", ")
      options.common.diagnostics.note(
        "\(dryRun ? "would delete" : "deleted"), without a header that can be read: \(ids)")
    }
    guard dryRun || options.common.isMachineReadable else { return }
    try HeaderField.print(headers, unreadable: unreadable, as: options.common.listFormat)
  }

  /// Returns the headers of the named documents, and the IDs of documents with unreadable headers. These documents can
  /// be deleted by ID if a rekey skipped them or a later version wrote them.
  private func named(
    in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore, usesPattern: inout Bool
  ) throws -> ([DocumentHeader], unreadable: [DocumentID]) {
    let words = selection.words
    var found: [DocumentHeader] = []
    var unreadable: [DocumentID] = []
    for word in words.words {
      do {
        found += try DocumentWords(words: [word], collection: words.collection)
          .existing(in: scope, of: store, usesPattern: &usesPattern)
      } catch let error as StoreError {
        guard error.code == .damaged || error.code == .otherFormat, words.collection == nil, case .any(let text) = word,
          let id = error.documentID,
          text == id.description
        else { throw error }
        unreadable.append(id)
      }
    }
    return (found.unique(by: \.id), unreadable.unique(by: \.self))
  }
}
