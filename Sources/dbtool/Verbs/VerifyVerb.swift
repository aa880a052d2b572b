internal import ArgumentParser
internal import Coffer
internal import CofferEngine

/// `verify STORE`: every document opened, the set of them compared with the sealed one.
struct VerifyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Verify that a store holds what was written, all of it, and nothing else.",
    discussion: """
      Opens every document and compares the set of them with the sealed one. A whole older copy of the file passes, \
      unless an anchor kept elsewhere says how far the store had come.

        dbtool verify texts.coffer --key-file my.key
        dbtool anchor texts.coffer > anchor.txt
        dbtool verify texts.coffer --quick --anchor-file anchor.txt
      """)

  @OptionGroup var options: StoreOptions

  @Flag(help: "The set and SQLite's integrity check only: no document is opened.")
  var quick = false

  @OptionGroup(title: "Anchor") var anchor: AnchorLine
  @OptionGroup(title: "Anchor") var demands: AnchorDemands
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let kept = try anchor.given()
    let store = try options.open(readOnly: true)
    let bar = Progress("verify", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let verdict = try store.verify(
      quick ? .quick : .full, against: kept, requiring: demands.requirement, allowingRekey: demands.rekeyKnown
    ) { step in
      bar.update(step)
    }
    bar.finish()
    let pin = store.pin
    try store.close()
    try report(verdict, pin: pin).print(as: options.common.listFormat)
    if let error = verdict.error {
      throw Failure(error)
    }
  }

  func validate() throws {
    if !demands.isEmpty, anchor.isMissing {
      throw ValidationError("--descends and --rekey-known belong to --anchor or --anchor-file")
    }
  }

  private func report(_ verdict: Verdict, pin: StorePin) -> Report {
    Report([
      ("sound", .bool(verdict.isSound)),
      ("documents", .integer(verdict.documents)),
      ("set", .string(verdict.setMatches ? "matches" : "differs")),
      ("count", .string(verdict.countMatches ? "matches" : "differs")),
      ("anchor", verdict.anchor.map { .string($0.words) }),
      ("pin", .string(pin.description)),
      (
        "damaged",
        .array(
          verdict.damaged.map { damaged in
            .object([("id", .integer(damaged.id.rawValue)), ("reason", .string(damaged.reason))])
          })
      ),
      ("problems", .array((verdict.problems + verdict.indexProblems.map(\.summary)).map { .string($0) })),
    ])
  }
}

/// An anchor that was kept: on the command line, or in a file.
struct AnchorLine: ParsableArguments {
  @Option(help: ArgumentHelp("The store must not be older than this anchor.", valueName: "line"))
  var anchor: String?

  @Option(help: ArgumentHelp("The same, from a file.", valueName: "path"), completion: .file())
  var anchorFile: String?

  func validate() throws {
    if anchor != nil, anchorFile != nil { throw ValidationError("give --anchor or --anchor-file, not both") }
  }

  var isMissing: Bool { anchor == nil && anchorFile == nil }

  func given() throws -> StoreAnchor? {
    try anchorFile.map(Self.read) ?? anchor.map(Self.parse)
  }

  static func parse(_ line: String) throws -> StoreAnchor {
    do throws(StoreError) {
      return try StoreAnchor(parsing: line)
    } catch {
      throw Failure(error)
    }
  }

  /// The one anchor line of a file.
  static func read(_ path: String) throws -> StoreAnchor {
    let lines = String(decoding: try InputFile.contents(of: path, limit: 64 * 1024), as: UTF8.self)
      .split(whereSeparator: \.isNewline)
      .filter { $0.hasPrefix("coffer2:") }
    guard lines.count == 1 else {
      throw Failure.usage("\(path) holds \(lines.isEmpty ? "no anchor line" : "several anchor lines")")
    }
    return try parse(String(lines[0]))
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

/// The demands on a store that is newer than its anchor.
struct AnchorDemands: ParsableArguments {
  @Flag(help: "A newer store must prove that it was made from the anchor's state.")
  var descends = false

  @Flag(help: "You know that the store was rekeyed since: accept its new root key.")
  var rekeyKnown = false

  var isEmpty: Bool { !descends && !rekeyKnown }

  var requirement: StoreAnchor.Requirement { descends ? .descendant : .sameOrNewer }
}
