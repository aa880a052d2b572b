internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// Public recipients that get a slot.
struct RecipientOptions: ParsableArguments {
  /// The option that reads recipients.
  static let fileOption = "--recipients-file"

  @Option(
    name: [.customShort("r"), .customLong("recipient")],
    help: ArgumentHelp("A slot for this public recipient (repeatable).", valueName: "r"))
  var recipients: [String] = []

  @Option(
    name: [.customShort("R"), .customLong("recipients-file")],
    help: ArgumentHelp("A slot for each public recipient in a file, a line each (repeatable).", valueName: "file"),
    completion: .file())
  var files: [String] = []

  func validate() throws {
    try Recipient.requirePublic(recipients)
  }

  var isEmpty: Bool { recipients.isEmpty && files.isEmpty }

  /// The recipients of the command line and of its files.
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
      "How titles are kept: sealed, clear (anyone who has the file can read them) or none.", valueName: "mode"))
  var titles: Titles?

  @Flag(help: "Do not round sizes up: exact sizes show in the file, which is smaller.")
  var noPadding = false

  @Flag(help: "Write a log ahead of the file: others can read while one writes.")
  var wal = false

  @Flag(help: "A TEST store: fast to open, for test keys only, never for real data.")
  var test = false

  /// - Parameter standard: the properties that no option names.
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

  /// Erases the secrets that were asked for, once the slots are made.
  func forget() {
    for key in keys { key.forget() }
  }
}

extension StoreOptions {
  /// Creates the store; the file gets its name after `use` has written into it.
  ///
  /// - Parameter properties: nil for those of a usual store.
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

  /// One slot for each key and recipient; with recipients alone no passphrase is asked for.
  private func newSlots(_ recipients: RecipientOptions) throws -> GivenSlots {
    var given = keys.inOrder
    if given.isEmpty, recipients.isEmpty { given = [Environment.key ?? .passphrase] }
    let keys = try given.map {
      try $0.newKey(for: store.path, policy: policy, recipients: RecipientOptions.fileOption)
    }
    return GivenSlots(keys: keys, recipients: try recipients.given())
  }
}

/// Keys and properties of a store that a verb creates from another one.
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
  /// One slot for each key and recipient; with neither, a passphrase, asked for twice. Environment variables name only
  /// the key of the store that is read.
  func newSlots(_ recipients: RecipientOptions, for path: String, policy: KeyPolicy) throws -> GivenSlots {
    let given = isEmpty && recipients.isEmpty ? [.passphrase] : inOrder
    let keys = try given.map {
      try $0.newKey(for: path, policy: policy, prefix: NewFamily.prefix, recipients: RecipientOptions.fileOption)
    }
    return GivenSlots(keys: keys, recipients: try recipients.given())
  }
}
