import Foundation
import Synchronization

/// The options that a hint names, checked against the help of the verb that has to take them.
enum HintWords {
  private static let helps = Mutex<[String: Set<Substring>]>([:])

  /// The command's description of itself.
  private struct Description: Decodable {
    struct Command: Decodable {
      let commandName: String
      let subcommands: [Command]?
    }

    let command: Command
  }

  /// The verbs of the command, and whether each is a group with verbs of its own.
  private static let known = Mutex<[String: Bool]>([:])

  private static func verbs(_ sandbox: Sandbox) throws -> [String: Bool] {
    if case let verbs = known.withLock({ $0 }), !verbs.isEmpty { return verbs }
    let text = try sandbox.run(["--experimental-dump-help"]).text
    let root = try JSONDecoder().decode(Description.self, from: Data(text.utf8)).command
    let verbs = Dictionary(
      uniqueKeysWithValues: (root.subcommands ?? []).map { ($0.commandName, !($0.subcommands ?? []).isEmpty) })
    known.withLock { $0 = verbs }
    return verbs
  }

  /// Returns the options of the hints in `errors` that their verb doesn't have.
  static func unknown(in errors: String, of arguments: [String], _ sandbox: Sandbox) throws -> [String] {
    let verbs = try verbs(sandbox)
    guard let own = arguments.first(where: { verbs[$0] != nil }) else { return [] }
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
        } else if let verb = previous.suffix(2).last(where: { verbs[$0] != nil }) {
          command = [verb]
        }
        if try !options(of: command, isGroup: verbs[command[0]] ?? false, sandbox).contains(word.prefix { $0 != "=" }) {
          unknown.append(word)
        }
      }
    }
    return unknown
  }

  private static func options(of command: [String], isGroup: Bool, _ sandbox: Sandbox) throws -> Set<Substring> {
    let command = isGroup ? command : Array(command.prefix(1))
    let name = command.joined(separator: " ")
    if let known = helps.withLock({ $0[name] }) { return known }
    let help = try sandbox.help(command)
    let found = Set(help.matches(of: /--[a-z][a-z-]+/).map(\.output))
    helps.withLock { $0[name] = found }
    return found
  }
}
