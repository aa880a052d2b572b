import CofferTestSupport
import Testing

@testable import CofferPatterns

/// Tests the words of texts and their folded forms.
struct WordScanTests {
  private func words(_ text: String, keepingDiacritics: Bool = false) -> [String] {
    let scan = WordScan(keepingDiacritics: keepingDiacritics)
    var words: [String] = []
    Array(text.utf8).withUnsafeBytes { bytes in
      scan.forEachWord(in: bytes) { word, _ in
        words.append(String(decoding: word, as: UTF8.self))
        return true
      }
    }
    return words
  }

  private func isIdentical(_ one: [String], _ two: [String]) -> Bool {
    one.map { Array($0.utf8) } == two.map { Array($0.utf8) }
  }

  @Test(arguments: [
    ("STRASSE", "straße"), ("Straẞe", "strasse"), ("ﬁne", "FINE"), ("άνεμος", "ΑΝΕΜΟΣ"), ("ή", "η"), ("ёлка", "ЕЛКА"),
    ("й", "и"), ("café", "CAFE\u{301}"), ("naïve", "naive"), ("Việt", "viet"), ("\u{212B}ngstrom", "ångstrom"),
    ("\u{212A}elvin", "kelvin"), ("ſ", "S"), ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("ᏣᎳᎩ", "ꮳꮃꭹ"), ("Թե", "թԵ"),
    ("և", "եւ"),
    ("ⴀ", "Ⴀ"), ("Ა", "ა"), ("𐐀", "𐐨"), ("𞤀", "𞤢"), ("\u{958}", "\u{915}\u{93C}"), ("\u{9CB}", "\u{9C7}\u{9BE}"),
    ("चाँद", "चांद"), ("\u{CCB}", "\u{CC6}\u{CC2}\u{CD5}"), ("한", "\u{1112}\u{1161}\u{11AB}"), ("각", "가\u{11A8}"),
    ("が", "か\u{3099}"), ("\u{F900}", "豈"), ("ที่", "ที"), ("Ⅷ", "ⅷ"), ("ǰ", "J\u{30C}"), ("ᾳ", "α"),
    ("\u{16D43}\u{16D68}", "\u{16D43}\u{16D67}\u{16D67}"), ("\u{F40}\u{F76}", "\u{F40}\u{FB2}\u{F80}"),
  ]) func foldsAsSearchDoes(_ one: String, _ two: String) {
    #expect(isIdentical(words(one), words(two)), "\(words(one)) \(words(two))")
  }

  @Test(arguments: [
    ("कि", "की"), ("कु", "कू"), ("के", "कै"), ("क", "कि"), ("కి", "కీ"), ("පි", "පී"), ("පෙ", "පේ"), ("பி", "பீ"), ("ਕਿ", "ਕੀ"),
    ("કુ", "કૂ"), ("ಕಿ", "ಕೀ"), ("കി", "കീ"), ("กิน", "กัน"), ("កិ", "កី"), ("ကိ", "ကီ"), ("ø", "o"), ("ł", "l"), ("ı", "i"),
    ("か", "カ"), ("한", "하"), ("می\u{200C}رود", "میرود"), ("ന്\u{200D}", "ന്"), ("\u{F40}\u{F76}", "\u{F40}\u{F78}"),
    ("\u{11208}\u{11241}", "\u{11208}"), ("\u{11392}\u{113BB}", "\u{11392}\u{113C0}"),
    ("\u{11F12}\u{11F36}", "\u{11F12}\u{11F3A}"), ("\u{11F12}\u{11F40}", "\u{11F12}"),
    ("\u{16100}\u{1611E}", "\u{16100}\u{16129}"), ("\u{11191}\u{11B60}", "\u{11191}\u{11B62}"),
    ("\u{11191}\u{11B64}", "\u{11191}\u{11B66}"),
  ]) func keepsLettersApart(_ one: String, _ two: String) {
    #expect(!isIdentical(words(one), words(two)))
    #expect(!isIdentical(words(one, keepingDiacritics: true), words(two, keepingDiacritics: true)))
  }

  @Test(arguments: [("café", "cafe"), ("й", "и"), ("ά", "α"), ("שָׁ", "ש"), ("が", "か"), ("ที่", "ที"), ("क़", "क")])
  func keepsDiacriticsOnRequest(_ one: String, _ two: String) {
    #expect(isIdentical(words(one), words(two)))
    #expect(!isIdentical(words(one, keepingDiacritics: true), words(two, keepingDiacritics: true)))
  }

  @Test(arguments: [
    ("Don't stop POL-358, C++!", ["don", "t", "stop", "pol", "358", "c"]), ("a_b a\0b", ["a", "b", "a", "b"]),
    ("悬空引用", ["悬", "空", "引", "用"]), ("悬空。引用", ["悬", "空", ".", "引", "用"]), ("Swift語言 5", ["swift", "語", "言", ".", "5"]),
    ("第3章", ["第", "3", "章"]), ("バグ", ["ハ", "ク"]), ("바람이", ["바", "람", "이"]), ("๒๕ ปี", ["๒๕", ".", "\u{E35}ป"]),
    ("a\u{301}\u{200D}", ["a\u{200D}"]), ("= \u{301}a\u{338} ≠", ["a"]), ("🙂a\u{20E3}", ["\u{20E3}a"]), ("", []),
    ("\u{301}", []),
    ("\u{F7C}བ", ["\u{F7C}", "བ"]), ("䷀卦䷿ \u{4DFF}a䷀b", ["卦", ".", "a", "b"]), ("䶿一", ["䶿", "一"]),
  ]) func dividesTexts(_ text: String, _ expected: [String]) {
    #expect(isIdentical(words(text), expected), "\(words(text))")
  }

  @Test(arguments: ["क", "ക", "라", "か", "e", "ក"]) func prefixEndsWithWholeCharacter(_ letter: String) {
    for mark in ["\u{93F}", "\u{D3F}", "\u{11B7}", "\u{3099}", "\u{301}", "\u{17B7}"] {
      let (short, long) = (words(letter, keepingDiacritics: true), words(letter + mark, keepingDiacritics: true))
      #expect(short.count == 1 && long.count == 1)
      #expect(!Array(long[0].utf8).starts(with: Array(short[0].utf8)), "\(letter + mark)")
    }
  }

  @Test func givesPlacesOfWords() {
    let text = "Öl, ﬁne 空\u{301}の"
    var places: [String] = []
    var text8 = text
    text8.withUTF8 { bytes in
      WordScan(keepingDiacritics: false).forEachWord(in: UnsafeRawBufferPointer(bytes)) { _, place in
        places.append(String(decoding: UnsafeRawBufferPointer(bytes)[place], as: UTF8.self))
        return places.count < 5
      }
    }
    #expect(isIdentical(places, ["Öl", "ﬁne", " ", "空\u{301}", "の"]))
  }

  @Test func boundsWordsAndCharacters() {
    let long = words(String(repeating: "Ab", count: 50_000) + " " + String(repeating: "é", count: 50_000))
    #expect(long.count == 2 && long.allSatisfy { $0.utf8.count <= 1 << 15 + 4 })
    let marked = "a" + String(repeating: "\u{301}", count: 100_000)
    #expect(words(marked) == ["a"])
    #expect(isIdentical(words(marked, keepingDiacritics: true), ["\u{FFFF}"]))
  }
}
