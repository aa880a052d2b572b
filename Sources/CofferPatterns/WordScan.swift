internal import CofferText

/// A scanner that finds a text's words, and folds them to the form that a word index compares (Index-Format, "Words").
/// Use it on one thread at a time.
///
/// ``CharacterSearch`` compares the same form, so a search that ignores the same differences also finds every word that
/// the scanner finds.
package final class WordScan {
  /// The role of a scalar in words.
  private enum Kind: UInt32 {
    case separator, letter
    /// A letter in a script without spaces between words. Each such letter is a word.
    case single
    /// U+200C and U+200D, which continue a word.
    case joiner
    /// A mark, which belongs to the character before it.
    case extending
  }

  /// The word that separates two words in the output if the text has other characters between them, and at least one of
  /// them is a single character. A phrase of single characters is a substring, so it must not continue after a
  /// punctuation mark.
  private static let gap: StaticString = "."
  /// The maximum length of a word in bytes, because FTS5 truncates longer words.
  private static let maximumWord = 1 << 15
  /// The maximum number of scalars in a character, because longer characters don't fit in a query.
  private static let maximumCharacter = 1 << 13

  /// Returns whether a word is the gap between two words, which isn't in the text.
  package static func isGap(_ word: UnsafeRawBufferPointer) -> Bool {
    word.count == gap.utf8CodeUnitCount && word[0] == gap.utf8Start.pointee
  }

  /// Returns whether a scalar belongs to the preceding character. After a separator, such a scalar doesn't belong to a
  /// word.
  package static func isMark(_ scalar: Unicode.Scalar) -> Bool { CharacterFolding.extends(scalar.value) }

  private let keepsDiacritics: Bool
  /// The folding, which is created lazily because words in ASCII don't need it.
  private lazy var folding = CharacterFolding(
    keepsDiacritics ? [.case, .composition] : [.case, .diacritics, .composition, .exceptVowelSigns],
    limit: Self.maximumCharacter)
  /// The last word's folded form.
  private let word: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) private var wordCount = 0
  @exclusivity(unchecked) private var character: [UInt32] = []

  /// A cache of scalars' kinds. The index is the scalar's low bits, and an entry combines the scalar with its kind.
  private let kinds: UnsafeMutablePointer<UInt32>
  private static let kindCount: UInt32 = 1 << 10

  /// The cached form of a character with at most three scalars.
  private struct Form {
    var bytes = SIMD16<UInt8>()
    var key: UInt64 = .max
    var count: UInt8 = 0
  }
  private let forms: UnsafeMutablePointer<Form>
  private static let formCount = 1 << 9

  package init(keepingDiacritics: Bool) {
    keepsDiacritics = keepingDiacritics
    // Allocate space for one more character after the longest word.
    word = .allocate(capacity: Self.maximumWord + 4 * CanonicalForms.maximumParts * Self.maximumCharacter)
    kinds = .allocate(capacity: Int(Self.kindCount))
    kinds.initialize(repeating: 0, count: Int(Self.kindCount))
    forms = .allocate(capacity: Self.formCount)
    forms.initialize(repeating: Form(), count: Self.formCount)
  }

  deinit {
    word.deallocate()
    kinds.deallocate()
    forms.deallocate()
  }

  /// Calls `body` with each word and its range in the text, until `body` returns `false`.
  ///
  /// The word is in its folded form, and is valid only during the call.
  package func forEachWord(
    in text: UnsafeRawBufferPointer, _ body: (_ word: UnsafeRawBufferPointer, _ place: Range<Int>) -> Bool
  ) {
    var place = 0
    // The end of the previous word, and whether that word is a single character.
    var last: (end: Int, isSingle: Bool)?
    func give(_ start: Int, isSingle: Bool, _ form: UnsafeRawBufferPointer) -> Bool {
      guard !form.isEmpty else { return true }
      if let last, last.end < start, last.isSingle || isSingle {
        let gap = UnsafeRawBufferPointer(start: Self.gap.utf8Start, count: Self.gap.utf8CodeUnitCount)
        guard body(gap, last.end..<start) else { return false }
      }
      last = (place, isSingle)
      return body(form, start..<place)
    }
    // Marks at the beginning of the text don't belong to a letter.
    if !text.isEmpty, kind(at: 0, text) == .extending {
      let form = single(text, &place)
      guard give(0, isSingle: true, form) else { return }
    }
    while place < text.count {
      let start = place
      if text[place] < 0x80 {
        guard Self.isASCIILetter(text[place]) else {
          place += 1
          continue
        }
        let (end, isFolded) = Self.asciiRun(text, place)
        if end == text.count || text[end] < 0x80 {
          place = end
          let run = UnsafeRawBufferPointer(rebasing: text[start..<end])
          guard give(start, isSingle: false, isFolded ? run : lowered(run)) else { return }
          continue
        }
      }
      switch kind(at: place, text) {
      case .separator, .extending:
        _ = UTF8Scalars.scalar(text, &place)
        skipMarks(text, &place)
      case .joiner where last.map { $0.end < place || !$0.isSingle } ?? true:
        _ = UTF8Scalars.scalar(text, &place)
        skipMarks(text, &place)
      case .single, .joiner:
        let form = single(text, &place)
        guard give(start, isSingle: true, form) else { return }
      case .letter:
        let form = letters(text, &place)
        guard give(start, isSingle: false, form) else { return }
      }
    }
  }

  // MARK: Words

  private var form: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: word, count: wordCount) }

  /// Returns the end of a run of ASCII letters and digits, and whether the run is already folded.
  @inline(__always)
  private static func asciiRun(_ text: UnsafeRawBufferPointer, _ start: Int) -> (end: Int, isFolded: Bool) {
    var (end, isFolded) = (start, true)
    while end < text.count, isASCIILetter(text[end]) {
      if isCapital(text[end]) { isFolded = false }
      end += 1
    }
    return (end, isFolded)
  }

  @inline(__always)
  private func lowered(_ run: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    wordCount = min(run.count, Self.maximumWord)
    for index in 0..<wordCount { word[index] = Self.isCapital(run[index]) ? run[index] | 0x20 : run[index] }
    return form
  }

  /// Folds a word with several characters, and advances past it.
  private func letters(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> UnsafeRawBufferPointer {
    wordCount = 0
    while place < text.count {
      let byte = text[place]
      if byte < 0x80, place + 1 == text.count || text[place + 1] < 0x80 {
        guard Self.isASCIILetter(byte) else { break }
        place += 1
        word[wordCount] = Self.isCapital(byte) ? byte | 0x20 : byte
        if wordCount < Self.maximumWord { wordCount += 1 }
        continue
      }
      let kind = kind(at: place, text)
      guard kind == .letter || kind == .joiner else { break }
      appendCharacter(text, &place)
    }
    return form
  }

  /// Folds a single-character word, and advances past it.
  @inline(__always)
  private func single(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> UnsafeRawBufferPointer {
    let start = place
    let scalar = UTF8Scalars.scalar(text, &place)
    if Self.isIdeograph(scalar), place == text.count || kind(at: place, text) != .extending {
      return UnsafeRawBufferPointer(rebasing: text[start..<place])
    }
    place = start
    wordCount = 0
    appendCharacter(text, &place)
    return form
  }

  // MARK: Characters

  /// Appends a character's folded form to `word`, and advances past the character.
  @inline(__always)
  private func appendCharacter(_ text: UnsafeRawBufferPointer, _ place: inout Int) {
    let start = place
    var key = UInt64(UTF8Scalars.scalar(text, &place))
    var shift: UInt64 = 21
    while place < text.count, text[place] >= 0x80 {
      var next = place
      let scalar = UTF8Scalars.scalar(text, &next)
      guard kind(of: scalar) == .extending else { break }
      place = next
      key = shift < 63 ? key | UInt64(scalar) << shift : .max
      shift += 21
    }
    guard wordCount < Self.maximumWord else { return }
    // The shift leaves nine bits, because the cache has 2^9 forms.
    let known = forms + Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 55)
    if key == .max || known.pointee.key != key {
      let count = fold(text, start)
      guard key != .max, count <= SIMD16<UInt8>.scalarCount else {
        wordCount += count
        return
      }
      known.pointee.key = key
      known.pointee.count = UInt8(count)
      for index in 0..<count { known.pointee.bytes[index] = word[wordCount + index] }
    }
    UnsafeMutableRawPointer(word + wordCount).storeBytes(of: known.pointee.bytes, as: SIMD16<UInt8>.self)
    wordCount += Int(known.pointee.count)
  }

  /// Writes a character's folded form after the current bytes in `word`, and returns its number of bytes.
  private func fold(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var place = start
    character.removeAll(keepingCapacity: true)
    let isFolded = folding.fold(text, &place) { scalar, _, _ in character.append(scalar) }
    // Use a noncharacter if the character is too long, because such a character doesn't equal any other character.
    if !isFolded { character.append(0xFFFF) }
    if character.count > 1 { orderForPrefixes() }
    var end = wordCount
    for scalar in character {
      for byte in UTF8.encode(Unicode.Scalar(scalar)!)! {
        word[end] = byte
        end += 1
      }
    }
    return end - wordCount
  }

  /// Moves a character's marks and vowel signs before its letter, and composes Hangul syllables. A byte prefix that
  /// includes the letter then always includes the whole character.
  private func orderForPrefixes() {
    var letter = 0
    while letter < character.count {
      var end = letter + 1
      while end < character.count, CharacterFolding.extends(character[end]) {
        if end == letter + 1, let syllable = Self.syllable(character[letter], character[end]) {
          character[letter] = syllable
          character.remove(at: end)
        } else {
          end += 1
        }
      }
      character.insert(character.remove(at: letter), at: end - 1)
      letter = end
    }
  }

  private static func syllable(_ first: UInt32, _ second: UInt32) -> UInt32? {
    guard (0x1100...0x1112).contains(first) || isSyllable(first) else { return nil }
    return CanonicalForms.shared.composite(first, second)
  }

  // MARK: Scalars

  @inline(__always)
  private static func isASCIILetter(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
  }

  @inline(__always)
  private static func isCapital(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "A") < 26 }

  /// Returns whether a scalar is an ideograph or syllable that folding changes only together with marks.
  @inline(__always)
  private static func isIdeograph(_ scalar: UInt32) -> Bool {
    (0x3400...0x9FFF).contains(scalar) && !(0x4DC0...0x4DFF).contains(scalar) || isSyllable(scalar)
  }

  @inline(__always)
  private static func isSyllable(_ scalar: UInt32) -> Bool { (0xAC00...0xD7A3).contains(scalar) }

  private func skipMarks(_ text: UnsafeRawBufferPointer, _ place: inout Int) {
    while place < text.count, text[place] >= 0x80 {
      var next = place
      guard kind(of: UTF8Scalars.scalar(text, &next)) == .extending else { return }
      place = next
    }
  }

  @inline(__always)
  private func kind(at place: Int, _ text: UnsafeRawBufferPointer) -> Kind {
    var next = place
    return kind(of: UTF8Scalars.scalar(text, &next))
  }

  @inline(__always)
  private func kind(of scalar: UInt32) -> Kind {
    if Self.isIdeograph(scalar) { return .single }
    let entry = kinds + Int(scalar & (Self.kindCount - 1))
    // A zero entry is correct for U+0000, and doesn't match any other scalar.
    if entry.pointee >> 3 != scalar { entry.pointee = scalar << 3 | Self.kind(of: scalar).rawValue }
    return Kind(rawValue: entry.pointee & 7)!
  }

  private static func kind(of scalar: UInt32) -> Kind {
    if scalar == 0x200C || scalar == 0x200D { return .joiner }
    if CharacterFolding.extends(scalar) { return .extending }
    switch Unicode.Scalar(scalar)!.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber:
      return scriptsWithoutSpaces.contains(scalar) ? .single : .letter
    case .decimalNumber, .otherNumber, .privateUse: return .letter
    default: return .separator
    }
  }

  /// Scripts without spaces between words, and Hangul, whose particles follow a word without a space.
  private static let scriptsWithoutSpaces = ScalarSet([
    // Thai and Lao, Myanmar, Hangul letters, Khmer, Tai Le and New Tai Lue, Buginese and Tai Tham, Balinese
    0xE01...0xEFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17FF, 0x1950...0x19DF, 0x1A00...0x1AAF, 0x1B00...0x1B7F,
    // Han, Kana, Bopomofo, Hangul, Yi
    0x3005...0x312F, 0x3131...0x318E, 0x31A0...0x31FF, 0x3400...0x9FFF, 0xA000...0xA48C,
    // Javanese and Myanmar, Tai Viet, Hangul, Han, halfwidth Kana and Hangul
    0xA960...0xA9FF, 0xAA60...0xAADF, 0xAC00...0xD7FF, 0xF900...0xFAFF, 0xFF66...0xFFDC,
    // Myanmar, Ahom, cuneiform and hieroglyphs, Tangut, Khitan, Kana, Nushu, Han
    0x116D0...0x1174F, 0x12000...0x1467F, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x20000...0x3FFFF,
  ])
}
