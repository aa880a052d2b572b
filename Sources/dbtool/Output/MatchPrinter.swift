internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

/// Prints the documents found by a search with their matching lines: `ID  TITLE`, then `  NUMBER: LINE` for each line. A
/// stored value has `  PATH NUMBER: LINE` or `  PATH name: NAME`.
///
/// On a terminal, long lines are cut around the match, and matches are highlighted unless `NO_COLOR` is set.
struct MatchPrinter {
  private let output = StandardOutput(readsAhead: true)
  /// The number of lines to print before and after each matching line.
  private let context: Int
  private let showsCollection: Bool
  private let highlights: Bool
  /// The terminal's width, or `nil` if the output isn't a terminal.
  private let width: Int?

  init(context: Int, showsCollection: Bool) {
    self.context = context
    self.showsCollection = showsCollection
    let isTerminal = Terminal.standardOutputIsTerminal
    let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? false
    highlights = isTerminal && !Terminal.forbidsColors && !isDumb
    width = isTerminal ? Terminal.width(of: STDOUT_FILENO) : nil
  }

  func print(_ found: FoundDocument, in collection: String) throws {
    let match = found.match
    let header = match.header
    let start = (showsCollection ? collection + "  " : "") + "\(header.id)"
    try output.write(escapingControls(start))
    if var title = header.title {
      try output.write("  ")
      try title.withUTF8 { title in
        let whole = UnsafeRawBufferPointer(title)
        let line = MatchedLine(number: 0, bytes: 0..<title.count, matches: match.titleRanges)
        try write(line, of: whole, room: width.map { $0 - displayWidth(start) - 2 })
      }
    }
    try output.write("\n")
    try printLines(of: found.document.utf8, match.textRanges, label: "")
    try print(match.values, found.string(of:), prefix: "")
    try print(match.attributes, found.string(ofAttribute:), prefix: "attribute ")
    for attachment in match.attachments {
      var name = attachment.name
      try name.withUTF8 {
        try printLines(of: UnsafeRawBufferPointer($0), attachment.ranges, label: "attachment ", isName: true)
      }
    }
  }

  private func print(_ values: [SearchMatch.Value], _ string: (SearchMatch.Value) -> String?, prefix: String) throws {
    for value in values {
      guard var string = string(value) else { continue }
      let path = prefix + escapingControls(value.path.description) + " "
      try string.withUTF8 {
        try printLines(of: UnsafeRawBufferPointer($0), value.ranges, label: path, isName: value.isMemberName)
      }
    }
  }

  private func printLines(
    of text: UnsafeRawBufferPointer, _ ranges: [Range<Int>], label: String, isName: Bool = false
  ) throws {
    var previous: Int?
    try MatchedLine.forEach(in: text, ranges, context: context) { line in
      if let previous, line.number > previous + 1 { try output.write("  --\n") }
      previous = line.number
      let start = "  \(label)\(isName ? "name" : "\(line.number)")\(line.matches.isEmpty ? "-" : ":") "
      try output.write(start)
      try write(line, of: text, room: width.map { $0 - displayWidth(start) })
      try output.write("\n")
    }
  }

  func finish() throws {
    try output.flush()
  }

  private func write(_ line: MatchedLine, of text: UnsafeRawBufferPointer, room: Int?) throws {
    var left = room ?? .max
    let pieces = line.pieces(of: text, columns: room)
    let whole = pieces.map(\.text).joined()
    var next = whole.startIndex
    for (piece, isMatch) in pieces where left > 0 {
      let start = next
      whole.utf8.formIndex(&next, offsetBy: piece.utf8.count)
      var piece = Terminal.standardOutputIsTerminal ? escapingControls(whole[start..<next], keeping: ["\t"]) : piece
      if room != nil {
        piece = piece.fitting(left)
        left -= displayWidth(piece)
      }
      try output.write(escaped: piece, isHighlighted: isMatch && highlights)
    }
  }
}

/// A line of a text with its matches.
struct MatchedLine {
  /// The line number, from 1.
  let number: Int
  /// The line's range in the text, without its line end.
  let bytes: Range<Int>
  /// The ranges of the matches in the text, clipped to this line. A context line doesn't have matches.
  let matches: [Range<Int>]

  /// Calls a closure for each line with a match, and for the lines around it, in order.
  ///
  /// - Parameter ranges: The matches, in order.
  static func forEach(
    in text: UnsafeRawBufferPointer, _ ranges: [Range<Int>], context: Int = 0, _ body: (MatchedLine) throws -> Void
  ) rethrows {
    var rest = ranges[...]
    var before: [MatchedLine] = []
    var linesBehind = 0
    var (number, start) = (1, 0)
    while start <= text.count, !rest.isEmpty || linesBehind > 0 {
      let end = lineEnd(in: text, from: start)
      var matches: [Range<Int>] = []
      while let range = rest.first, range.lowerBound <= end {
        matches.append(range.clamped(to: start..<end))
        if range.upperBound > end + 1 { break }
        rest = rest.dropFirst()
      }
      let hasReturn = end > start && end < text.count && text[end - 1] == 0x0D
      let line = MatchedLine(number: number, bytes: start..<(hasReturn ? end - 1 : end), matches: matches)
      if !matches.isEmpty {
        for line in before { try body(line) }
        before = []
        try body(line)
        linesBehind = context
      } else if start < text.count || start == 0 {
        if linesBehind > 0 {
          try body(line)
          linesBehind -= 1
        } else if context > 0 {
          before = before.suffix(context - 1) + [line]
        }
      }
      (number, start) = (number + 1, end + 1)
    }
  }

  private static func lineEnd(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
    guard start < text.count, let base = text.baseAddress else { return text.count }
    guard let end = memchr(base + start, 0x0A, text.count - start) else { return text.count }
    return UnsafeRawPointer(end) - base
  }

  /// Returns the line as matching and other pieces, with `…` for omitted parts.
  ///
  /// - Parameter columns: The available columns, or `nil` for the whole line. A longer line begins near its first match.
  func pieces(of text: UnsafeRawBufferPointer, columns: Int?) -> [(text: String, isMatch: Bool)] {
    let shown = columns.map { excerpt(of: text, columns: max(1, $0)) } ?? bytes
    var pieces: [(text: String, isMatch: Bool)] = []
    var place = shown.lowerBound
    func add(upTo end: Int, isMatch: Bool) {
      guard end > place else { return }
      pieces.append((String(decoding: text[place..<end], as: UTF8.self), isMatch))
      place = end
    }
    if shown.lowerBound > bytes.lowerBound { pieces.append(("…", false)) }
    for match in matches {
      add(upTo: min(match.lowerBound, shown.upperBound), isMatch: false)
      add(upTo: min(match.upperBound, shown.upperBound), isMatch: true)
    }
    add(upTo: shown.upperBound, isMatch: false)
    if shown.upperBound < bytes.upperBound { pieces.append(("…", false)) }
    return pieces
  }

  /// Returns at most four bytes for each column, from a quarter of the columns before a distant first match.
  private func excerpt(of text: UnsafeRawBufferPointer, columns: Int) -> Range<Int> {
    var start = bytes.lowerBound
    if let match = matches.first, bytes.count > columns, match.upperBound - start > columns {
      start = min(max(start, match.lowerBound - columns / 4), bytes.upperBound)
    }
    var end = min(bytes.upperBound, start + 4 * columns)
    // Keep multibyte characters whole.
    while start > bytes.lowerBound, start < bytes.upperBound, text[start] & 0xC0 == 0x80 { start -= 1 }
    while end < bytes.upperBound, end > start, text[end] & 0xC0 == 0x80 { end -= 1 }
    return start..<end
  }

  /// Returns the matching lines for programs, with number and text. Long lines are cut around the match.
  static func json(in text: UnsafeRawBufferPointer, _ ranges: [Range<Int>]) -> JSONValue? {
    var lines: [JSONValue] = []
    forEach(in: text, ranges) { line in
      let text = line.pieces(of: text, columns: 250).map(\.text).joined()
      lines.append(.object([("number", .integer(line.number)), ("text", .string(text))]))
    }
    return lines.isEmpty ? nil : .array(lines)
  }
}
