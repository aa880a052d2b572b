/// A pattern for whole titles: `*` any characters, `?` one, `[a-z]` one of these, `[!a-z]` one of the others, `\` takes
/// the next character as it is.
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

  /// Whether a word has a character that means something else than itself.
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

  /// Takes a set up to its bracket; nil, with nothing taken, where there is none.
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
      // A range the wrong way round holds nothing.
      if first <= last { ranges.append(first...last) }
      isEmpty = false
    }
    return nil
  }

  /// In steps by the product of both lengths at most.
  func matches(_ title: String) -> Bool {
    let title = Array(title)
    var (part, place) = (0, 0)
    /// The last `*`, and the first character that it has not taken.
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
