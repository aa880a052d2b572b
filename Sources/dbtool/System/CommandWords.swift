internal import CofferPlatform

/// Checks on arguments and environment before any work.
enum CommandWords {
  /// The variables that name files and commands.
  private static let variables = ["DBTOOL_STORE", "DBTOOL_KEY_FILE", "DBTOOL_PASSPHRASE_FILE", "DBTOOL_KEY_COMMAND"]

  /// The prefixes of key and identity lines, before the digits.
  static let secretPrefixes = ["key", "identity", "signing"].flatMap { ["coffer-\($0)-1-", "coffer-test-\($0)-1-"] }

  /// The number of hex digits in a key or identity line, including check digits.
  private static let lineDigits = 72

  /// Returns the arguments with `--name=` split into `--name` and an empty word, because the parser would use the next
  /// word as the value.
  static func splittingEmptyValues(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    return arguments[..<end].flatMap { word in
      let name = word.dropLast()
      return word.hasSuffix("=") && name.hasPrefix("--") && name.count > 2 && !name.contains("=") && !name.contains(" ")
        ? [String(name), ""] : [word]
    } + arguments[end...]
  }

  /// Refuses to run if Swift can't read the command line from /proc, because an empty command line would print the help.
  static func requireWords() throws {
    // Every command line contains at least the program's name.
    guard CommandLine.argc < 1 else { return }
    throw Failure(
      .failed, kind: "system-failure", "the command line can't be read, because /proc is not mounted",
      hint: "mount it (mount -t proc proc /proc), and try again")
  }

  /// Refuses invalid UTF-8, because Swift would silently replace it with U+FFFD, and name another file or key.
  static func requireUTF8() throws {
    let refusal = "is not UTF-8, as names and texts here must be"
    for number in 1..<max(1, Int(CommandLine.argc)) {
      guard let word = CommandLine.unsafeArgv[number], !isUTF8(word) else { continue }
      throw Failure.usage("argument \(number) \(refusal)", hint: "give texts in a file")
    }
    for name in variables {
      guard let value = getenv(name), !isUTF8(value) else { continue }
      throw Failure.usage("\(name) \(refusal)")
    }
    if let folder = getcwd(nil, 0) {
      defer { free(folder) }
      guard isUTF8(folder) else {
        throw Failure.usage("the current folder's name \(refusal)", hint: "work in another one")
      }
    }
  }

  /// Refuses a key or an identity in any argument or variable, because shell histories and process lists show it. The
  /// message doesn't repeat it.
  static func requireNoSecret(_ arguments: [String]) throws {
    let values = variables.compactMap { name in getenv(name).map { (name, String(cString: $0)) } }
    for (place, word) in arguments.map({ ("an argument", $0) }) + values where holdsSecret(word) {
      throw Failure.usage(
        "\(place) holds a key, which others can see there: make a new one",
        hint: "keys are read from files, descriptors and commands")
    }
  }

  private static func holdsSecret(_ word: String) -> Bool {
    guard word.utf8.count >= 64 else { return false }
    let word = word.lowercased()
    // Check for the bare digits of a key line. A recipient and a publisher have as many digits after their names.
    let digits = word.reversed().prefix { $0.isHexDigit }.count
    let isBehindOption = digits == lineDigits + 1 && word.hasPrefix("-")
    if digits == lineDigits || isBehindOption, !word.contains("recipient-1-"),
      !word.contains("publisher-1-")
    {
      return true
    }
    return secretPrefixes.contains { prefix in
      word.ranges(of: prefix).contains { word[$0.upperBound...].prefix { $0.isHexDigit }.count >= 64 }
    }
  }

  private static func isUTF8(_ text: UnsafePointer<CChar>) -> Bool { String(validatingCString: text) != nil }
}
