internal import ArgumentParser

/// What stands before the names of a family of key options.
protocol KeyFamily {
  static var prefix: String { get }
  /// What these keys are for, in help texts.
  static var purpose: String { get }
}

/// The key that opens a store, or that a store is made for.
enum StoreFamily: KeyFamily {
  static let prefix = ""
  static let purpose = "Key"
}

/// The key that takes another's place: `--new-…`.
enum NewFamily: KeyFamily {
  static let prefix = "new-"
  static let purpose = "New key"
}

/// One family of key options; the same in every verb.
///
/// No option takes a secret: a command line is seen by every process of the machine and kept by shells.
struct KeyOptions<Family: KeyFamily>: ParsableArguments {
  @Option(
    name: .customLong("\(Family.prefix)key-file"),
    help: ArgumentHelp("\(Family.purpose) from a key file.", valueName: "path"))
  var keyFiles: [String] = []

  @Option(
    name: .customLong("\(Family.prefix)identity"),
    help: ArgumentHelp("\(Family.purpose) from an identity file (X25519).", valueName: "path"))
  var identities: [String] = []

  @Flag(name: .customLong("\(Family.prefix)passphrase"), help: "\(Family.purpose) by a passphrase, asked for.")
  var passphrase = false

  @Option(
    name: .customLong("\(Family.prefix)passphrase-file"),
    help: ArgumentHelp("\(Family.purpose) by the passphrase that a file holds.", valueName: "path"))
  var passphraseFiles: [String] = []

  @Option(
    name: .customLong("\(Family.prefix)key-fd"),
    help: ArgumentHelp("\(Family.purpose) read from a descriptor.", valueName: "n"))
  var descriptors: [Int32] = []

  @Option(
    name: .customLong("\(Family.prefix)key-command"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("\(Family.purpose) printed by a command (/bin/sh -c).", valueName: "cmd"))
  var commands: [String] = []

  @Option(
    name: .customLong("\(Family.prefix)provider"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("\(Family.purpose) kept elsewhere: blob in, 64 hex digits out.", valueName: "name=cmd"))
  var providers: [String] = []

  func validate() throws {
    for path in keyFiles + identities + passphraseFiles where path.hasPrefix("coffer-") && path.contains("-1-") {
      // Whoever typed this gave the key itself: it is not repeated.
      throw ValidationError("a key option takes the path of a file, not the key")
    }
    for provider in providers {
      guard let separator = provider.firstIndex(of: "="), separator != provider.startIndex else {
        throw ValidationError("--\(Family.prefix)provider takes NAME=CMD")
      }
    }
    if descriptors.contains(where: { $0 < 0 }) {
      throw ValidationError("--\(Family.prefix)key-fd takes the number of an open descriptor")
    }
  }
}

extension KeyOptions {
  var isEmpty: Bool { inOrder.isEmpty }

  /// The keys that were given, in the order of the command line.
  var inOrder: [KeyArgument] {
    var queues: [String: [KeyArgument]] = [
      "key-file": keyFiles.map { .keyFile($0) },
      "identity": identities.map { .identity($0) },
      "passphrase": passphrase ? [.passphrase] : [],
      "passphrase-file": passphraseFiles.map { .passphraseFile($0) },
      "key-fd": descriptors.map { .descriptor($0) },
      "key-command": commands.map { .command($0, option: "--\(Family.prefix)key-command") },
      "provider": providers.map { text in
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return .provider(name: String(parts[0]), command: String(parts[1]))
      },
    ]
    // The parser tells which values an option had, not how the options were mixed: the words themselves do.
    var ordered: [KeyArgument] = []
    for word in CommandLine.arguments.dropFirst().prefix(while: { $0 != "--" }) {
      guard word.hasPrefix("--\(Family.prefix)") else { continue }
      let name = String(word.dropFirst(2 + Family.prefix.count).prefix { $0 != "=" })
      guard let next = queues[name]?.first else { continue }
      queues[name]?.removeFirst()
      ordered.append(next)
    }
    return ordered
  }
}

/// What `--recipient` takes.
enum Recipient {
  /// Refuses a secret that was typed in its place, without repeating it.
  static func requirePublic(_ recipients: [String]) throws {
    let secrets = ["coffer-key-", "coffer-test-key-", "coffer-identity-", "coffer-test-identity-"]
    if recipients.contains(where: { text in secrets.contains { text.hasPrefix($0) } }) {
      throw ValidationError(
        "--recipient takes a public recipient, not a secret: what was typed may be in a history, so make a new one")
    }
  }
}

/// One key as the command line or the environment names it.
enum KeyArgument {
  case keyFile(String)
  case identity(String)
  case passphrase
  case passphraseFile(String)
  case descriptor(Int32)
  case command(String, option: String)
  case provider(name: String, command: String)
}
