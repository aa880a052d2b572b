import CofferSealing
import CofferTestSupport
import CofferText
@_spi(_Unicode) import Swift
import Testing

/// Compares the NFC of passphrases and keys with the standard library's normalization.
@Suite struct CanonicalFormsTests {
  /// Normalizes a passphrase, which must equal the normalized key.
  private func normalized(_ scalars: some Sequence<Unicode.Scalar>) throws -> [UInt8] {
    let passphrase = try Passphrase.normalized(Secret(utf8(scalars))).bytes
    let key = NormalizationFormC.normalized(scalars.map(\.value)).map { Unicode.Scalar($0)! }
    #expect(utf8(key) == passphrase)
    return passphrase
  }

  private func expected(_ scalars: [Unicode.Scalar]) -> [UInt8] {
    utf8(String(String.UnicodeScalarView(scalars))._nfc)
  }

  private func utf8(_ scalars: some Sequence<Unicode.Scalar>) -> [UInt8] {
    scalars.flatMap { UTF8.encode($0)! }
  }

  private static let assigned = (1...0x10FFFF).compactMap { Unicode.Scalar($0) }
    .filter { $0.properties.generalCategory != .unassigned && $0.properties.generalCategory != .privateUse }

  /// Scalars that decompose or compose, and a few other scalars.
  private static let lively: [Unicode.Scalar] =
    assigned.filter {
      $0.properties.canonicalCombiningClass != .notReordered || Array(String($0)._nfd) != [$0]
    } + (0x1100...0x11FF).compactMap { Unicode.Scalar($0) }
    + "aeiouAEO <=\u{915}\u{9A1}\u{3B1}\u{5D0}\u{AC00}".unicodeScalars

  /// Normalizes many sequences in one call, separated by a character that doesn't compose.
  private func expectEqual(_ sequences: [[Unicode.Scalar]], _ location: SourceLocation = #_sourceLocation) throws {
    for start in stride(from: 0, to: sequences.count, by: 500) {
      let part = sequences[start..<min(start + 500, sequences.count)]
      let whole = Array(part.joined(separator: ["/"]))
      guard try normalized(whole) != expected(whole) else { continue }
      for sequence in part where try normalized(sequence) != expected(sequence) {
        Issue.record("\(sequence.map { String($0.value, radix: 16) })", sourceLocation: location)
      }
    }
  }

  @Test(.slow) func composesEveryScalar() throws {
    try expectEqual(Self.assigned.map { [$0] })
  }

  @Test func recomposesEveryDecomposition() throws {
    try expectEqual(Self.lively.map { Array(String($0)._nfd) })
  }

  @Test func composesEveryHangulSyllable() throws {
    try expectEqual((0xAC00...0xD7A3).map { Array(String(Unicode.Scalar($0)!)._nfd) })
  }

  /// Tests marks in every order, marks without a base, and letters separated by a mark.
  @Test func ordersAndComposesSequences() throws {
    var generator = Pseudorandom(seed: 0x5EED)
    var sequences: [[Unicode.Scalar]] = []
    for count in 1...8 {
      for _ in 0..<4000 {
        sequences.append((0..<count).map { _ in Self.lively.randomElement(using: &generator)! })
      }
    }
    // Use few bases and marks, so many sequences compose.
    let marks = "\u{300}\u{301}\u{302}\u{308}\u{323}\u{327}\u{328}\u{345}\u{3099}\u{5B4}\u{1100}\u{1161}\u{11A8}"
      .unicodeScalars
    let bases = "aAeoO\u{DC}\u{E2}\u{1EA1}\u{3B1}\u{304B}\u{1100}\u{AC00}\u{AC01}".unicodeScalars
    for _ in 0..<10_000 {
      sequences.append(
        [bases.randomElement(using: &generator)!] + (0..<4).map { _ in marks.randomElement(using: &generator)! })
    }
    try expectEqual(sequences)
  }

  @Test func leavesComposedTextUnchanged() throws {
    var generator = Pseudorandom(seed: 7)
    for _ in 0..<200 {
      let once = try normalized((0..<50).map { _ in Self.lively.randomElement(using: &generator)! })
      #expect(try Passphrase.normalized(Secret(once)).bytes == once)
    }
  }

  /// Starters that decompose only to marks. The standard library doesn't reorder marks across them.
  private static let nonStarterDecompositions: Set<Unicode.Scalar> = ["\u{F73}", "\u{F75}", "\u{F81}"]

  @Test func ordersMarksAcrossDecomposingStarter() throws {
    for (vowel, composite) in [("\u{F72}", "\u{F73}"), ("\u{F74}", "\u{F75}"), ("\u{F80}", "\u{F81}")] {
      let ordered = "\u{F71}\u{F71}" + vowel + vowel
      #expect(try normalized("\u{F71}\(vowel)\(composite)".unicodeScalars) == Array(ordered.utf8))
    }
  }

  /// Normalization skips scalars below U+0300, because they are already composed.
  @Test func leavesLatinLettersUnchanged() throws {
    let latin = (1..<0x300).map { Unicode.Scalar($0)! }
    #expect(try normalized(latin) == utf8(latin) && expected(latin) == utf8(latin))
  }

  /// Pairs from the table compose exactly as in the standard library.
  @Test func composesEveryDecompositionPair() throws {
    var pairs: [[Unicode.Scalar]] = []
    for scalar in Self.lively {
      let parts = Array(String(scalar)._nfd)
      guard parts.count > 1, !Self.nonStarterDecompositions.contains(scalar) else { continue }
      pairs.append([parts[0], parts[1]])
      pairs.append([scalar, parts[1]])
      pairs.append([parts[parts.count - 2], parts[parts.count - 1], scalar])
    }
    try expectEqual(pairs)
  }

  @Test func ordersManyMarks() throws {
    let marks = Array(String(repeating: "\u{301}\u{323}", count: 1000).unicodeScalars)
    #expect(try normalized(["a"] + marks) == expected(["a"] + marks))
  }
}
