internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation

/// `release make`: signs states of a data set.
struct ReleaseVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "release",
    abstract: "Sign a store's documents, so readers know their publisher.",
    discussion: """
      Readers open a store with --publisher and the public line of the signing key. Keep the signing key off their \
      machines.

        dbtool keygen --signing release.key
        dbtool release make texts.coffer --signing release.key -k my.key
        dbtool ls texts.coffer --publisher coffer-publisher-1-… -k my.key
      """,
    subcommands: [ReleaseMakeVerb.self, ReleasePublishVerb.self, ReleaseDiffVerb.self])
}

struct ReleaseMakeVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "make",
    abstract: "Verify a whole store, and sign its documents as the next release.",
    discussion: """
      Records the signed facts in the store: the number, the time, the document count, and a hash of their contents \
      that doesn't depend on keys, ids and slots. 'info' lists releases without a key. Editable copies, backups, \
      rekeys and compaction keep releases. An edited store is no longer as released until the next release.

        dbtool release make texts.coffer --signing release.key --expires 2027-01-31 -k my.key
        dbtool release make texts.coffer --signing old.key --next coffer-publisher-1-… -k my.key
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    help: ArgumentHelp("The signing key, from 'keygen --signing'.", valueName: "file"), completion: .file())
  var signing: String

  @Option(help: ArgumentHelp("The ISO 8601 date when readers should have a newer release.", valueName: "date"))
  var expires: String?

  @Option(help: ArgumentHelp("The publisher of the next releases, if the signing key changes.", valueName: "line"))
  var next: String?

  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    if let expires, Timestamp(iso8601: expires) == nil {
      throw ValidationError("--expires takes an ISO 8601 date, such as 2027-01-31")
    }
    KeyDescriptors.close(onExecIfOf: signing)
  }

  func run() throws {
    try InputFile.requirePath(signing, of: "key file")
    let key = try SigningKey(contentsOf: URL(filePath: signing))
    let following = try next.map { try Publisher($0, of: "--next") }
    let store = try options.open(readOnly: false)
    let bar = Progress("verify", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let release = try Interrupt.deferring {
      try store.makeRelease(signedBy: key, expires: expires.flatMap { Timestamp(iso8601: $0) }, next: following) {
        bar.update($0)
        try Interrupt.check()
      }
    }
    bar.finish()
    try store.close()
    try Report([("path", .string(options.store.path))] + release.facts).print(as: options.common.listFormat)
  }
}

extension Release {
  var facts: [(String, JSONValue?)] {
    [
      ("number", .integer(number)), ("time", .string(time.description)),
      ("expires", expires.map { .string($0.description) }), ("documents", .integer(documents)),
      ("collections", .integer(collections)), ("next_publisher", next.map { .string($0.line) }),
    ]
  }
}
