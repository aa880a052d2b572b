internal import ArgumentParser
internal import Coffer

/// `create STORE`: a new store, with one slot per key or recipient.
struct CreateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make an empty store.",
    discussion: """
      Every key or recipient given becomes a slot, and any slot opens the whole store. Prints the store's id and its \
      pin: a person who gets the store from you can check with --pin PIN that it is this one.

        dbtool create texts.coffer --key-file my.key
        dbtool create texts.coffer --passphrase --recipient coffer-recipient-1-…
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var recipients: RecipientOptions
  @OptionGroup var creation: CreationOptions

  func validate() throws {
    if options.store.access.expect != nil {
      throw ValidationError("--pin names a store that already exists, and 'create' makes a new one")
    }
  }

  func run() throws {
    let report = try options.create(for: recipients, creation) { store in
      Report([("store_id", .string(store.storeID)), ("pin", .string(store.pin.description))])
    }
    try report.print(as: options.common.listFormat)
  }
}
