import Foundation
import Testing

@testable import Coffer
@testable import CofferRecords

struct KeyFoldingTests {
  @Test(arguments: [
    ("Stra\u{DF}e", "STRASSE"), ("\u{1E9E}", "ss"), ("\u{3A3}\u{3C2}", "\u{3C3}\u{3C3}"), ("\u{212A}", "k"),
    ("\u{FB03}", "FFI"), ("\u{C5}", "a\u{30A}"), ("\u{130}", "i\u{307}"), ("\u{13F8}", "\u{13F0}"),
    ("\u{AB70}", "\u{13A0}"), ("\u{1F80}", "\u{1F08}\u{399}"),
  ])
  func keysThatDifferInCaseOrCompositionAreOne(_ one: String, _ other: String) {
    #expect(KeyFolding.fold(one) == KeyFolding.fold(other))
  }

  @Test(arguments: [("i", "\u{131}"), ("a", "\u{E1}"), ("s", "\u{15B}"), ("1", "\u{B9}"), ("\u{FB01}", "f1")])
  func otherKeysStayApart(_ one: String, _ other: String) {
    #expect(KeyFolding.fold(one) != KeyFolding.fold(other))
  }

  /// Every scalar against Python's casefold, as far as Python knows it.
  @Test(.enabled(if: SecondReader.isPresent, "python3 is absent"))
  func everyScalarFoldsAsTheStandardSays() throws {
    let script = """
      import sys, unicodedata as u
      for c in range(0x110000):
          t = chr(c)
          if u.category(t) in ("Cn", "Cs"): continue
          f = u.normalize("NFC", u.normalize("NFC", t).casefold())
          if f != t: print(c, *[ord(x) for x in f])
      """
    let (status, output) = try SecondReader.run(["python3", "-c", script])
    #expect(status == 0)
    var expected: [UInt32: [UInt8]] = [:]
    for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
      let numbers = line.split(separator: " ").compactMap { UInt32($0) }
      var text = String.UnicodeScalarView()
      for number in numbers.dropFirst() { text.append(try #require(Unicode.Scalar(number))) }
      expected[numbers[0]] = Array(String(text).utf8)
    }
    #expect(expected.count > 1400)
    var different: [String] = []
    for (number, folded) in expected {
      let scalar = try #require(Unicode.Scalar(number))
      if KeyFolding.fold(String(scalar)) != folded { different.append(String(number, radix: 16)) }
    }
    #expect(different.sorted() == [])
  }
}
