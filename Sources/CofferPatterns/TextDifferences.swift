/// The differences between texts that a search ignores. Without differences, texts are compared byte by byte.
///
/// With ``diacritics`` or ``composition``, characters are compared. A character is a scalar with the following marks,
/// and with the vowel signs and Hangul letters that join it. A match begins and ends with whole characters, so it
/// doesn't depend on a text's composition. For example, with only ``composition``, `e` doesn't match either form of
/// `é`.
public struct TextDifferences: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Uppercase and lowercase, with Unicode's full case folding. For example, `straße` finds `STRASSE`.
  public static let `case` = TextDifferences(rawValue: 1)
  /// Marks. For example, `cafe` finds `café`, and `и` finds `й`. Composition is also ignored.
  ///
  /// A mark is a scalar in the category Mn after canonical decomposition. Accents are marks, and so are Hebrew points,
  /// Arabic vowels and some Indic vowel signs. The strokes of `ø` and `ł` are parts of letters, so they aren't ignored.
  public static let diacritics = TextDifferences(rawValue: 2)
  /// Canonically equivalent spellings. For example, a composed `é` finds `e` with a combining acute accent, and vice
  /// versa.
  public static let composition = TextDifferences(rawValue: 4)

  /// Distinguishes ``VowelSigns`` even if ``diacritics`` are ignored, because vowel signs are letters of their words.
  package static let exceptVowelSigns = TextDifferences(rawValue: 8)

  package static let all: TextDifferences = [.case, .diacritics, .composition]
}
