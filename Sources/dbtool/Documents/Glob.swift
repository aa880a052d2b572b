/// A pattern for whole titles: `*` matches any characters, `?` one character, `[a-z]` one in the set, `[!a-z]` one outside
/// the set, and `\` the next character literally.
struct Glob {
  private enum Part {
    case any
    case one
    case character(Character)
    case set([ClosedRange<Character>], isNegated: Bool)

    func matches(_ character: Character) -> Bool {
      switch self {
      case .any, .one: true
      case .character(let wanted): wanted == character
      case .set(let ranges, let isNegated): ranges.contains { $0.contains(character) } != isNegated
      }
    }
  }

  private let parts: [Part]

  /// Returns whether a word contains a special character.
  static func isPattern(_ word: String) -> Bool { word.contains { "*?[\\".contains($0) } }

  init(_ pattern: String) {
    var parts: [Part] = []
    var rest = Substring(pattern)
    while let character = rest.popFirst() {
      switch character {
      case "*": parts.append(.any)
      case "?": parts.append(.one)
      case "\\": parts.append(.character(rest.popFirst() ?? "\\"))
      case "[":
        if let set = Self.takeSet(&rest) { parts.append(set) } else { parts.append(.character("[")) }
      default: parts.append(.character(character))
      }
    }
    self.parts = parts
  }

  /// Takes a set up to its bracket. Returns `nil` and leaves `rest` unchanged if the set isn't closed.
  private static func takeSet(_ rest: inout Substring) -> Part? {
    var inner = rest
    let isNegated = inner.first == "!"
    if isNegated { inner.removeFirst() }
    var ranges: [ClosedRange<Character>] = []
    var isEmpty = true
    while let first = inner.popFirst() {
      if first == "]", !isEmpty {
        rest = inner
        return .set(ranges, isNegated: isNegated)
      }
      var last = first
      if inner.first == "-", let end = inner.dropFirst().first, end != "]" {
        last = end
        inner.removeFirst(2)
      }
      // A reversed range is empty.
      if first <= last { ranges.append(first...last) }
      isEmpty = false
    }
    return nil
  }

  /// Returns whether the whole title matches. The number of steps is at most the product of both lengths.
  func matches(_ title: String) -> Bool {
    let title = Array(title)
    var (part, place) = (0, 0)
    /// The last `*`, and the first character after its match.
    var star: (part: Int, place: Int)?
    while place < title.count {
      if part < parts.count, case .any = parts[part] {
        star = (part, place)
        part += 1
      } else if part < parts.count, parts[part].matches(title[place]) {
        part += 1
        place += 1
      } else if let (starPart, starPlace) = star {
        star = (starPart, starPlace + 1)
        (part, place) = (starPart + 1, starPlace + 1)
      } else {
        return false
      }
    }
    return parts[part...].allSatisfy { if case .any = $0 { true } else { false } }
  }
}
