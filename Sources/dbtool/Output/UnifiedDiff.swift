/// The differing lines of two texts, in the form of `diff -u`.
struct UnifiedDiff {
  private static let context = 3

  private enum Line {
    case same(Substring)
    case removed(Substring)
    case added(Substring)
  }

  private let lines: [Line]

  init(_ before: String, _ after: String) {
    let (left, right) = (Self.lines(of: before), Self.lines(of: after))
    let difference = right.difference(from: left, by: { $0.utf8.elementsEqual($1.utf8) })
    var removed: Set<Int> = []
    var added: Set<Int> = []
    for change in difference {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): added.insert(offset)
      }
    }
    var lines: [Line] = []
    var (here, there) = (0, 0)
    while here < left.count || there < right.count {
      if removed.contains(here) {
        lines.append(.removed(left[here]))
        here += 1
      } else if added.contains(there) {
        lines.append(.added(right[there]))
        there += 1
      } else {
        lines.append(.same(left[here]))
        here += 1
        there += 1
      }
    }
    self.lines = lines
  }

  /// Returns each line with its end, so a last line without a line end differs from the same line with it.
  private static func lines(of text: String) -> [Substring] {
    var lines: [Substring] = []
    var rest = text.utf8[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { rest.index(after: $0) } ?? rest.endIndex
      lines.append(Substring(rest[..<end]))
      rest = rest[end...]
    }
    return lines
  }

  /// The lines of the hunks, without the two lines of names.
  var text: [String] {
    var output: [String] = []
    for hunk in hunks {
      var (before, after) = (0, 0)
      for line in lines[..<hunk.lowerBound] { Self.count(line, &before, &after) }
      var (beforeCount, afterCount) = (0, 0)
      for line in lines[hunk] { Self.count(line, &beforeCount, &afterCount) }
      output.append("@@ -\(Self.range(before, beforeCount)) +\(Self.range(after, afterCount)) @@")
      for line in lines[hunk] {
        switch line {
        case .same(let text): output += Self.shown(" ", text)
        case .removed(let text): output += Self.shown("-", text)
        case .added(let text): output += Self.shown("+", text)
        }
      }
    }
    return output
  }

  /// The ranges of changes with their context. Adjacent ranges are merged.
  private var hunks: [Range<Int>] {
    var hunks: [Range<Int>] = []
    for (index, line) in lines.enumerated() {
      if case .same = line { continue }
      let range = max(0, index - Self.context)..<min(lines.count, index + Self.context + 1)
      if let last = hunks.last, last.upperBound >= range.lowerBound {
        hunks[hunks.count - 1] = last.lowerBound..<range.upperBound
      } else {
        hunks.append(range)
      }
    }
    return hunks
  }

  private static func count(_ line: Line, _ before: inout Int, _ after: inout Int) {
    switch line {
    case .same:
      before += 1
      after += 1
    case .removed: before += 1
    case .added: after += 1
    }
  }

  /// Returns `first,count`. Lines start at 1, and an empty range has the number of the line before it.
  private static func range(_ before: Int, _ count: Int) -> String {
    let first = count == 0 ? before : before + 1
    return count == 1 ? "\(first)" : "\(first),\(count)"
  }

  private static func shown(_ mark: String, _ line: Substring) -> [String] {
    guard line.utf8.last == UInt8(ascii: "\n") else { return [mark + line, "\\ No newline at end of text"] }
    return [mark + String(decoding: line.utf8.dropLast(), as: UTF8.self)]
  }
}
