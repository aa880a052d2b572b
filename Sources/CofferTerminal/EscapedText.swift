/// Returns a text with escaped control characters and invisible characters, because a title or name could otherwise
/// control the terminal, or look like another one.
///
/// This is the only place that escapes text for people. ``Invisibility`` knows the characters.
///
/// - Parameters:
///   - text: The text to escape.
///   - kept: Control characters to leave as they are.
///   - isJSON: Whether to escape characters as JSON does: `\u001b` instead of `\u{1B}`.
package func escapingControls(_ text: String, keeping kept: Set<Unicode.Scalar> = [], isJSON: Bool = false) -> String {
  mayHoldControls(text.utf8) ? escapingControls(text[...], keeping: kept, isJSON: isJSON) : text
}

/// Escapes a part of a text. The whole text decides whether a joiner at an end of the part is visible.
package func escapingControls(_ part: Substring, keeping kept: Set<Unicode.Scalar> = [], isJSON: Bool = false) -> String
{
  guard mayHoldControls(part.utf8) else { return String(part) }
  let text = part.base.unicodeScalars
  var escaped = ""
  var index = part.startIndex
  while index < part.endIndex {
    let scalar = text[index]
    if Invisibility.isInvisible(scalar), !kept.contains(scalar), !Invisibility.isVisible(text, at: index) {
      escaped += escape(scalar, isJSON: isJSON)
    } else {
      escaped.unicodeScalars.append(scalar)
    }
    text.formIndex(after: &index)
  }
  return escaped
}

private func escape(_ scalar: Unicode.Scalar, isJSON: Bool) -> String {
  switch scalar {
  case "\n": return "\\n"
  case "\r": return "\\r"
  case "\t": return "\\t"
  default: break
  }
  guard isJSON else { return "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}" }
  return UTF16.encode(scalar)!.reduce(into: "") { text, unit in
    let digits = String(unit, radix: 16)
    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// Returns `false` for most texts without such characters. Each of them starts with one of these bytes.
private func mayHoldControls(_ text: some Sequence<UInt8>) -> Bool {
  text.contains { byte in
    switch byte {
    case 0..<0x20, 0x7F, 0xC2, 0xCD, 0xD8, 0xE1...0xE3, 0xEF, 0xF0, 0xF3: true
    default: false
    }
  }
}
