internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// The options for public recipients that get a slot.
struct RecipientOptions: ParsableArguments {
  /// The option that reads recipients.
  static let fileOption = "--recipients-file"

  @Option(
    name: [.customShort("r"), .customLong("recipient")],
    help: ArgumentHelp("Add a slot for this public recipient (repeatable).", valueName: "r"))
  var recipients: [String] = []

  @Option(
    name: [.customShort("R"), .customLong("recipients-file")],
    help: ArgumentHelp("Add a slot for each public recipient in a file, one per line (repeatable).", valueName: "file"),
    completion: .file())
  var files: [String] = []

  func validate() throws {
    try Recipient.requirePublic(recipients)
  }

  var isEmpty: Bool { recipients.isEmpty && files.isEmpty }

  /// Returns the recipients from the command line and its files.
  func given() throws -> [Recipient] {
    try recipients.map { try Recipient($0) } + files.flatMap { try Recipient.inFile($0) }
  }
}

/// The properties of a new store.
struct CreationOptions: ParsableArguments {
  enum Titles: String, CaseIterable, ExpressibleByArgument {
    case sealed, clear, none

    var mode: CreateOptions.Titles {
      switch self {
      case .sealed: .sealed
      case .clear: .clear
      case .none: .none
      }
    }
  }

  @Option(parsing: .unconditional, help: ArgumentHelp("A name for the slot, where one is made.", valueName: "text"))
  var label: String?

  @Option(
    help: ArgumentHelp(
      "How to store titles: sealed, clear (readable by anyone who has the file) or none.", valueName: "mode"))
  var titles: Titles?

  @Flag(help: "Don't round sizes up. The file is smaller, but shows exact sizes.")
  var noPadding = false

  @Flag(help: "Use a write-ahead log, so others can read during a write.")
  var wal = false

  @Flag(help: "Create a TEST store, which opens fast and is only for test keys, never for real data.")
  var test = false

  /// - Parameter standard: The properties that options don't change.
  func creation(_ standard: CreateOptions = CreateOptions(), slots: Int) throws -> CreateOptions {
    if label != nil, slots > 1 {
      throw Failure.usage("--label names one slot, and \(slots) are to be made")
    }
    var creation = standard
    if let titles { creation.titles = titles.mode }
    if noPadding { creation.isPadded = false }
    if wal { creation.journal = .writeAheadLog }
    creation.isTest = test
    creation.labels = label.map { [$0] } ?? []
    return creation
  }
}

/// The keys and recipients of a store to create.
struct GivenSlots {
  let keys: [StoreKey]
  let recipients: [Recipient]

  var count: Int { keys.count + recipients.count }

  /// Erases the entered secrets after the slots are created.
  func forget() {
    for key in keys { key.forget() }
  }
}

extension StoreOptions {
  /// Creates the store. The file gets its name after `use` writes to the store.
  ///
  /// - Parameter properties: The store's properties, or `nil` for the defaults.
  func create<R>(
    for recipients: RecipientOptions, _ properties: CreationOptions? = nil, use: (DocumentStore) throws -> R
  ) throws -> R {
    let slots = try newSlots(recipients)
    return try DocumentStore.create(
      at: store.url, keys: slots.keys, recipients: slots.recipients,
      creation: try properties?.creation(slots: slots.count) ?? CreateOptions(), options: try openOptions(false),
      begin: {
        slots.forget()
        try Interrupt.check()
      }
    ) { store in
      warnIfTest(store)
      return try use(store)
    }
  }

  /// Returns a slot for each key and recipient. Doesn't ask for a passphrase if recipients are given.
  private func newSlots(_ recipients: RecipientOptions) throws -> GivenSlots {
    var given = keys.inOrder
    if given.isEmpty, recipients.isEmpty { given = [Environment.key ?? .passphrase] }
    let keys = try given.map {
      try $0.newKey(for: store.path, policy: policy, recipients: RecipientOptions.fileOption)
    }
    return GivenSlots(keys: keys, recipients: try recipients.given())
  }
}

/// The keys and properties of a store that a verb creates from another store.
struct NewStoreOptions: ParsableArguments {
  @OptionGroup(title: "The new store") var recipients: RecipientOptions
  @OptionGroup(title: "The new store") var keys: KeyOptions<NewFamily>
  @OptionGroup(title: "The new store") var creation: CreationOptions

  var namesKeys: Bool { !keys.isEmpty || !recipients.isEmpty }

  func newSlots(for path: String, policy: KeyPolicy) throws -> GivenSlots {
    try keys.newSlots(recipients, for: path, policy: policy)
  }
}

extension KeyOptions where Family == NewFamily {
  /// Returns a slot for each key and recipient, or otherwise asks twice for a passphrase. Environment variables name
  /// only the source store's key.
  func newSlots(_ recipients: RecipientOptions, for path: String, policy: KeyPolicy) throws -> GivenSlots {
    let given = isEmpty && recipients.isEmpty ? [.passphrase] : inOrder
    let keys = try given.map {
      try $0.newKey(for: path, policy: policy, prefix: NewFamily.prefix, recipients: RecipientOptions.fileOption)
    }
    return GivenSlots(keys: keys, recipients: try recipients.given())
  }
}
