/// Differences between texts that a search may ignore. Without any, texts are compared byte by byte.
///
/// With ``diacritics`` or ``composition``, characters are compared: a character is a scalar with the marks after it,
/// and with the vowel signs and Hangul letters that join it. A match begins and ends with whole characters, so that it
/// does not depend on how a text is composed: `e` is found in neither form of `é` by ``composition`` alone.
public struct TextDifferences: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Upper and lower case, by Unicode's full case folding: `straße` finds `STRASSE`.
  public static let `case` = TextDifferences(rawValue: 1)
  /// Marks: `cafe` finds `café`, and `и` finds `й`. Composition is ignored, too.
  ///
  /// A mark is a scalar of the category Mn after canonical decomposition. Accents are marks, and so are Hebrew points,
  /// Arabic vowels and some Indic vowel signs; the strokes of `ø` and `ł` are parts of letters, which stay different.
  public static let diacritics = TextDifferences(rawValue: 2)
  /// Canonically equivalent spellings: a composed `é` finds `e` with a combining acute accent, and the reverse.
  public static let composition = TextDifferences(rawValue: 4)

  /// Keeps ``VowelSigns`` apart although ``diacritics`` are ignored, because they are letters of their words.
  package static let exceptVowelSigns = TextDifferences(rawValue: 8)

  package static let all: TextDifferences = [.case, .diacritics, .composition]
}
