internal import ArgumentParser
internal import CofferFoundation
internal import CofferTerminal

/// A help page for the command or a verb, based on the parser's description and laid out for a single screen.
///
/// `Tools/generators` creates the manual pages and the command's pages from the same facts.
struct HelpPage {
  /// The sections with rarely used options and the options of every verb, which `--help` lists only by name.
  private static let namedSections: Set = ["Everywhere", "More"]
  /// The options on the command's page, with their explanations from `ls`.
  private static let oftenUsed = ["--key-file", "--passphrase", "--collection", "-t", "--json", "--quiet", "--verbose"]
  private static let indent = 27
  /// The maximum number of listed values for an option, except in `--help-hidden`.
  private static let shownValues = 8

  private let words: [String]
  private let width: Int
  private let includesHidden: Bool

  /// - Parameter words: The verb, such as `["key", "add"]`, or an empty array for the command itself.
  init(of words: [String], includesHidden: Bool, width: Int) {
    self.words = words
    self.includesHidden = includesHidden
    self.width = min(max(width, 60), 80)
  }

  var text: String {
    guard let verb = Self.verb(words) else { return rootPage }
    let children = verb.configuration.subcommands
    let facts = Self.facts(of: verb)
    var blocks = [wrapped(facts.abstract ?? ""), usage(of: verb, facts)]
    blocks += (facts.discussion ?? "").split(separator: "\n\n").map { paragraph($0) }
    if children.isEmpty {
      blocks += optionBlocks(of: facts.arguments ?? [])
    } else {
      blocks.append(
        "Verbs\n"
          + children.map {
            entry($0.configuration.commandName ?? "", Self.withoutPeriod($0.configuration.abstract), indent: 14)
          }.joined(separator: "\n"))
      blocks.append("'dbtool help \(words.joined(separator: " ")) VERB' explains one.")
    }
    return blocks.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private var rootPage: String {
    let configuration = Dbtool.configuration
    var blocks = [
      configuration.abstract,
      """
      Usage: dbtool VERB STORE [WORDS] [OPTIONS]
             dbtool STORE                          browse it on the whole terminal
      """,
      configuration.discussion,
    ]
    for group in configuration.groupedSubcommands where group.name != Dbtool.moreGroup {
      let verbs = group.subcommands.filter { $0.configuration.shouldDisplay }.map {
        entry($0.configuration.commandName ?? "", Self.withoutPeriod($0.configuration.abstract), indent: 14)
      }
      blocks.append(([group.name] + verbs).joined(separator: "\n"))
    }
    let more = configuration.groupedSubcommands.filter { $0.name == Dbtool.moreGroup }.flatMap { $0.subcommands }
    blocks.append(
      "More: \(more.compactMap { $0.configuration.commandName }.joined(separator: ", ")). See 'dbtool help VERB'.")
    let options = Self.facts(of: ListVerb.self).arguments ?? []
    blocks.append(
      (["Often used"] + options.filter { $0.isOneOf(Self.oftenUsed) }.map { entry($0) }).joined(separator: "\n"))
    blocks.append("Secrets are never arguments. 'man dbtool' has the variables and the exit codes.")
    return blocks.joined(separator: "\n\n")
  }

  private func usage(of verb: any ParsableCommand.Type, _ facts: Command) -> String {
    guard verb.configuration.subcommands.isEmpty else {
      return "Usage: dbtool \(words.joined(separator: " ")) VERB STORE [WORDS] [OPTIONS]"
    }
    let positionals = (facts.arguments ?? []).filter { $0.kind == "positional" }.map { argument in
      let name = argument.placeholder + (argument.isRepeating ? "…" : "")
      return argument.isOptional ? "[\(name)]" : name
    }
    return wrapped("Usage: dbtool " + (words + positionals + ["[OPTIONS]"]).joined(separator: " "), indent: 7)
  }

  /// Returns the options under their group headings, but only a list of names for the named sections.
  private func optionBlocks(of arguments: [Argument]) -> [String] {
    let shown = arguments.filter { ($0.shouldDisplay || includesHidden) && !$0.isOneOf(["--help", "--version"]) }
    let positionals = shown.filter { $0.kind == "positional" && $0.abstract != nil && $0.valueName != "store" }
    let options = shown.filter { $0.kind != "positional" }
    var titles: [String] = []
    for option in options where !titles.contains(option.sectionTitle ?? "") { titles.append(option.sectionTitle ?? "") }
    // Options without a heading come first, and the named sections last.
    func rank(_ title: String) -> Int { title.isEmpty ? 0 : Self.namedSections.contains(title) ? 2 : 1 }
    titles = (0...2).flatMap { wanted in titles.filter { rank($0) == wanted } }
    var blocks: [String] = []
    if !positionals.isEmpty { blocks.append((["Words"] + positionals.map { entry($0) }).joined(separator: "\n")) }
    for title in titles where includesHidden || !Self.namedSections.contains(title) {
      let ours = options.filter { $0.sectionTitle ?? "" == title }
      blocks.append(([title.isEmpty ? "Options" : title] + ours.map { entry($0) }).joined(separator: "\n"))
    }
    let others = options.filter { Self.namedSections.contains($0.sectionTitle ?? "") }
    if !includesHidden, !others.isEmpty {
      let names = others.map(\.shortestName).joined(separator: ", ")
      blocks.append(wrapped("Also: \(names). 'dbtool \(words.joined(separator: " ")) --help-hidden' explains all."))
    }
    return blocks
  }

  private func entry(_ argument: Argument) -> String {
    entry(argument.head, argument.explanation(listing: includesHidden ? .max : Self.shownValues), indent: Self.indent)
  }

  /// Returns a name and its text in the next column.
  private func entry(_ head: String, _ text: String, indent: Int) -> String {
    let text = wrapped(text, indent: indent)
    let room = indent - 2 - displayWidth(head)
    let gap = room >= 2 ? String(repeating: " ", count: room) : "\n" + String(repeating: " ", count: indent)
    return "  " + head + gap + text
  }

  /// Returns examples unchanged, and wraps prose.
  private func paragraph(_ block: Substring) -> String {
    if block.hasPrefix("  ") { return String(block) }
    return block.split(separator: "\n").map { wrapped(String($0)) }.joined(separator: "\n")
  }

  /// Returns lines that fit the width, with an indentation in all lines except the first.
  private func wrapped(_ text: String, indent: Int = 0) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, displayWidth(line) + 1 + displayWidth(String(word)) > width - indent {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    lines.append(line)
    return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
  }
}

extension HelpPage {
  /// A verb's description in the form that the parser prints for generators.
  private struct Description: Decodable {
    let command: Command
  }

  private struct Command: Decodable {
    let abstract: String?
    let discussion: String?
    let arguments: [Argument]?
  }

  private struct Argument: Decodable {
    struct Name: Decodable {
      let kind: String
      let name: String

      var text: String { (kind == "long" ? "--" : "-") + name }
    }

    let kind: String
    let shouldDisplay: Bool
    let sectionTitle: String?
    let isOptional: Bool
    let isRepeating: Bool
    let names: [Name]?
    let valueName: String?
    let defaultValue: String?
    let allValues: [String]?
    let abstract: String?

    private var sortedNames: [String] { (names ?? []).map(\.text).sorted { $0.count < $1.count } }

    var shortestName: String { sortedNames.first ?? "" }

    func isOneOf(_ wanted: [String]) -> Bool { names?.contains { wanted.contains($0.text) } ?? false }

    /// The placeholder for the value, such as `FILE`. A name remains unchanged if it contains characters other than
    /// lowercase letters and hyphens.
    var placeholder: String {
      let name = valueName ?? ""
      return name.allSatisfy { $0.isLowercase || $0 == "-" } ? name.uppercased() : name
    }

    /// The names and value, such as `-c, --collection NAME`. Long names are aligned below each other.
    var head: String {
      guard kind != "positional" else { return placeholder }
      let isLong = shortestName.hasPrefix("--")
      return (isLong ? "    " : "") + sortedNames.joined(separator: ", ") + (kind == "option" ? " \(placeholder)" : "")
    }

    /// Returns the text, followed by the values and the default if the text doesn't contain them.
    func explanation(listing most: Int) -> String {
      let text = abstract ?? ""
      var facts: [String] = []
      if let allValues, kind == "option", !allValues.allSatisfy({ text.contains($0) || placeholder.contains($0) }) {
        facts.append(allValues.prefix(most).joined(separator: ", ") + (allValues.count > most ? ", …" : ""))
      }
      if let defaultValue, !text.contains("(default") { facts.append("default: \(defaultValue)") }
      return text + (facts.isEmpty ? "" : " (\(facts.joined(separator: "; ")))")
    }
  }

  /// Returns a verb's options and whether each takes a value. The result is empty for verb groups and unknown verbs.
  static func options(of words: [String]) -> [String: Bool] {
    guard let verb = verb(words), verb.configuration.subcommands.isEmpty else { return [:] }
    var options = ["-h": false, "--help": false, "--help-hidden": false, "--version": false]
    for argument in facts(of: verb).arguments ?? [] where argument.kind != "positional" {
      for name in argument.names ?? [] { options[name.text] = argument.kind == "option" }
    }
    return options
  }

  /// Returns whether the word after an option is its value. In a cluster of letters, the last letter can take it.
  ///
  /// - Parameter options: The verb's options (``options(of:)``).
  static func takesNextWord(_ word: String, _ options: [String: Bool]) -> Bool {
    guard word.hasPrefix("-"), word != "-", !word.contains("=") else { return false }
    return options[word.hasPrefix("--") ? word : "-\(word.last ?? "-")"] ?? false
  }

  private static func facts(of verb: any ParsableCommand.Type) -> Command {
    do {
      return try JSONDecoder().decode(Description.self, from: Data(verb._dumpHelp().utf8)).command
    } catch {
      preconditionFailure("internal error: the parser describes \(verb) in another form: \(error)")
    }
  }

  private static func withoutPeriod(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }

  /// Returns the verb with these words, or `nil` if it doesn't exist.
  private static func verb(_ words: [String]) -> (any ParsableCommand.Type)? {
    var found: (any ParsableCommand.Type)?
    var verbs = Dbtool.verbs
    for word in words {
      found = verbs.first { $0.configuration.commandName == word }
      verbs = found?.configuration.subcommands ?? []
    }
    return found
  }
}
