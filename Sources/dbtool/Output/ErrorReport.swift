internal import ArgumentParser

/// Errors as the contract words them: `dbtool: error: …`, at most one `hint: …`, and under `--json` an object as the
/// last line.
struct ErrorReport {
  private let arguments: [String]
  private let isJSON: Bool

  init(arguments: [String]) {
    self.arguments = arguments
    let options = arguments.prefix { $0 != "--" }
    isJSON =
      options.contains("--json") || options.contains("--format=json") || options.contains("--format=ndjson")
      || zip(options, options.dropFirst()).contains { $0 == "--format" && ($1 == "json" || $1 == "ndjson") }
  }

  func tell(_ failure: Failure) -> ExitStatus {
    Talk.say("dbtool: error: \(failure.message)")
    if let hint = failure.hint {
      Talk.say("hint: \(hint)")
    }
    if isJSON {
      let details = JSONValue.object(present: [
        ("code", .integer(Int64(failure.status.rawValue))), ("kind", .string(failure.kind)),
        ("message", .string(failure.message)),
      ])
      Talk.say(JSONValue.object([("error", details)]).serialized)
    }
    return failure.status
  }

  /// What the parser threw: help and version are data on standard output, everything else is a usage error.
  func tell(parsing error: any Error) -> ExitStatus {
    let message = Dbtool.message(for: error)
    guard Dbtool.exitCode(for: error) != .success else {
      do {
        try printLines(message)
        return .done
      } catch {
        return tell(Failure(error))
      }
    }
    let words = withoutMisplacedSecrets(message)
    return tell(.usage(words.prefix(1).lowercased() + words.dropFirst(), hint: "see 'dbtool \(verb)--help'"))
  }

  /// A passphrase given where none belongs (`--passphrase hunter2`) is not repeated.
  private func withoutMisplacedSecrets(_ message: String) -> String {
    for (index, argument) in arguments.enumerated() {
      let parts = argument.split(separator: "=", maxSplits: 1)
      guard let name = parts.first, name.hasPrefix("--"), name.hasSuffix("passphrase") else { continue }
      let misplaced = parts.count > 1 ? String(parts[1]) : arguments.dropFirst(index + 1).first ?? ""
      if !misplaced.isEmpty, message.contains("'\(misplaced)'") {
        return "\(name) takes no value: the passphrase is asked on the terminal"
      }
    }
    return message
  }

  /// The verb that was meant, as far as its words are one, for the hint.
  private var verb: String {
    var known = ""
    var verbs = Dbtool.verbs
    for word in arguments.prefix(2) {
      guard let verb = verbs.first(where: { $0.configuration.commandName == word }) else { break }
      known += word + " "
      verbs = verb.configuration.subcommands
    }
    return known
  }
}

extension Dbtool {
  static var verbs: [any ParsableCommand.Type] {
    var verbs: [any ParsableCommand.Type] = []
    for group in configuration.groupedSubcommands { verbs += group.subcommands }
    return verbs
  }
}
