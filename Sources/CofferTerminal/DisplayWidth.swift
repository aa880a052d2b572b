/// Returns the number of terminal columns that a text takes.
package func displayWidth(_ text: String) -> Int {
  if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
  return text.reduce(0) { $0 + displayWidth($1) }
}

/// Returns the number of terminal columns that a character takes.
///
/// Emoji and wide East Asian characters take two columns, and a combining mark without a letter takes zero. An Indic
/// cluster is as wide as all of its scalars.
package func displayWidth(_ character: Character) -> Int {
  let scalars = character.unicodeScalars
  guard let first = scalars.first else { return 0 }
  if first.properties.isEmojiPresentation || scalars.contains("\u{FE0F}") && first.properties.isEmoji { return 2 }
  return scalars.reduce(0) { $0 + displayWidth($1) }
}

package func displayWidth(_ scalar: Unicode.Scalar) -> Int {
  switch scalar.value {
  case 0..<0x300: return 1
  // The middle and last letters of a Hangul syllable join its first letter.
  case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
  case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF,
    0x1F300...0x1F64F, 0x1F680...0x1F9FF, 0x20000...0x3FFFD:
    // Combining marks in these ranges, such as Japanese voiced sound marks, take zero columns.
    return scalar.properties.generalCategory == .nonspacingMark ? 0 : 2
  default:
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return 1
    }
  }
}

extension String {
  /// Returns the text, cut with an ellipsis if it doesn't fit in the given number of columns.
  package func fitting(_ width: Int) -> String {
    guard displayWidth(self) > width else { return self }
    var fitted = ""
    var used = 1
    for character in self {
      used += displayWidth(String(character))
      if used > width { break }
      fitted.append(character)
    }
    return fitted + "…"
  }
}
