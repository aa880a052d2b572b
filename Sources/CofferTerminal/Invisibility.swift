/// The characters that a reader can't see, and the places where they change what the reader sees.
///
/// A name with an invisible character looks like another name. Such a character is therefore escaped, unless the text
/// around it makes it visible: a joiner that changes the shape of letters, or a part of an emoji.
enum Invisibility {
  /// Returns whether a scalar controls the terminal, changes the direction of a line, ends a line, or has no glyph
  /// (Default_Ignorable_Code_Point, and the annotation characters).
  static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x300..<0x2000:
      switch scalar.value {
      case 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B...0x180F: true
      default: false
      }
    case 0xAD, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0x3164: true
    case 0xFE00...0xFE0F, 0xFEFF, 0xFFA0, 0xFFF0...0xFFFB: true
    case 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A, 0xE0000...0xE0FFF: true
    default: false
    }
  }

  /// Returns whether the text around an invisible scalar makes it visible.
  static func isVisible(_ text: String.UnicodeScalarView, at index: String.Index) -> Bool {
    switch text[index].value {
    case 0x200C: isAfterVirama(text, index) || isBetweenJoiningLetters(text, index)
    case 0x200D: isAfterVirama(text, index) || isBeforeBengaliPhala(text, index) || isBetweenEmoji(text, index)
    case 0xFE0E, 0xFE0F: isAfterEmoji(text, index)
    case 0xE0020...0xE007F: isInFlag(text, index)
    default: false
    }
  }

  private static func scalar(before index: String.Index, _ text: String.UnicodeScalarView) -> Unicode.Scalar? {
    index > text.startIndex ? text[text.index(before: index)] : nil
  }

  private static func scalar(after index: String.Index, _ text: String.UnicodeScalarView) -> Unicode.Scalar? {
    let next = text.index(after: index)
    return next < text.endIndex ? text[next] : nil
  }
}

// MARK: - Letters

extension Invisibility {
  /// Returns whether a joiner follows a virama, where it selects another form of a conjunct in Indic scripts (RFC 5892,
  /// A.1 and A.2).
  private static func isAfterVirama(_ text: String.UnicodeScalarView, _ index: String.Index) -> Bool {
    scalar(before: index, text)?.properties.canonicalCombiningClass == .virama
  }

  /// Returns whether a joiner is between the Bengali letter ra and a virama, as in র‍্যাব.
  private static func isBeforeBengaliPhala(_ text: String.UnicodeScalarView, _ index: String.Index) -> Bool {
    scalar(before: index, text) == "\u{9B0}" && scalar(after: index, text) == "\u{9CD}"
  }

  /// Returns whether a non-joiner parts two letters of the Arabic script that would join without it (RFC 5892, A.1), as
  /// in می‌خواهم.
  private static func isBetweenJoiningLetters(_ text: String.UnicodeScalarView, _ index: String.Index) -> Bool {
    func isMark(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .nonspacingMark }
    guard let before = text[..<index].suffix(maximumMarks).last(where: { !isMark($0) }),
      let after = text[text.index(after: index)...].prefix(maximumMarks).first(where: { !isMark($0) })
    else { return false }
    return joining(before) == .both && joining(after) != .none
  }

  /// The maximum number of vowel signs to skip.
  private static let maximumMarks = 8

  private enum Joining { case none, toPrevious, both }

  /// Returns how a letter joins its neighbors: the property Joining_Type in the blocks Arabic and Arabic Supplement.
  private static func joining(_ scalar: Unicode.Scalar) -> Joining {
    switch scalar.value {
    case 0x621, 0x640, 0x674, 0x6D4, 0x6DD, 0x6DE, 0x6E5...0x6E9, 0x6F0...0x6F9, 0x6FD, 0x6FE: .none
    case 0x622...0x625, 0x627, 0x629, 0x62F...0x632, 0x648, 0x671...0x673, 0x675...0x677, 0x688...0x699, 0x6C0,
      0x6C3...0x6CB, 0x6CD, 0x6CF, 0x6D2, 0x6D3, 0x6D5, 0x6EE, 0x6EF, 0x759...0x75B, 0x76B, 0x76C, 0x771, 0x773, 0x774,
      0x778, 0x779:
      .toPrevious
    case 0x620...0x64A, 0x66E, 0x66F, 0x678...0x6FF, 0x750...0x77F: .both
    default: .none
    }
  }
}

// MARK: - Emoji

extension Invisibility {
  /// Returns whether a scalar is an emoji, and not a digit or another ASCII character that is one only in a keycap.
  private static func isEmoji(_ scalar: Unicode.Scalar?) -> Bool {
    scalar.map { $0.value >= 0x80 && $0.properties.isEmoji } ?? false
  }

  /// Returns whether a variation selector follows an emoji, or a digit in a keycap.
  private static func isAfterEmoji(_ text: String.UnicodeScalarView, _ index: String.Index) -> Bool {
    let before = scalar(before: index, text)
    return isEmoji(before) || before?.properties.isEmoji == true && scalar(after: index, text) == "\u{20E3}"
  }

  /// Returns whether a joiner makes one emoji of two, as in 👩‍🚀. The first can have a variation selector.
  private static func isBetweenEmoji(_ text: String.UnicodeScalarView, _ index: String.Index) -> Bool {
    var before = scalar(before: index, text)
    if before == "\u{FE0F}" { before = scalar(before: text.index(before: index), text) }
    return isEmoji(before) && isEmoji(scalar(after: index, text))
  }

  /// The tags of the flags of England, Scotland and Wales, behind a black flag. Other tags can hide text.
  private static let flags = ["gbeng", "gbsct", "gbwls"].map { region in
    region.unicodeScalars.map { Unicode.Scalar(0xE0000 + $0.value)! } + ["\u{E007F}"]
  }

  private static func isInFlag(_ text: String.UnicodeScalarView, _ index: String.Index) -> Bool {
    guard let flag = text[...index].suffix(7).lastIndex(of: "\u{1F3F4}") else { return false }
    let tags = text[text.index(after: flag)...].prefix(6)
    return flags.contains { tags.elementsEqual($0) }
  }
}
