internal import ArgumentParser
internal import Coffer

/// `search STORE TEXT`: the documents that hold a text, in order.
struct SearchVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Find the documents that hold a text.",
    discussion: """
      Every text and title is opened and searched, in memory and on every core; those found are listed in order, as \
      'ls' does. JSON tells the places too, in bytes of UTF-8 from 0. Nothing found: exit code 4. Case is ignored by \
      Unicode's full case folding: 'straße' finds 'STRASSE'. A regular expression knows . [ ] ( ) | * + ? { } ^ $ \\b \
      \\d \\w \\s and their like, no back references, and takes time that grows with the texts only.

        dbtool search texts.coffer 'harbour' --key-file my.key
        dbtool search texts.coffer -i 'straße' -c notes --count
        dbtool search texts.coffer --regex '^[0-9]+ EUR$' --limit 10 --json
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "What to look for.")
  var text: String

  @OptionGroup var choice: CollectionChoice

  @Flag(name: [.customShort("i"), .customLong("ignore-case")], help: "Ignore case.")
  var ignoresCase = false

  @Flag(help: "TEXT is a regular expression.")
  var regex = false

  @Flag(help: "Look at titles only; no text is opened.")
  var titles = false

  @Flag(help: "Print how many were found, and nothing else.")
  var count = false

  @Option(help: ArgumentHelp("End after so many.", valueName: "n"))
  var limit: Int?

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit takes a number from 1") }
  }

  func run() throws {
    let pattern: SearchPattern =
      if regex {
        try .regularExpression(text, ignoringCase: ignoresCase)
      } else {
        try .text(text, ignoringCase: ignoresCase)
      }
    let store = try options.open(readOnly: true)
    let found = try store.read { try list(pattern, $0, store) }
    try store.close()
    if found == 0 { throw Outcome(.answerIsNo) }
  }

  /// - Returns: how many were found.
  private func list(_ pattern: SearchPattern, _ reader: borrowing StoreReader, _ store: DocumentStore) throws -> Int {
    let known = try reader.collections()
    let names = try choice.names(in: reader, of: store)
    let total = known.reduce(0) { $0 + (names.contains($1.name) ? $1.count : 0) }
    let bar = Progress("search", unit: "documents", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let isObjects = options.common.listFormat == .json || options.common.listFormat == .ndjson
    let fields = isObjects ? HeaderField.allCases : (choice.all ? [.collection] : []) + HeaderField.short
    let places = isObjects ? ["title_places", "text_places"] : []
    var table = TableWriter(
      columns: fields.map(\.column) + places.map { .init(name: $0, isNumber: false) },
      format: options.common.listFormat, output: StandardOutput())
    var found = 0
    var searched = 0
    for name in names where found < limit ?? .max {
      try reader.forEachMatch(
        of: pattern, in: store.collection(name), fields: titles ? .title : .all, limit: (limit ?? .max) - found,
        progress: {
          searched += $0
          bar.update(searched, of: total)
        },
        { document in
          found += 1
          if count { return }
          var cells = fields.map { $0.value(in: document.document.header, of: name) }
          if isObjects { cells += Self.places(document.match) }
          try table.add(cells)
        })
    }
    bar.finish()
    if count {
      try printCount(found)
    } else {
      try table.finish()
    }
    return found
  }

  private func printCount(_ found: Int) throws {
    if options.common.isMachineReadable {
      try Report([("count", .integer(found))]).print(as: options.common.listFormat)
    } else {
      try printLines(String(found))
    }
  }

  /// As pairs of first byte and the one behind the last.
  private static func places(_ match: SearchMatch) -> [JSONValue?] {
    [match.titleRanges, match.textRanges].map { ranges in
      ranges.isEmpty
        ? nil : .array(ranges.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    }
  }
}
