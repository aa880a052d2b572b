internal import ArgumentParser
internal import Coffer
internal import CofferReplication

/// `replica promote STORE`: makes a restored copy the writable store.
struct ReplicaPromoteVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "promote",
    abstract: "Make a restored copy the writable store, with a new pin.",
    discussion: """
      Verifies the copy and its anchor, and then changes the pin in one commit, without re-encrypting documents or \
      changing keys. Earlier files of the store, including the file on the replaced machine, no longer have the pin. \
      Start each writer and each replication only after 'info --pin PIN'. Fence the old machine first, and promote \
      only one copy.

      'base' is the anchor of the restored state. 'replica tail OLD --since BASE' prints the additional changes in an \
      old file.

        dbtool replica promote restored.coffer --anchor confirmed.anchor --key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  @Flag(help: "Verify only the set and SQLite's integrity, without opening documents.")
  var quick = false

  @OptionGroup var anchor: AnchorOptions

  @Flag(help: "Accept the copy without a confirmed anchor.")
  var noAnchor = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    guard (anchor.anchor == nil) == noAnchor else {
      throw ValidationError("give the last confirmed anchor with --anchor, or --no-anchor if there is none")
    }
  }

  func run() throws {
    let confirmed = try anchor.given()
    let store = try options.open(readOnly: false)
    let bar = Progress("promote", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let promotion = try Interrupt.deferring {
      try store.promote(
        anchor: confirmed, requiring: anchor.requirement, allowingRekey: anchor.allowRekey,
        verifying: quick ? .quick : .full
      ) { step in
        bar.update(step)
        try Interrupt.check()
      }
    }
    bar.finish()
    try store.close()
    try Report([
      ("documents", .integer(promotion.documents)), ("confirmed", promotion.relation.map { .string($0.words) }),
      ("base", .string(promotion.base.description)), ("pin", .string(promotion.pin.description)),
      ("anchor", .string(promotion.anchor.description)),
    ]).print(as: options.common.listFormat)
    options.common.diagnostics.note(
      "\(options.store.path) is promoted: publish its pin and anchor, and replicate it to a new path only")
  }
}
