internal import ArgumentParser
internal import Coffer

/// `create STORE`: creates a store with one slot per key or recipient.
struct CreateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Create an empty store.",
    discussion: """
      Each given key or recipient becomes a slot, and any slot opens the whole store. Prints the store's id and pin. A \
      person who gets the store from you can check its identity with --pin PIN.

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
