internal import ArgumentParser
internal import CofferFoundation
internal import CofferPlatform
internal import CofferTerminal

/// The output for an error: `dbtool: error: …`, at most one `hint: …`, and with `--json` an object on the last line.
struct ErrorReport {
  private let arguments: [String]
  let isJSON: Bool

  init(arguments: [String]) {
    self.arguments = arguments
    let options = arguments.prefix { $0 != "--" }
    isJSON =
      options.contains("--json") || options.contains("--format=json") || options.contains("--format=ndjson")
      || zip(options, options.dropFirst()).contains { $0 == "--format" && ($1 == "json" || $1 == "ndjson") }
  }

  func print(_ failure: Failure) -> ExitStatus {
    Interrupt.willPrintError()
    let message = withPathsAsGiven(failure.message)
    Diagnostics.print("dbtool: error: \(message)")
    if let hint = failure.status == .noStore ? orderHint ?? failure.hint : failure.hint {
      Diagnostics.print("hint: \(hint)")
    }
    if isJSON {
      let details = JSONValue.object(present: [
        ("code", .integer(Int64(failure.status.rawValue))), ("kind", .string(failure.kind)),
        ("message", .string(message)),
      ])
      Diagnostics.print(.object([("error", details)]))
    }
    return failure.status
  }

  /// Returns a message that contains the paths exactly as the user typed them, because the library reports absolute
  /// paths.
  private func withPathsAsGiven(_ message: String) -> String {
    let words = arguments.map { $0.hasPrefix("-") ? String($0.drop { $0 != "=" }.dropFirst()) : $0 }
    let relative = words.filter { !$0.isEmpty && !$0.hasPrefix("/") }
    // Omit the root, because it's a part of every path.
    let paths = relative.map { (absolute: URL(filePath: $0).path, given: $0) }.filter { $0.absolute != "/" }
    return paths.sorted { $0.absolute.utf8.count > $1.absolute.utf8.count }.reduce(message) { message, path in
      message.replacing(path.absolute, with: path.given)
    }
  }

  /// Handles an argument parser error. Help and version are data on standard output, and all other errors are usage
  /// errors.
  func print(parsing error: any Error) -> ExitStatus {
    let message = Dbtool.message(for: error)
    if Dbtool.exitCode(for: error) == .success {
      // The parser reads the letters of `-xh` one by one, so it takes the `h` for a help request.
      if let cluster = helpInCluster {
        return print(.usage("there is no option \(cluster)", hint: "-h or --help explains; \(patternHint)"))
      }
      // If the verb after `help` is misspelled, the parser explains the whole command instead of reporting an error.
      if arguments.first == "help", let failure = missingVerb(in: Array(arguments.dropFirst())) {
        return print(failure)
      }
      do {
        try printLines(message.hasPrefix("OVERVIEW:") ? helpPage.text : message)
        return .done
      } catch is ClosedPipe {
        return .failed
      } catch {
        return print(Failure(error))
      }
    }
    let harmless = withoutMisplacedSecrets(message)
    return print(missingVerb(in: arguments) ?? unknownOption ?? misplacedWord(harmless) ?? usage(harmless))
  }

  /// The error for an option that the verb doesn't have. The parser would first report the words after the option.
  private var unknownOption: Failure? {
    let options = HelpPage.options(of: verbsSoFar.known)
    guard !options.isEmpty else { return nil }
    var takesWord = false
    for word in arguments.dropFirst(verbsSoFar.known.count).prefix(while: { $0 != "--" }) {
      let isValue = takesWord
      takesWord = false
      guard !isValue, word.hasPrefix("-"), word != "-" else { continue }
      let name = String(word.hasPrefix("--") ? word.prefix { $0 != "=" } : word.prefix(2))
      guard options[name] != nil else {
        let meant = VerbGuess.options(for: name, among: options.keys.filter { $0.hasPrefix("--") }.sorted())
        let question = meant.isEmpty ? "" : "; did you mean \(meant.joined(separator: " or "))?"
        return .usage("unknown option '\(name)'\(question)", hint: patternHint)
      }
      takesWord = HelpPage.takesNextWord(word, options)
    }
    return nil
  }

  /// The hint for a store that follows other words, or `nil` if the verb takes a second store there.
  private var orderHint: String? {
    let (known, _) = verbsSoFar
    guard let name = known.first, !StoreWord.takesTwo(name) else { return nil }
    let words = arguments.dropFirst(known.count).prefix { $0 != "--" }.filter { !$0.hasPrefix("-") }
    guard let store = words.dropFirst().first(where: { StoreWord.isStore($0) }),
      let first = words.first, !StoreWord.isStore(first)
    else { return nil }
    return "name the store first, or with --store: dbtool \(verb)--store \(Shell.quoted(path: store)) …"
  }

  /// The help page that replaces the parser's page.
  private var helpPage: HelpPage {
    let words = arguments.first == "help" ? Array(arguments.dropFirst()) : arguments
    return HelpPage(
      of: Self.verbs(of: words).known, includesHidden: arguments.contains { $0.hasSuffix("-help-hidden") },
      width: Terminal.width(of: STDOUT_FILENO))
  }

  /// An option such as `-xh`, whose `h` the parser takes for a help request. The option is `nil` if the user asks for
  /// help in a separate word.
  private var helpInCluster: String? {
    let options = arguments.prefix { $0 != "--" }
    let requests: Set = ["-h", "--help", "-help", "--help-hidden", "-help-hidden", "help", "--version"]
    guard !options.contains(where: { requests.contains($0) || $0.hasPrefix("--generate-") }) else { return nil }
    return options.first { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.contains("h") }
  }

  private var patternHint: String {
    verb == "search " ? "a text that begins with a dash: -e TEXT, or -- in front of it" : "see 'dbtool \(verb)--help'"
  }

  /// Returns the parser's message as a one-line error. Values that the message lists move to the hint.
  private func usage(_ message: String) -> Failure {
    let lines = message.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }
    let words = lines.joined(separator: " ")
    let values = lines.filter { $0.hasPrefix("- ") }.map { $0.dropFirst(2) }
    if !values.isEmpty, let end = words.firstRange(of: ". Please provide one of the following:") {
      let known = values.dropLast().joined(separator: ", ") + " or \(values[values.count - 1])"
      return .usage(Self.lowercasingFirst(words[..<end.lowerBound]), hint: "choose \(known)")
    }
    if message.hasPrefix("The value '"), let place = message.firstRange(of: "' is invalid for '--") {
      let option = "--" + message[place.upperBound...].prefix { $0 != "'" }
      if Self.takesFreeText(String(option.prefix { $0 != " " })) {
        return .usage("a value does not fit \(option)", hint: "see 'dbtool \(verb)--help'")
      }
    }
    let isOption = message.hasPrefix("Unknown option")
    return .usage(Self.lowercasingFirst(words[...]), hint: isOption ? patternHint : "see 'dbtool \(verb)--help'")
  }

  private static func lowercasingFirst(_ words: Substring) -> String {
    words.prefix(1).lowercased() + words.dropFirst()
  }

  /// Returns the error for an unknown verb. The message repeats the word only if it resembles a verb or another
  /// program's command. Any other word may be a key typed in the wrong position.
  private func missingVerb(in arguments: [String]) -> Failure? {
    let (known, verbs) = Self.verbs(of: arguments)
    let words = arguments.dropFirst(known.count)
    guard !verbs.isEmpty, let word = words.first, !word.hasPrefix("-") else { return nil }
    let place = known.map { $0 + " " }.joined()
    var hint = "'dbtool \(place)--help' lists the verbs"
    if !place.isEmpty, StoreWord.isStore(word), let first = verbs.first?.configuration.commandName {
      hint = "the verb is in front of the store, as in 'dbtool \(place)\(first) --store \(Shell.quoted(path: word))'"
    }
    guard let meant = VerbGuess.verb(for: word, among: verbs.compactMap { $0.configuration.commandName }, behind: known)
    else {
      return .usage("there is no such verb", hint: hint)
    }
    return .usage("there is no verb \(place)\(word); did you mean \(place)\(meant)?", hint: hint)
  }

  /// Returns the error for an unexpected word, or for a word with an invalid form. The message doesn't repeat this word
  /// either.
  private func misplacedWord(_ message: String) -> Failure? {
    let isUnexpected = message.hasPrefix("Unexpected argument '") || message.contains(" unexpected arguments: '")
    let place = message.hasPrefix("The value '") ? message.firstRange(of: "' is invalid for '<") : nil
    guard isUnexpected || place != nil else { return nil }
    if arguments.contains(where: Self.takesFreeText) {
      return .usage(
        "a word is where none belongs: a value of several words needs quotes", hint: "see 'dbtool \(verb)--help'")
    }
    guard let place else {
      return .usage(
        "there are more words than 'dbtool \(verb)…' takes",
        hint: StoreWord.extraWordHint(arguments) ?? "see 'dbtool \(verb)--help'")
    }
    let rest = message[place.upperBound...]
    let choices = usage(String(rest)).hint
    return .usage("a word does not fit in the place of <\(rest.prefix { $0 != ">" })>", hint: choices)
  }

  private static func takesFreeText(_ argument: String) -> Bool {
    let name = argument.prefix { $0 != "=" }
    return ["--text", "--title", "--label", "--key-name", "--attr", "--remove-attr"].contains(name)
      || name.hasPrefix("--") && (name.hasSuffix("key-command") || name.hasSuffix("provider"))
  }

  /// Returns a message that doesn't repeat a passphrase given on the command line (`--passphrase hunter2`).
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

  /// The known part of the verb on the command line, for the hint.
  private var verb: String { verbsSoFar.known.map { $0 + " " }.joined() }

  private var verbsSoFar: (known: [String], next: [any ParsableCommand.Type]) { Self.verbs(of: arguments) }

  /// Returns the verb's known words, and the verbs that can follow them.
  private static func verbs(of arguments: [String]) -> (known: [String], next: [any ParsableCommand.Type]) {
    var known: [String] = []
    var verbs = Dbtool.verbs
    for word in arguments.prefix(2) {
      guard let verb = verbs.first(where: { $0.configuration.commandName == word }) else { break }
      known.append(word)
      verbs = verb.configuration.subcommands
    }
    return (known, verbs)
  }
}

extension Dbtool {
  static var verbs: [any ParsableCommand.Type] { configuration.groupedSubcommands.flatMap { $0.subcommands } }

  static func isVerb(_ word: String) -> Bool {
    word == "help" || verbs.contains { $0.configuration.commandName == word }
  }

  /// Returns whether a verb has subcommands, such as `list` of `key`.
  static func isGroup(_ word: String) -> Bool {
    verbs.contains { $0.configuration.commandName == word && !$0.configuration.subcommands.isEmpty }
  }
}
