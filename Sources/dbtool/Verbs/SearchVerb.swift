internal import ArgumentParser
internal import Coffer
internal import CofferTerminal

/// `search STORE TEXT`: lists the documents that contain a text, in order.
struct SearchVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Find documents by text, pattern or ranked words.",
    discussion: """
      Opens and searches every text, title and attachment name, in memory and on up to four cores. With a substring \
      index ('index add'), it opens only possible matches. Lists the matching documents in order, like 'ls', and with the \
      matching lines on a terminal or with -n or -C. JSON also has positions and lines. The exit code is 4 if no \
      document matches. -i ignores case by Unicode's full case folding, so 'straße' finds 'STRASSE'. -d ignores \
      accents and other marks, so 'cafe' finds 'café'. Stored values (JSON) are searched string by string, and their \
      lines start with the path. Regular expressions support . [ ] ( ) | * + ? { } ^ $ \\b \\d \\w \\s and similar, \
      but not back references. Their run time grows only with the texts.

        dbtool search texts.coffer 'harbour' --key-file my.key
        dbtool search texts.coffer -i 'straße' -c notes --count
        dbtool search texts.coffer -id 'cafe'
        dbtool search texts.coffer -E '^[0-9]+ EUR$' -m 10 --json
        dbtool search texts.coffer -n -C 2 -e -x
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "The text to find (use -e if it begins with a dash).")
  var text: String?

  @Option(
    name: .customShort("e", allowingJoined: true), parsing: .unconditional,
    help: ArgumentHelp("The text to find instead of TEXT, even if it begins with a dash.", valueName: "pattern"))
  var pattern: String?

  @OptionGroup var choice: CollectionChoice

  @Flag(name: [.customShort("i"), .customLong("ignore-case")], help: "Ignore case.")
  var ignoresCase = false

  @Flag(
    name: [.customShort("d"), .customLong("ignore-diacritics")],
    help: "Ignore accents and other marks, and how characters are composed.")
  var ignoresDiacritics = false

  @Flag(name: [.customShort("E"), .long], help: "Treat TEXT as a regular expression.")
  var regex = false

  @Option(
    name: .customLong("in"),
    help: ArgumentHelp(
      "The parts to search: title, text, attachments (their names), attributes, names (of members in stored values).",
      valueName: "parts"))
  var parts = SearchedParts(fields: .all)

  @Flag(name: [.customShort("n"), .customLong("line-number")], help: "Print the matching lines with their numbers.")
  var showsLines = false

  @Option(
    name: [.customShort("C", allowingJoined: true), .customLong("context")], parsing: .unconditional,
    help: ArgumentHelp("Print the matching lines with this many lines before and after each.", valueName: "n"))
  var context: Int?

  @Flag(help: "Print only the number of matching documents.")
  var count = false

  @Option(
    name: .customShort("m", allowingJoined: true), parsing: .unconditional,
    help: ArgumentHelp("Stop after this many documents.", valueName: "n"))
  var limit: Int?

  @Flag(
    help: """
      Rank by words, with the best documents first. Requires a word index. TEXT can contain AND, OR, NOT, "a phrase", \
      beginn*, NEAR(a b, 5), title: word, names: word.
      """)
  var ranked = false

  @Flag(
    name: .customLong("words"),
    help:
      "Rank by words, like --ranked but without operators, so 'POL-358', \"don't\" and 'C++' don't need quotes.")
  var quotesWords = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("-m takes a number from 1") }
    if let context, context < 0 { throw ValidationError("-C must be 0 or more") }
    guard (text == nil) != (pattern == nil) else {
      throw ValidationError("give one thing to look for: TEXT, or -e PATTERN")
    }
    if ranked, quotesWords { throw ValidationError("--words ranks, too: leave out --ranked") }
    if ranked || quotesWords,
      regex || ignoresCase || ignoresDiacritics || parts.fields != .all || showsLines || context != nil
    {
      throw ValidationError("\(ranked ? "--ranked" : "--words") searches for words: only -c, -m and --count go with it")
    }
    if regex, ignoresDiacritics { throw ValidationError("--regex takes -i, but not -d: write [eé] for both") }
    if showsLines || context != nil, let format = options.common.listFormat, !Self.isObjects(format) {
      throw ValidationError("-n and -C print lines for people: leave out --format \(format.rawValue)")
    }
  }

  private static func isObjects(_ format: ListFormat?) -> Bool { format == .json || format == .ndjson }

  private var isObjects: Bool { Self.isObjects(options.common.listFormat) }

  /// A Boolean value that indicates whether matching lines are printed for people.
  private var printsLines: Bool {
    let wants = showsLines || context != nil || Terminal.standardOutputIsTerminal
    return wants && options.common.listFormat == nil
  }

  func run() throws {
    let text = pattern ?? text ?? ""
    if ranked { return try Self.mentioningWords { try printRanked(text) } }
    if quotesWords { return try printRanked(RankedMatches.query(quoting: text)) }
    var differences: SearchPattern.Differences = ignoresCase ? .case : []
    if ignoresDiacritics { differences.formUnion([.diacritics, .composition]) }
    let pattern: SearchPattern =
      try regex ? .regularExpression(text, ignoring: differences) : .text(text, ignoring: differences)
    let store = try options.open(readOnly: true)
    let found: Int
    if count {
      found = try store.read { try find(pattern, $0, store) { _, _ in } }
      try store.close()
      try printCount(found)
    } else if printsLines {
      var printer: MatchPrinter?
      found = try store.read { reader in
        let names = try choice.names(in: reader, of: store)
        let opened = MatchPrinter(context: context ?? 0, showsCollection: names.count > 1)
        printer = opened
        return try find(pattern, reader, store) { try opened.print($0, in: $1) }
      }
      try store.close()
      try printer?.finish()
    } else {
      let facts =
        isObjects ? ["title_places", "text_places", "lines", "values", "attribute_values", "attachment_names"] : []
      var table: TableWriter?
      found = try store.read { reader in
        let fields = HeaderField.columns(
          HeaderField.short, of: try choice.names(in: reader, of: store), as: options.common.listFormat)
        table = TableWriter(
          columns: fields.map(\.column) + facts.map { .init(name: $0, isNumber: false) },
          format: options.common.listFormat)
        return try find(pattern, reader, store) { document, name in
          var cells = fields.map { $0.value(in: document.document.header, of: name) }
          if isObjects { cells += Self.facts(document) }
          try table?.add(cells)
        }
      }
      try store.close()
      try table?.finish()
    }
    if found == 0 { throw Outcome(.answerIsNo) }
  }

  /// Adds the option without operators to the hint for a word with an operator's character.
  private static func mentioningWords(_ work: () throws -> Void) throws {
    do {
      try work()
    } catch let error as StoreError where error.code == .invalidArgument {
      let failure = Failure(error)
      guard let hint = failure.hint, hint.contains("double quotes") else { throw failure }
      throw Failure(failure.status, kind: failure.kind, failure.message, hint: "\(hint), or use --words")
    }
  }

  /// The number of documents that fit on a screen.
  private static let page = 20

  private func printRanked(_ words: String) throws {
    let store = try options.open(readOnly: true)
    let limit = count ? 1 : limit ?? Self.page
    let found = try store.read { reader in
      var names = try choice.names(in: reader, of: store)
      var unindexed: [String] = []
      if names.count > 1 {
        let indexed = try names.filter {
          try reader.indexes(of: DocumentCollection($0)).contains { if case .words = $0 { true } else { false } }
        }
        // If no collection has an index, the search's own error explains what to do.
        if !indexed.isEmpty {
          unindexed = names.filter { !indexed.containsExactly($0) }
          names = indexed
        }
      }
      var matches: [(match: RankedMatches.Match, collection: String)] = []
      var total = 0
      for name in names {
        let found = try reader.search(
          ranked: words, in: DocumentCollection(name), limit: limit, withSnippets: !count)
        total += found.total
        matches += found.matches.map { ($0, name) }
      }
      if names.count > 1 { matches.sort { $0.match.score > $1.match.score } }
      return (matches: matches.prefix(limit), total: total, names: names, unindexed: unindexed)
    }
    try store.close()
    if count {
      try printCount(found.total)
    } else {
      let fields = HeaderField.columns([.id, .title], of: found.names, as: options.common.listFormat)
      var table = TableWriter(
        columns: [.init(name: "score", isNumber: true)] + fields.map(\.column) + [
          .init(name: "snippet", isNumber: false)
        ]
          + (isObjects ? ["title_places", "snippet_places", "attachment_names"] : []).map {
            .init(name: $0, isNumber: false)
          },
        format: options.common.listFormat)
      for (match, name) in found.matches {
        let score = JSONValue.number((match.score * 1000).rounded() / 1000)
        var cells: [JSONValue?] = [score] + fields.map { $0.value(in: match.header, of: name) }
        let onlyNames = match.titleRanges.isEmpty && match.snippet?.ranges.isEmpty == true && !isObjects
        if onlyNames, !match.attachments.isEmpty {
          cells.append(.string(match.attachments.map(\.name).joined(separator: ", ")))
        } else {
          cells.append(match.snippet.map { .string($0.text) })
        }
        if isObjects {
          cells += [
            Self.json(match.titleRanges), Self.json(match.snippet?.ranges ?? []), Self.json(match.attachments),
          ]
        }
        try table.add(cells)
      }
      try table.finish()
    }
    if !found.unindexed.isEmpty {
      options.common.diagnostics.note("not searched, for want of an index of words: \(listed(found.unindexed))")
    }
    if count ? found.total == 0 : found.matches.isEmpty { throw Outcome(.answerIsNo) }
  }

  /// Calls a closure for each document found, with its collection.
  ///
  /// - Returns: The number of documents found.
  private func find(
    _ pattern: SearchPattern, _ reader: borrowing ReadTransaction, _ store: DocumentStore,
    _ body: (FoundDocument, String) throws -> Void
  ) throws -> Int {
    let known = try reader.collections()
    let names = try choice.names(in: reader, of: store)
    let total = known.reduce(0) { $0 + (names.containsExactly($1.name) ? $1.count : 0) }
    let bar = Progress("search", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    var found = 0
    var searched = 0
    let attachments = try reader.attachmentMatches(of: pattern, fields: parts.fields)
    for name in names where found < limit ?? .max {
      let before = searched
      try reader.forEachMatch(
        of: pattern, in: DocumentCollection(name), fields: parts.fields, limit: (limit ?? .max) - found,
        names: attachments,
        progress: {
          searched = before + $0.done
          bar.update(searched, of: total)
        },
        { document in
          found += 1
          try body(document, name)
        })
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

  /// Returns places as half-open byte ranges, and the matching lines.
  private static func facts(_ found: FoundDocument) -> [JSONValue?] {
    let match = found.match
    let places: [JSONValue?] = [match.titleRanges, match.textRanges].map { $0.isEmpty ? nil : json($0) }
    let lines = MatchedLine.json(in: found.document.utf8, match.textRanges)
    return places + [
      lines, json(match.values, found.string(of:)), json(match.attributes, found.string(ofAttribute:)),
      json(match.attachments),
    ]
  }

  private static func json(_ attachments: [SearchMatch.AttachmentName]) -> JSONValue? {
    guard !attachments.isEmpty else { return nil }
    return .array(
      attachments.map {
        .object([
          ("number", .integer($0.attachment.rawValue)), ("name", .string($0.name)), ("places", json($0.ranges)),
        ])
      })
  }

  private static func json(_ values: [SearchMatch.Value], _ string: (SearchMatch.Value) -> String?) -> JSONValue? {
    guard !values.isEmpty else { return nil }
    return .array(
      values.map { value in
        var string = string(value) ?? ""
        let lines = string.withUTF8 { MatchedLine.json(in: UnsafeRawBufferPointer($0), value.ranges) }
        return JSONValue.object([
          ("path", .string(value.path.description)), ("is_name", .bool(value.isMemberName)),
          ("places", json(value.ranges)), ("lines", lines ?? .array([])),
        ])
      })
  }

  private static func json(_ ranges: [Range<Int>]) -> JSONValue {
    .array(ranges.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
  }
}

/// The parts of documents that `--in` names.
struct SearchedParts: ExpressibleByArgument {
  let fields: SearchPattern.Fields

  init(fields: SearchPattern.Fields) {
    self.fields = fields
  }

  init?(argument: String) {
    let known: [Substring: SearchPattern.Fields] = [
      "title": .title, "text": .text, "names": .memberNames, "attributes": .attributes,
      "attachments": .attachmentNames,
    ]
    var fields: SearchPattern.Fields = []
    for name in argument.split(separator: ",", omittingEmptySubsequences: false) {
      guard let field = known[name] else { return nil }
      fields.insert(field)
    }
    // Member names occur in the text.
    if fields.contains(.memberNames) { fields.insert(.text) }
    self.fields = fields
  }

  var defaultValueDescription: String { "title,text,attachments" }
}
