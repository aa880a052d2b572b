internal import ArgumentParser

/// Prints errors: `dbtool: error: …`, at most one `hint: …`, and under `--json` an object as the last line.
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

  func print(_ failure: Failure) -> ExitStatus {
    Diagnostics.print("dbtool: error: \(failure.message)")
    if let hint = failure.hint {
      Diagnostics.print("hint: \(hint)")
    }
    if isJSON {
      let details = JSONValue.object(present: [
        ("code", .integer(Int64(failure.status.rawValue))), ("kind", .string(failure.kind)),
        ("message", .string(failure.message)),
      ])
      Diagnostics.print(.object([("error", details)]))
    }
    return failure.status
  }

  /// Handles an error of the argument parser: help and version are data on standard output, all others usage errors.
  func print(parsing error: any Error) -> ExitStatus {
    let message = Dbtool.message(for: error)
    guard Dbtool.exitCode(for: error) != .success else {
      do {
        try printLines(message)
        return .done
      } catch is ClosedPipe {
        return .failed
      } catch {
        return print(Failure(error))
      }
    }
    return print(usage(withoutMisplacedTexts(withoutMisplacedSecrets(message))))
  }

  /// The parser's message as an error on one line; the values that it lists go to the hint.
  private func usage(_ message: String) -> Failure {
    let lines = message.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }
    let words = lines.joined(separator: " ")
    let values = lines.filter { $0.hasPrefix("- ") }.map { $0.dropFirst(2) }
    if !values.isEmpty, let end = words.firstRange(of: ". Please provide one of the following:") {
      let known = values.dropLast().joined(separator: ", ") + " or \(values[values.count - 1])"
      return .usage(Self.lowercasingFirst(words[..<end.lowerBound]), hint: "choose \(known)")
    }
    return .usage(Self.lowercasingFirst(words[...]), hint: "see 'dbtool \(verb)--help'")
  }

  private static func lowercasingFirst(_ words: Substring) -> String {
    words.prefix(1).lowercased() + words.dropFirst()
  }

  /// Does not repeat unexpected arguments after an option whose value is free text or a command: they are likely to be
  /// the rest of that value, given without quotes.
  private func withoutMisplacedTexts(_ message: String) -> String {
    let isMisplaced =
      message.hasPrefix("Unexpected argument '") || message.contains(" unexpected arguments: '")
      || message.hasPrefix("The value '") && message.contains("' is invalid for '<")
    guard isMisplaced, arguments.contains(where: Self.takesFreeText) else { return message }
    return "a word stands where none belongs: a value of several words needs quotes"
  }

  private static func takesFreeText(_ argument: String) -> Bool {
    let name = argument.prefix { $0 != "=" }
    return ["--text", "--title", "--label", "--key-name"].contains(name)
      || name.hasPrefix("--") && (name.hasSuffix("key-command") || name.hasSuffix("provider"))
  }

  /// Does not repeat a passphrase given on the command line (`--passphrase hunter2`).
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

  /// The verb of the command line, as far as it is a known one, for the hint.
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
