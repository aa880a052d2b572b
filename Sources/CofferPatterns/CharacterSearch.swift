/// A text to find by characters, ignoring some differences.
final class FoldedText: Sendable {
  /// The maximum number of scalars, which limits a search's memory.
  private static let maximumCount = 10_000

  let differences: TextDifferences
  let scalars: [UInt32]
  /// For each length of a matched prefix, the length of its longest proper prefix that is also its suffix.
  let borders: [Int]
  let scan: CharacterScan
  /// Whether the text begins with a scalar that belongs to the preceding character.
  let beginsWithinCharacter: Bool

  /// - Throws: `empty` if the text contains only ignored marks, or `tooLarge`.
  init(_ text: String, ignoring differences: TextDifferences) throws(PatternError) {
    guard text.utf8.count <= 4 * Self.maximumCount else { throw Self.tooLarge }
    let folding = CharacterFolding(differences, limit: .max)
    var scalars: [UInt32] = []
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { bytes in
      var place = 0
      while place < bytes.count { _ = folding.fold(bytes, &place) { scalar, _, _ in scalars.append(scalar) } }
    }
    guard !scalars.isEmpty else {
      throw PatternError(.empty, "there is nothing to look for: the text only has marks, which are ignored")
    }
    guard scalars.count <= Self.maximumCount else { throw Self.tooLarge }
    self.differences = differences
    self.scalars = scalars
    borders = Borders.borders(of: scalars)
    scan = CharacterScan(for: scalars, ignoringCase: differences.contains(.case))
    beginsWithinCharacter = CharacterFolding.extends(text.unicodeScalars.first!.value)
  }

  private static var tooLarge: PatternError { PatternError(.tooLarge, "the text to look for is too long") }
}

/// A search for a ``FoldedText`` in texts. Use it on one thread at a time.
///
/// The search folds a text character by character to a stream of scalars, and finds the pattern in linear time (Knuth,
/// Morris and Pratt). A match must begin with a character's first scalar and end with a character's last scalar.
final class CharacterSearch {
  private let pattern: FoldedText
  private let folding: CharacterFolding
  /// For each position in the stream at which a current match may begin, the character's position in the text if the
  /// scalar is its first, or -1.
  private let places: UnsafeMutablePointer<Int>
  private let mask: Int

  init(_ pattern: FoldedText) {
    self.pattern = pattern
    folding = CharacterFolding(pattern.differences, limit: pattern.scalars.count)
    var capacity = 1
    while capacity <= pattern.scalars.count { capacity *= 2 }
    places = .allocate(capacity: capacity)
    places.initialize(repeating: -1, count: capacity)
    mask = capacity - 1
  }

  deinit {
    places.deallocate()
  }

  /// Returns the first match at or after `start`, which must be the start of a character.
  func first(in text: UnsafeRawBufferPointer, from start: Int = 0) -> Range<Int>? {
    pattern.scalars.withUnsafeBufferPointer { scalars in
      pattern.borders.withUnsafeBufferPointer { borders in
        var stream = Stream(scalars: scalars, borders: borders, places: places, mask: mask)
        return first(in: text, from: start, &stream)
      }
    }
  }

  private func first(in text: UnsafeRawBufferPointer, from start: Int, _ stream: inout Stream) -> Range<Int>? {
    let ignoresCase = pattern.differences.contains(.case)
    var place = start
    while place < text.count {
      if stream.met == 0 {
        place = pattern.scan.next(in: text, from: place)
        guard place < text.count else { return nil }
        if place > start, isWithinCharacter(text, &place) { continue }
      }
      let begin = place
      let byte = text[place]
      if byte < 0x80, place + 1 == text.count || text[place + 1] < 0x80 {
        place += 1
        let isUpper = ignoresCase && byte &- UInt8(ascii: "A") < 26
        stream.take(UInt32(isUpper ? byte | 0x20 : byte), at: begin, isLast: true)
      } else {
        let isFolded = folding.fold(text, &place) { scalar, index, last in
          stream.take(scalar, at: index == 0 ? begin : -1, isLast: index == last)
        }
        if !isFolded { stream.met = 0 }
      }
      if let begin = stream.found { return begin..<place }
    }
    return nil
  }

  /// Returns whether the scalar at a position belongs to the preceding character, and advances past such a scalar.
  private func isWithinCharacter(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> Bool {
    guard text[place] >= 0x80 else { return false }
    var next = place
    guard CharacterFolding.extends(UTF8Scalars.scalar(text, &next)) else { return false }
    place = next
    return true
  }

  private struct Stream {
    let scalars: UnsafeBufferPointer<UInt32>
    let borders: UnsafeBufferPointer<Int>
    let places: UnsafeMutablePointer<Int>
    let mask: Int
    /// The number of processed scalars.
    private var count = 0
    /// The number of pattern scalars that the last processed scalars match.
    var met = 0
    /// The beginning of the match that ended with the last scalar.
    private(set) var found: Int?

    init(
      scalars: UnsafeBufferPointer<UInt32>, borders: UnsafeBufferPointer<Int>, places: UnsafeMutablePointer<Int>,
      mask: Int
    ) {
      (self.scalars, self.borders, self.places, self.mask) = (scalars, borders, places, mask)
    }

    /// - Parameter place: The character's position in the text for its first scalar, or -1.
    @inline(__always)
    mutating func take(_ scalar: UInt32, at place: Int, isLast: Bool) {
      while met > 0, scalars[met] != scalar { shorten() }
      places[count & mask] = place
      count += 1
      guard scalars[met] == scalar, met > 0 || place >= 0 else { return }
      met += 1
      guard met == scalars.count else { return }
      if isLast { found = places[(count - met) & mask] }
      shorten()
    }

    /// Continues with the longest shorter match that begins with a character.
    private mutating func shorten() {
      repeat { met = borders[met] } while met > 0 && places[(count - met) & mask] < 0
    }
  }
}
