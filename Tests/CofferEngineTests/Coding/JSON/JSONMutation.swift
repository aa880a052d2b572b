import CofferTestSupport

/// Changes to JSON texts that leave them valid UTF-8.
enum JSONMutation {
  /// Values and parts of JSON to put in place of others.
  private static let parts = [
    "null", "true", "1", "-1", "1.5", "1e400", "300", "\"\"", "\"x\"", "\"\\u00e9\"", "\"\\ud83d\\ude00\"", "[]", "{}",
    "[1]",
    "[null]", "{\"a\":1}", "{\"name\":null,\"name\":1}", ",", ":", "]", "}", "[", "{", "\"", "\\", " ", "\n", "0", "e",
    "18446744073709551616", "\"2001-01-01T00:00:00Z\"",
  ]

  static func change(_ text: String, _ random: inout Pseudorandom) -> String {
    var text = text
    switch random.number(below: 8) {
    case 0...3: replaceValue(in: &text, &random)
    case 4: swapMembers(in: &text, &random)
    case 5: text = spaced(text, &random)
    default:
      var scalars = Array(text.unicodeScalars)
      for _ in 0...random.number(below: 2) {
        let start = random.number(below: scalars.count + 1)
        let end = min(scalars.count, start + random.number(below: 4))
        scalars.replaceSubrange(start..<end, with: Array(parts[random.number(below: parts.count)].unicodeScalars))
      }
      text = ""
      text.unicodeScalars.append(contentsOf: scalars)
    }
    return text
  }

  /// Writes a string with some of its characters escaped.
  static func quoted(_ text: String, _ random: inout Pseudorandom) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
        || (scalar.value < 0x1_0000 && random.number(below: 6) == 0)
      {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// Replaces what follows a colon or comma.
  private static func replaceValue(in text: inout String, _ random: inout Pseudorandom) {
    let marks = text.indices.filter { text[$0] == ":" || text[$0] == "," }
    guard !marks.isEmpty else { return text = parts[random.number(below: parts.count)] }
    let start = text.index(after: marks[random.number(below: marks.count)])
    let end = text[start...].firstIndex { ",]}".contains($0) } ?? text.endIndex
    text.replaceSubrange(start..<end, with: parts[random.number(below: parts.count)])
  }

  /// Moves the first simple members of an object to its end, or repeats them.
  private static func swapMembers(in text: inout String, _ random: inout Pseudorandom) {
    guard text.hasPrefix("{"), text.hasSuffix("}") else { return }
    let members = text.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
    guard members.count > 2 else { return }
    let cut = random.number(below: members.count)
    let moved = Array(members[cut...] + members[..<(random.number(below: 2) == 0 ? cut : members.count)])
    text = "{" + moved.joined(separator: ",") + "}"
  }

  private static func spaced(_ text: String, _ random: inout Pseudorandom) -> String {
    String(
      text.flatMap { character -> [Character] in
        ",:[]{}".contains(character) && random.number(below: 2) == 0 ? [" ", character, "\n", "\t"] : [character]
      })
  }
}
