import Foundation
import Synchronization

/// The options that a hint names, checked against the help of the verb that has to take them.
enum HintWords {
  private static let helps = Mutex<[String: Set<Substring>]>([:])

  /// The verbs of the command, and the groups.
  static let verbs: Set<String> = Set(
    ["backup", "browse", "collection", "compact", "convert", "copy", "create", "diff", "edit", "export", "import"]
      + ["index", "info", "key", "keygen", "ls", "merge", "mv", "put", "query", "rekey", "replica", "restore", "rm"]
      + ["search", "show", "sort", "verify"])

  /// Returns the options of the hints in `errors` that their verb doesn't have.
  static func unknown(in errors: String, of arguments: [String], _ sandbox: Sandbox) throws -> [String] {
    guard let own = arguments.first(where: verbs.contains) else { return [] }
    let rest = arguments.drop { $0 != own }.dropFirst()
    var unknown: [String] = []
    for line in errors.split(separator: "\n") where line.hasPrefix("hint: ") {
      var command = [own] + rest.prefix(1)
      var previous: [String] = []
      for word in line.dropFirst("hint: ".count).split(separator: " ") {
        let word = word.trimmingCharacters(in: .punctuationCharacters.subtracting(["-"]))
        defer { previous.append(word) }
        guard word.hasPrefix("--"), word.count > 2, !word.hasPrefix("--help") else { continue }
        if let place = previous.lastIndex(of: "dbtool"), place + 1 < previous.count {
          command = Array(previous[(place + 1)...].prefix(2))
        } else if let verb = previous.suffix(2).last(where: verbs.contains) {
          command = [verb]
        }
        if try !options(of: command, sandbox).contains(word.prefix { $0 != "=" }) { unknown.append(word) }
      }
    }
    return unknown
  }

  private static func options(of command: [String], _ sandbox: Sandbox) throws -> Set<Substring> {
    let isGroup = ["collection", "index", "key", "replica"].contains(command[0])
    let command = isGroup ? command : Array(command.prefix(1))
    let name = command.joined(separator: " ")
    if let known = helps.withLock({ $0[name] }) { return known }
    let help = try sandbox.help(command)
    let found = Set(help.matches(of: /--[a-z][a-z-]+/).map(\.output))
    helps.withLock { $0[name] = found }
    return found
  }
}
