import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
@_spi(_Unicode) import Swift
import Testing

@testable import CofferStoreTestSupport

struct KeyFoldingTests {
  @Test(arguments: [
    ("Stra\u{DF}e", "STRASSE"), ("\u{1E9E}", "ss"), ("\u{3A3}\u{3C2}", "\u{3C3}\u{3C3}"), ("\u{212A}", "k"),
    ("\u{FB03}", "FFI"), ("\u{C5}", "a\u{30A}"), ("\u{130}", "i\u{307}"), ("\u{13F8}", "\u{13F0}"),
    ("\u{AB70}", "\u{13A0}"), ("\u{1F80}", "\u{1F08}\u{399}"),
    ("\u{F71}\u{F72}\u{F73}", "\u{F71}\u{F71}\u{F72}\u{F72}"),
  ])
  func ignoresCaseAndComposition(_ one: String, _ other: String) {
    #expect(KeyFolding.fold(one) == KeyFolding.fold(other))
  }

  @Test(arguments: [("i", "\u{131}"), ("a", "\u{E1}"), ("s", "\u{15B}"), ("1", "\u{B9}"), ("\u{FB01}", "f1")])
  func distinguishesOtherKeys(_ one: String, _ other: String) {
    #expect(KeyFolding.fold(one) != KeyFolding.fold(other))
  }

  /// Returns the folded key as defined in FORMAT, "Collections", using the standard library's normalization.
  private func expected(_ key: String) -> [UInt8] {
    var folded = String.UnicodeScalarView()
    for scalar in key._nfc {
      for upper in Self.exceptions[scalar] ?? Array(scalar.properties.uppercaseMapping.unicodeScalars) {
        let isFinal = Self.exceptions[scalar] != nil || Self.cherokee.contains(scalar.value)
        if isFinal { folded.append(upper) } else { folded += upper.properties.lowercaseMapping.unicodeScalars }
      }
    }
    return String(folded)._nfc.flatMap { Array(UTF8.encode($0)!) }
  }

  private static let exceptions: [Unicode.Scalar: [Unicode.Scalar]] = [
    "\u{131}": ["\u{131}"], "\u{1E9E}": ["s", "s"],
  ]
  private static let cherokee = Set((0x13A0...0x13FF).map { UInt32($0) } + (0xAB70...0xABBF).map { UInt32($0) })

  /// Scalars that normalization changes.
  private static let lively = (UInt32(0xC0)...0x10FFFF).compactMap { Unicode.Scalar($0) }.filter {
    $0.properties.canonicalCombiningClass != .notReordered || Array(String($0)._nfd) != [$0]
  }

  @Test(.slow) func scalarsMatchStandardLibraryNormalization() {
    let assigned = (UInt32(0)...0x10FFFF).lazy.compactMap { Unicode.Scalar($0) }
      .filter { $0.properties.generalCategory != .unassigned }
    let different = assigned.filter { KeyFolding.fold(String($0)) != self.expected(String($0)) }
    #expect(different.map { String($0.value, radix: 16) } == [])
  }

  @Test(.slow) func sequencesMatchStandardLibraryNormalization() {
    var random = Pseudorandom(seed: 11)
    var different: [[String]] = []
    for _ in 0..<20_000 {
      var key = String.UnicodeScalarView()
      for _ in 0...random.number(below: 6) {
        key.append(
          random.number(below: 3) == 0
            ? "aE\u{3B1}\u{DC}\u{AC00}".unicodeScalars.randomElement(using: &random)!
            : Self.lively.randomElement(using: &random)!)
      }
      if KeyFolding.fold(String(key)) != expected(String(key)) {
        different.append(key.map { String($0.value, radix: 16) })
      }
    }
    #expect(different == [])
  }

  /// Compares every scalar that Python supports with Python's `casefold`.
  @Test(.enabled(if: SecondReader.isPresent, SecondReader.absence))
  func scalarsMatchPythonCaseFolding() throws {
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
