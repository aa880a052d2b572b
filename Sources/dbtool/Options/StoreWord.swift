internal import CofferPlatform

/// Puts the store that `--store` or DBTOOL_STORE names in the place of the first word.
///
/// The parser knows words by their order, and so can't leave out the first of them.
enum StoreWord {
  private static let variable = "DBTOOL_STORE"
  private static let option = "--store"
  private static let verbsWithout: Set<String> = ["keygen", "convert", "help"]
  /// Verbs whose second word is a store, too.
  private static let verbsWithTwo: Set<String> = ["restore", "backup", "copy", "diff", "merge", "update"]

  static func takesTwo(_ verb: String) -> Bool { verbsWithTwo.contains(verb) }

  /// The words with `browse` in front if the first one is a store.
  static func browsing(_ arguments: [String]) -> [String] {
    // SQLite's name for a database in memory gets the error of a store that can't be opened.
    guard let word = arguments.first, !Dbtool.isVerb(word), isStore(word) || word == ":memory:" else {
      return arguments
    }
    return ["browse"] + arguments
  }

  /// - Throws: `usage` if the store is named twice.
  static func inserted(in arguments: [String]) throws -> [String] {
    guard let verb = arguments.first, !verb.hasPrefix("-"), !verbsWithout.contains(verb) else { return arguments }
    let start = Dbtool.isGroup(verb) ? 2 : 1
    guard arguments.count >= start, !arguments[..<start].contains(where: { $0.hasPrefix("-") }) else {
      return arguments
    }
    let end = arguments.firstIndex(of: "--") ?? arguments.count
    guard !arguments[..<end].contains(where: { $0 == "--help" || $0 == "-h" }) else { return arguments }
    var words = Array(arguments[start...])
    let named = try takeOption(&words, upTo: end - start)
    guard let store = named ?? environment else { return arguments }
    let source = named == nil ? variable : option
    let others = ordinary(words.prefix { $0 != "--" }, of: Array(arguments[..<start]))
    let namesDocuments = verb == "restore" || verb == "copy" && named != nil
    let isFirst = !verbsWithTwo.contains(verb) || isPair(others, orDocuments: namesDocuments)
    // The word and the variable name the same store.
    if named == nil, isFirst, isSame(others.first, store) { return arguments }
    let twice = isStore(others.first) && isFirst
    guard !twice else {
      throw Failure.usage(
        "\(others[0]) is a store, and \(source) names one, too: \(store)",
        hint: named == nil ? "name another store with \(option), or unset \(variable)" : "leave one of them out")
    }
    return arguments[..<start] + [InputFile.argument(store)] + words
  }

  /// Returns whether a word is the path of a store, or another path of the same file.
  private static func isSame(_ word: String?, _ store: String) -> Bool {
    word == store || word.map { InputFile.isSameFile($0, store) } ?? false
  }

  /// Whether the words name both stores of a verb. The second one may be missing.
  ///
  /// - Parameter namesDocuments: Whether the second word can also name a document.
  private static func isPair(_ words: [String], orDocuments namesDocuments: Bool) -> Bool {
    words.count > 1 && (!namesDocuments || isStore(words[1]))
  }

  /// The words that are neither a verb's options nor their values.
  private static func ordinary(_ words: ArraySlice<String>, of verb: [String]) -> [String] {
    guard words.contains(where: { $0.hasPrefix("-") }) else { return Array(words) }
    let options = HelpPage.options(of: verb)
    var found: [String] = []
    var isValue = false
    for word in words {
      if !isValue, !word.hasPrefix("-") || word == "-" { found.append(word) }
      isValue = !isValue && HelpPage.takesNextWord(word, options)
    }
    return found
  }

  /// What a user should know whose first word was not taken for the store.
  static var environmentHint: String? {
    environment.map { "\(variable) names the store, \($0): every word is an input" }
  }

  /// What a user should know whose words are too many because of the variable, or `nil` if that isn't the reason.
  static func extraWordHint(_ arguments: [String]) -> String? {
    let isNamed = arguments.prefix { $0 != "--" }.contains { $0 == option || $0.hasPrefix(option + "=") }
    guard !isNamed, let environment, let words = try? inserted(in: arguments), words != arguments else { return nil }
    return "\(variable) names the store, \(environment): name another one with \(option)"
  }

  private static var environment: String? {
    guard let value = getenv(variable) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }

  private static func takeOption(_ words: inout [String], upTo end: Int) throws -> String? {
    var value: String?
    var index = 0
    var end = end
    while index < end {
      let word = words[index]
      guard word == option || word.hasPrefix(option + "=") else {
        index += 1
        continue
      }
      guard value == nil else { throw Failure.usage("\(option) names one store") }
      if word == option {
        guard index + 1 < words.count else { throw Failure.usage("\(option) takes the path of a store") }
        value = words[index + 1]
        words.removeSubrange(index...index + 1)
        end -= 2
      } else {
        value = String(word.dropFirst(option.count + 1))
        words.remove(at: index)
        end -= 1
      }
    }
    return value
  }

  /// Reads the mark in SQLite's header: an ordinary word that is a file's name stays one.
  static func isStore(_ path: String?) -> Bool {
    guard let path else { return false }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: 72)
    return pread(descriptor, &header, header.count, 0) == header.count
      && header.starts(with: Array("SQLite format 3\0".utf8)) && header[68...].elementsEqual("COFR".utf8)
  }
}
