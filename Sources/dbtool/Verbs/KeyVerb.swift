internal import ArgumentParser
internal import Coffer

/// `key list|add|remove|passwd STORE`: manages the slots that open a store.
struct KeyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "List, add, remove or replace the keys that open a store.",
    discussion: """
      Each slot wraps the store's root key for one secret, so changing slots is instant and doesn't touch documents. \
      This isn't revocation, because a former key holder may have the root key, or an old copy, which the old secret \
      always opens. If a key was exposed, use 'rekey'.
      """,
    subcommands: [KeyListVerb.self, KeyAddVerb.self, KeyRemoveVerb.self, KeyPasswdVerb.self])
}

struct KeyListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List slots: number, kind, label, fingerprint.",
    discussion: """
      Fingerprints distinguish key files and recipients. A label is text that the slot's creator chose. The slot that \
      opened the store is marked. Without a key, 'info' lists the file's slots unproved.

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
    abstract: "Add a slot with another key, passphrase or recipient.",
    discussion: """
      Prints the number of the new slot. A key file, passphrase or recipient that already has a slot is refused. For a \
      passphrase, this check tries each passphrase slot (0.4 s).

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
    abstract: "Remove a slot. The last slot can't be removed.",
    discussion: """
      The slot's secret no longer opens this file. A former key holder may still have an older copy, or the root key. \
      Only 'rekey' makes that root key useless for the contents of the file.

        dbtool key remove texts.coffer 2 --key-file my.key
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "The slot's number from 'key list'.")
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
    abstract: "Replace a slot's key.",
    discussion: """
      Verifies that the new secret opens the store before removing the old slot. Without SLOT, replaces the slot that \
      opened the store.

        dbtool key passwd texts.coffer --passphrase
        dbtool key passwd texts.coffer --key-file old.key --new-key-file new.key
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "New key") var newKey: NewKeyOptions

  @Argument(help: "The number of the slot to replace (default: the slot that opened the store).")
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
  /// Prints the number of a new slot.
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

  /// Passes the new key to a closure, and then erases its secret. Without an option, asks twice for a passphrase.
  ///
  /// - Parameter recipients: The verb's option for recipient slots, or `nil` if the verb doesn't have one.
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
  /// The slots as JSON, or `nil` if the array is empty.
  var facts: JSONValue? {
    isEmpty ? nil : .array(map { .object(present: $0.facts(withOpening: false)) })
  }
}
