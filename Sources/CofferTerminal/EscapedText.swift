/// Returns a text with escaped control characters, because a title or name could otherwise control the terminal.
///
/// - Parameters:
///   - text: The text to escape.
///   - kept: Control characters to leave as they are.
///   - isJSON: Whether to escape characters as JSON does: `\u001b` instead of `\u{1B}`.
package func escapingControls(_ text: String, keeping kept: Set<Unicode.Scalar> = [], isJSON: Bool = false) -> String {
  guard mayHoldControls(text) else { return text }
  var escaped = ""
  for scalar in text.unicodeScalars {
    guard isControl(scalar), !kept.contains(scalar) else {
      escaped.unicodeScalars.append(scalar)
      continue
    }
    let digits = String(scalar.value, radix: 16, uppercase: !isJSON)
    switch scalar {
    case "\n": escaped += "\\n"
    case "\r": escaped += "\\r"
    case "\t": escaped += "\\t"
    case _ where isJSON: escaped += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    default: escaped += "\\u{" + digits + "}"
    }
  }
  return escaped
}

/// Returns `false` for most texts without control characters. Each control character starts with one of these bytes.
private func mayHoldControls(_ text: String) -> Bool {
  text.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xD8 || $0 == 0xE2 }
}

/// Returns whether a scalar is in C0 or C1, is DEL, or changes the direction of a line.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: return true
  default: return false
  }
}
