internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferSealing

/// A family of key options with the same prefix.
protocol KeyFamily {
  static var prefix: String { get }
  /// The key's name in help texts, and an addition to the help text for its key file option.
  static var purpose: (key: String, addition: String) { get }
}

extension KeyFamily {
  /// Returns the option's name, and its letter if the family doesn't have a prefix.
  static func names(_ name: String, _ letter: Character) -> NameSpecification {
    prefix.isEmpty ? [.customShort(letter), .customLong(name)] : [.customLong(prefix + name)]
  }

  /// Returns the option for a letter.
  static func option(_ letter: Character) -> String? {
    prefix.isEmpty ? ["k": "key-file", "p": "passphrase"][letter] : nil
  }
}

/// The options for an existing or new store's key.
enum StoreFamily: KeyFamily {
  static let prefix = ""
  static let purpose = (key: "", addition: "; or set DBTOOL_KEY_FILE")
}

/// The options for a new key, such as `--new-key-file`.
enum NewFamily: KeyFamily {
  static let prefix = "new-"
  static let purpose = (key: "new ", addition: "")
}

/// The key options of a family, which are the same in every verb.
///
/// Options don't take secrets, because every process on the machine can read command lines, and shells save them.
struct KeyOptions<Family: KeyFamily>: ParsableArguments {
  @Option(
    name: Family.names("key-file", "k"),
    help: ArgumentHelp(
      "The \(Family.purpose.key)key file or identity file\(Family.purpose.addition).", valueName: "file"),
    completion: .file())
  var keyFiles: [String] = []

  @Flag(
    name: Family.names("passphrase", "p"),
    help: "Ask for a \(Family.purpose.key)passphrase.")
  var passphrase = false

  @Option(
    name: .customLong("\(Family.prefix)passphrase-file"),
    help: ArgumentHelp("A file with the \(Family.purpose.key)passphrase.", valueName: "file"), completion: .file()
  )
  var passphraseFiles: [String] = []

  @Option(
    name: .customLong("\(Family.prefix)key-command"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A command that prints the \(Family.purpose.key)key (/bin/sh -c).", valueName: "cmd"))
  var commands: [String] = []

  @Option(
    name: .customLong("\(Family.prefix)provider"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A program for the \(Family.purpose.key)key, which reads the slot's blob and prints 64 hex digits.",
      valueName: "NAME=CMD",
      visibility: .hidden))
  var providers: [String] = []

  func validate() throws {
    for path in keyFiles + passphraseFiles where path.hasPrefix("coffer-") && path.contains("-1-") {
      // The message must not repeat the argument, because the argument is the key itself.
      throw ValidationError("a key option takes the path of a file, not the key")
    }
    for provider in providers {
      guard let separator = provider.firstIndex(of: "="), separator != provider.startIndex else {
        throw ValidationError("--\(Family.prefix)provider takes NAME=CMD")
      }
    }
    // Close descriptors before any command runs, because a verb can run one key's command before it reads the next key.
    for path in keyFiles + passphraseFiles { KeyDescriptors.close(onExecIfOf: path) }
  }
}

extension KeyOptions {
  var isEmpty: Bool { inOrder.isEmpty }

  /// The keys, in the order of the command line.
  var inOrder: [KeyArgument] {
    var queues: [String: [KeyArgument]] = [
      "key-file": keyFiles.map { .keyFile($0) },
      "passphrase": passphrase ? [.passphrase] : [],
      "passphrase-file": passphraseFiles.map { .passphraseFile($0) },
      "key-command": commands.map { .command($0, option: "--\(Family.prefix)key-command") },
      "provider": providers.map { text in
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return .provider(name: String(parts[0]), command: String(parts[1]))
      },
    ]
    // Read the order of different options from the arguments, because the parser reports only each option's values.
    var ordered: [KeyArgument] = []
    for word in CommandLine.arguments.dropFirst().prefix(while: { $0 != "--" }) {
      let names =
        word.hasPrefix("--\(Family.prefix)")
        ? [String(word.dropFirst(2 + Family.prefix.count).prefix { $0 != "=" })]
        : word.hasPrefix("-") && !word.hasPrefix("--") ? word.dropFirst().compactMap(Family.option) : []
      for name in names {
        guard let next = queues[name]?.first else { continue }
        queues[name]?.removeFirst()
        ordered.append(next)
      }
    }
    return ordered
  }
}

extension Recipient {
  /// Reads the file of `--recipients-file`, with one recipient per line. Skips empty lines and lines that start with #.
  static func inFile(_ path: String) throws -> [Recipient] {
    let bytes = try InputFile.contents(of: path, limit: 1 << 20)
    if let fault = bytes.withUnsafeBytes({ SecretForm(of: Secret(copying: $0)) }).encoding.fault {
      throw Failure(
        .failed, kind: "not-recipients", "\(path) \(fault)", hint: "save it as UTF-8 without a byte order mark")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(.failed, kind: "not-recipients", "\(path) is not UTF-8, as a list of recipients is")
    }
    var recipients: [Recipient] = []
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let word =
        line.trimmingPrefix { $0.isWhitespace }.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
      guard !word.isEmpty, !word.hasPrefix("#") else { continue }
      let place = "\(path), line \(number + 1)"
      // Don't repeat the line, because it may be a secret.
      guard word.hasPrefix("coffer-recipient-1-") || word.hasPrefix("coffer-test-recipient-1-") else {
        switch SecretForm(of: Secret(typed: String(line))).line {
        case .recipient:
          throw Failure.usage(
            "\(place) holds a recipient, but not alone", hint: "remove quotes and other text around it")
        case let form?:
          throw Failure.usage(
            "\(place) holds \(form.name), not a recipient", hint: "'dbtool keygen -y' prints the one of an identity")
        case nil:
          throw Failure.usage("\(place) is no recipient", hint: "'dbtool keygen -y' prints the one of an identity")
        }
      }
      recipients.append(try Recipient(word))
    }
    guard !recipients.isEmpty else { throw Failure.usage("\(path) has no recipient") }
    return recipients
  }

  /// Rejects secrets and file paths given by mistake, without repeating a secret.
  static func requirePublic(_ recipients: [String], option: String = "--recipient") throws {
    let secrets = ["coffer-key-", "coffer-test-key-", "coffer-identity-", "coffer-test-identity-"]
    if recipients.contains(where: { text in secrets.contains { text.hasPrefix($0) } }) {
      throw ValidationError(
        "\(option) takes a public recipient, not a secret: the shell's history may hold it, so make a new one")
    }
    if option == "--recipient",
      let file = recipients.first(where: { !$0.hasPrefix("coffer-") && InputFile.exists($0) })
    {
      throw ValidationError("--recipient takes the line, not a file: use --recipients-file \(Shell.quoted(path: file))")
    }
  }
}

/// A key from the command line or the environment.
enum KeyArgument {
  case keyFile(String)
  case passphrase
  case passphraseFile(String)
  case command(String, option: String)
  case provider(name: String, command: String)
}

extension KeyArgument {
  /// A description of the key, and the option for a new key of the same kind.
  var words: (key: String, newOption: String) {
    switch self {
    case .keyFile(let path): (path, "--new-key-file")
    case .passphrase: ("the same passphrase", "--new-passphrase")
    case .passphraseFile(let path): ("the passphrase in \(path)", "--new-passphrase-file")
    case .command(_, let option): ("the key that \(option) prints", "--new-key-command")
    case .provider(let name, _): ("provider \(name)", "--new-provider")
    }
  }

  /// A description of the key's source, for messages.
  var source: String {
    switch self {
    case .keyFile(let path): "the key from \(path)"
    case .passphrase: "this passphrase"
    default: words.key
    }
  }

  /// Returns whether the key may be of the slot's kind, as far as this can be determined without reading the key.
  func mayOpen(_ slot: KeySlot) -> Bool {
    switch (self, slot.kind) {
    case (.keyFile, .keyFile), (.keyFile, .recipient): true
    case (.passphrase, .passphrase), (.passphraseFile, .passphrase): true
    case (.command, .keyFile), (.command, .recipient), (.command, .passphrase): true
    case (.provider(let name, _), .external(let provider)): name == provider
    default: false
    }
  }
}

/// Environment variables that are used instead of key options. They contain paths and commands, but never secrets.
enum Environment {
  /// The key from the first nonempty variable. If this key fails, the following variables aren't tried.
  static var key: KeyArgument? {
    if let path = variable("DBTOOL_KEY_FILE") { return .keyFile(path) }
    if let path = variable("DBTOOL_PASSPHRASE_FILE") { return .passphraseFile(path) }
    if let command = variable("DBTOOL_KEY_COMMAND") { return .command(command, option: "DBTOOL_KEY_COMMAND") }
    return nil
  }

  static var allowsTestKeys: Bool { variable("DBTOOL_ALLOW_TEST_KEYS") == "1" }

  /// Returns a variable's value, or `nil` if the variable is unset or empty.
  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }
}
