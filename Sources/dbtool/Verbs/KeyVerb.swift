internal import ArgumentParser
internal import Coffer

/// `key list|add|remove|passwd STORE`: the slots that open a store.
struct KeyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "List, add, remove or replace the keys that open a store.",
    discussion: """
      Each slot wraps the store's root key for one secret: changing slots is instant and touches no document. That is \
      not revocation: a former key holder may have an old copy, which the old secret opens for ever, or the root key \
      itself. After a key was exposed, 'rekey'.
      """,
    subcommands: [KeyListVerb.self, KeyAddVerb.self, KeyRemoveVerb.self, KeyPasswdVerb.self])
}

struct KeyListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the slots: number, kind, label, fingerprint.",
    discussion: """
      Fingerprints tell key files and recipients apart; a label is text that the maker of the slot chose. The slot \
      that opened the store is marked. Without a key, 'info' lists slots as the file has them, unproved.

        dbtool key list texts.coffer --key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  func run() throws {
    let store = try options.open(readOnly: true)
    let slots = try store.keys.list()
    try store.close()
    var table = TableWriter(
      columns: [
        .init(name: "slot", isNumber: true), .init(name: "kind", isNumber: false),
        .init(name: "label", isNumber: false), .init(name: "detail", isNumber: false),
        .init(name: "fingerprint", isNumber: false, isFirm: true), .init(name: "opened", isNumber: false),
      ],
      format: options.common.listFormat)
    for slot in slots {
      try table.add(slot.facts(withOpening: true).map(\.1))
    }
    try table.finish()
  }
}

struct KeyAddVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add a slot: another key, passphrase or recipient that opens the store.",
    discussion: """
      Prints the number of the new slot. A key file, passphrase or recipient that has a slot already is refused; to \
      tell that of a passphrase, each slot of that kind is tried (0.4 s).

        dbtool key add texts.coffer --key-file my.key --new-passphrase
        dbtool key add texts.coffer --label "customer 42" --recipient coffer-…
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "New key") var newKey: NewKeyOptions

  @OptionGroup(title: "New key") var recipients: RecipientOptions

  func validate() throws {
    if recipients.recipients.count + recipients.files.count + newKey.keys.inOrder.count > 1 {
      throw ValidationError("one new key at a time")
    }
  }

  func run() throws {
    let given = try recipients.given()
    guard given.count <= 1 else {
      throw Failure.usage(
        "\(recipients.files[0]) has \(given.count) recipients, and key add makes one slot",
        hint: "use --recipient with one line at a time")
    }
    let store = try options.open(readOnly: false)
    let label = newKey.label ?? ""
    let slot =
      if let recipient = given.first {
        try store.keys.add(recipient, label: label)
      } else {
        try newKey.withKey(for: options, recipients: RecipientOptions.fileOption) {
          try store.keys.add($0, label: label)
        }
      }
    try store.close()
    try options.common.printSlot(slot: slot)
  }
}

struct KeyRemoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a slot. The last one can't be removed.",
    discussion: """
      From then on its secret does not open this file. A former key holder may still have an older copy, or the root \
      key: only 'rekey' makes that root key useless for what is in the file.

        dbtool key remove texts.coffer 2 --key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "The slot's number, as 'key list' shows it.")
  var slot: Int

  func run() throws {
    let store = try options.open(readOnly: false)
    let isOwn = try store.keys.list().contains { $0.slot == slot && $0.opened }
    try store.keys.remove(slot: slot)
    try store.close()
    if isOwn { options.common.diagnostics.warning("slot \(slot) opened the store just now: its key no longer does") }
    guard !options.common.isMachineReadable else { return }
    options.common.diagnostics.note(
      "removing a slot is not revocation: until 'rekey', an older copy or the root key may be with a former holder")
  }
}

struct KeyPasswdVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "passwd",
    abstract: "Replace the key of a slot by a new one.",
    discussion: """
      The new secret is shown to open the store before the old slot goes. Without SLOT, replaces the slot that opened the store.

        dbtool key passwd texts.coffer --passphrase
        dbtool key passwd texts.coffer --key-file old.key --new-key-file new.key
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "New key") var newKey: NewKeyOptions

  @Argument(help: "The number of the slot to replace (default: the one that opened).")
  var slot: Int?

  func run() throws {
    let store = try options.open(readOnly: false)
    let made = try newKey.withKey(for: options, recipients: nil) {
      try store.keys.replace(slot: slot, with: $0, label: newKey.label)
    }
    try store.close()
    try options.common.printSlot(slot: made)
  }
}

extension CommonOptions {
  /// The number of a slot that was made.
  fileprivate func printSlot(slot: Int) throws {
    if isMachineReadable {
      try Report([("slot", .integer(slot))]).print(as: listFormat)
    } else {
      try printLines(String(slot))
    }
  }
}

/// The new key: `--new-…`.
struct NewKeyOptions: ParsableArguments {
  @OptionGroup var keys: KeyOptions<NewFamily>

  @Option(parsing: .unconditional, help: ArgumentHelp("A name for the slot.", valueName: "text"))
  var label: String?

  func validate() throws {
    if keys.inOrder.count > 1 { throw ValidationError("one new key at a time") }
  }

  /// Makes a slot for the key, and then erases its secret. The default is a passphrase, asked for twice on the terminal.
  ///
  /// - Parameter recipients: the verb's option that makes a slot for a recipient, if it has one.
  func withKey<R>(for options: StoreOptions, recipients: String?, _ body: (StoreKey) throws -> R) throws -> R {
    let key = try (keys.inOrder.first ?? .passphrase).newKey(
      for: options.store.path, policy: options.policy, prefix: NewFamily.prefix, recipients: recipients)
    defer { key.forget() }
    return try body(key)
  }
}

extension KeySlot {
  /// The slot's kind as the command names it.
  var kindName: String {
    switch kind {
    case .passphrase: "passphrase"
    case .keyFile: "key-file"
    case .recipient: "recipient"
    case .external(let provider): provider.isEmpty ? "provider" : "provider \(provider)"
    case .unknown: "unknown"
    }
  }

  func facts(withOpening: Bool) -> [(String, JSONValue?)] {
    var facts: [(String, JSONValue?)] = [
      ("slot", .integer(slot)), ("kind", .string(kindName)), ("label", .string(label)), ("detail", .string(detail)),
      ("fingerprint", fingerprint.map { .string($0) }),
    ]
    if withOpening {
      facts.append(("opened", .bool(opened)))
    }
    return facts
  }
}

extension [KeySlot] {
  /// The slots for programs, or `nil` if there are none.
  var facts: JSONValue? {
    isEmpty ? nil : .array(map { .object(present: $0.facts(withOpening: false)) })
  }
}
