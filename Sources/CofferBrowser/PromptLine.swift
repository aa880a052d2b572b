internal import CofferTerminal

/// A line for typing at the bottom of the screen.
struct PromptLine {
  let label: String
  private(set) var text = ""

  /// Handles a key, and returns whether it edits the line.
  mutating func take(_ key: TerminalKey) -> Bool {
    switch key {
    case .character(let character): text.append(character)
    case .backspace where !text.isEmpty: text.removeLast()
    case .control("u"): text = ""
    case .control("w"):
      while text.last == " " { text.removeLast() }
      while let last = text.last, last != " " { text.removeLast() }
    default: return false
    }
    return true
  }
}
