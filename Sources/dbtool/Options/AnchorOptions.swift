internal import ArgumentParser
internal import Coffer

/// The options for a saved anchor, and for the proof that a newer store needs.
struct AnchorOptions: ParsableArguments {
  enum Requirement: String, CaseIterable, ExpressibleByArgument {
    case descent, same

    var requirement: StoreAnchor.Requirement {
      switch self {
      case .descent: .descendant
      case .same: .same
      }
    }
  }

  @Option(
    help: ArgumentHelp(
      "Require that the store isn't older than this anchor (a line, or a file with it).", valueName: "anchor"),
    completion: .file())
  var anchor: String?

  @Option(
    name: .customLong("require"),
    help: ArgumentHelp(
      "With --anchor, require proof that a newer store descends from the anchor's state, or the same state.",
      valueName: "descent|same"))
  var requiredRelation: Requirement?

  @Flag(help: "With --anchor, accept the new root key of a store that you know was rekeyed since.")
  var allowRekey = false

  func validate() throws {
    if anchor == nil, requiredRelation != nil || allowRekey {
      throw ValidationError("--require and --allow-rekey belong to --anchor")
    }
  }

  var requirement: StoreAnchor.Requirement { requiredRelation?.requirement ?? .sameOrNewer }

  /// Returns the anchor, which is read from a file if the argument is a path.
  func given() throws -> StoreAnchor? { try anchor.map { try StoreAnchor(word: $0) } }
}

extension StoreAnchor {
  private static let prefix = "coffer3:"

  /// Creates an anchor from its line, or from the path of a file with one anchor line.
  init(word: String) throws {
    let line = word.hasPrefix(Self.prefix) ? word : try Self.line(inFile: word)
    do throws(StoreError) {
      try self.init(parsing: line)
    } catch {
      throw Failure(error)
    }
  }

  private static func line(inFile path: String) throws -> String {
    let lines = try lines(inFile: path)
    guard lines.count == 1 else {
      throw Failure.usage("\(path) holds \(lines.isEmpty ? "no anchor line" : "several anchor lines")")
    }
    return lines[0]
  }

  private static func lines(inFile path: String) throws -> [String] {
    String(decoding: try InputFile.contents(of: path, limit: 64 * 1024), as: UTF8.self)
      .split(whereSeparator: \.isNewline).filter { $0.hasPrefix(prefix) }.map(String.init)
  }

  /// Writes the line to a file, or to standard output for `-`. Replaces a file only if it contains an anchor.
  func save(to path: String) throws {
    guard path != InputFile.standardInput else { return try printLines(description) }
    if let size = InputFile.size(of: path), size > 0, try Self.lines(inFile: path).isEmpty {
      throw Failure.failed("\(path) exists, and is no anchor", hint: "choose another file")
    }
    let file = try OutputFile(at: path, isForced: true, inputs: [], permissions: OutputFile.usualPermissions)
    do {
      let output = StandardOutput(to: file)
      try output.write(line: description)
      try output.flush()
      try file.commit()
    } catch {
      file.discard()
      throw error
    }
  }
}

extension StoreAnchor.Relation {
  var words: String {
    switch self {
    case .same: "same"
    case .descendant(let generations): "newer by \(generations)"
    case .newer(let generations): "newer by \(generations), descent not proved"
    case .rekeyed: "rekeyed since, descent not proved"
    }
  }
}
