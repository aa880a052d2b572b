internal import CofferPlatform

/// Inserts the store named by `--store` or DBTOOL_STORE as the first word.
///
/// The parser identifies words by their order, so it can't omit the first word.
enum StoreWord {
  private static let variable = "DBTOOL_STORE"
  private static let option = "--store"
  private static let verbsWithout: Set<String> = ["keygen", "convert", "help"]
  /// Verbs whose second word is also a store.
  private static let verbsWithTwo: Set<String> = ["restore", "backup", "copy", "diff", "merge", "update"]

  static func takesTwo(_ verb: String) -> Bool { verbsWithTwo.contains(verb) }

  /// Returns the words with `browse` in front if the first word is a store.
  static func browsing(_ arguments: [String]) -> [String] {
    // Open SQLite's name for a database in memory, to report that the store can't be opened.
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
    // Ignore the variable if it names the same store as the word.
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

  /// Returns whether the words name both stores of a verb. The second store can be missing.
  ///
  /// - Parameter namesDocuments: Whether the second word can also name a document.
  private static func isPair(_ words: [String], orDocuments namesDocuments: Bool) -> Bool {
    words.count > 1 && (!namesDocuments || isStore(words[1]))
  }

  /// Returns the words that are neither a verb's options nor their values.
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

  /// The hint for a user whose first word isn't the store.
  static var environmentHint: String? {
    environment.map { "\(variable) names the store, \($0): every word is an input" }
  }

  /// Returns the hint for too many words because of the variable, or `nil` if the variable isn't the reason.
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

  /// Returns whether a file has the mark in SQLite's header. Other words that name files remain ordinary words.
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
