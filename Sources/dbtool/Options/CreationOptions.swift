internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// Options for creating a store: `create`, and `import --create`.
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

  /// The option that reads recipients.
  static let fileOption = "--recipients-file"

  @Option(
    name: [.customShort("r"), .customLong("recipient")],
    help: ArgumentHelp("A slot for this public recipient (repeatable).", valueName: "coffer-recipient-1-…"))
  var recipients: [String] = []

  @Option(
    name: [.customShort("R"), .customLong("recipients-file")],
    help: ArgumentHelp("A slot for each public recipient in a file, a line each (repeatable).", valueName: "path"))
  var recipientFiles: [String] = []

  @Option(parsing: .unconditional, help: ArgumentHelp("A name for the slot, where one is made.", valueName: "text"))
  var label: String?

  @Option(help: ArgumentHelp("How titles are kept.", valueName: "mode"))
  var titles: Titles?

  @Flag(help: "Do not round sizes up: exact sizes show in the file, which is smaller.")
  var noPadding = false

  @Flag(help: "Write a log ahead of the file: others can read while one writes.")
  var wal = false

  @Flag(help: "A TEST store: fast to open, for test keys only, never for real data.")
  var test = false

  func validate() throws {
    try Recipient.requirePublic(recipients)
  }

  /// True if any option is given that applies only to creating a store.
  var isUsed: Bool {
    namesRecipients || label != nil || titles != nil || noPadding || wal || test
  }

  var namesRecipients: Bool { !recipients.isEmpty || !recipientFiles.isEmpty }

  /// The recipients of the command line and of its files.
  func givenRecipients() throws -> [Recipient] {
    try recipients.map { try Recipient($0) } + recipientFiles.flatMap { try Recipient.inFile($0) }
  }

  /// Creates the store that `options` name; the file gets its name after `use` has written into it.
  func create<R>(_ options: StoreOptions, use: (DocumentStore) throws -> R) throws -> R {
    let slots = try newSlots(options)
    return try DocumentStore.create(
      at: options.store.url, keys: slots.keys, recipients: slots.recipients,
      creation: try creation(slots: slots.count), options: options.openOptions(false), begin: { try Interrupt.check() }
    ) { store in
      options.warnIfTest(store)
      return try use(store)
    }
  }

  /// The properties of the new store.
  ///
  /// - Parameter standard: the defaults for options that are not given.
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

  /// One slot for each key and recipient; with recipients alone no passphrase is asked for.
  private func newSlots(_ options: StoreOptions) throws -> GivenSlots {
    var given = options.keys.inOrder
    if given.isEmpty, !namesRecipients {
      given = [Environment.key ?? .passphrase]
    }
    let keys = try given.map {
      try $0.newKey(for: options.store.path, policy: options.policy, recipients: Self.fileOption)
    }
    return GivenSlots(keys: keys, recipients: try givenRecipients())
  }
}

/// The keys and recipients of a store to create.
struct GivenSlots {
  let keys: [StoreKey]
  let recipients: [Recipient]

  var count: Int { keys.count + recipients.count }
}

/// Keys and properties of a store that a verb creates from another one.
struct NewStoreOptions: ParsableArguments {
  @OptionGroup(title: "Keys of the new store") var keys: KeyOptions<NewFamily>
  @OptionGroup(title: "The new store") var creation: CreationOptions

  var isUsed: Bool { !keys.isEmpty || creation.isUsed }

  /// One slot for each key and recipient; with neither, a passphrase, asked for twice. Environment variables name only
  /// the key of the store that is read.
  func newSlots(for path: String, policy: KeyPolicy) throws -> GivenSlots {
    var given = keys.inOrder
    if given.isEmpty, !creation.namesRecipients { given = [.passphrase] }
    let keys = try given.map {
      try $0.newKey(for: path, policy: policy, prefix: NewFamily.prefix, recipients: CreationOptions.fileOption)
    }
    return GivenSlots(keys: keys, recipients: try creation.givenRecipients())
  }
}
