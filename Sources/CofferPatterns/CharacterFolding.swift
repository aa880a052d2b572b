internal import CofferText

/// Folds characters to the scalars that are compared when differences are ignored. Use it on one thread at a time.
///
/// The folded form is NFD(case folding(NFD(character) without marks)). Each step is applied only if the differences
/// require it.
final class CharacterFolding {
  /// The scalars that belong to the preceding character: all marks, scalars that compose with the preceding scalar, and
  /// composites that begin with such a scalar.
  static let extending: ScalarSet = {
    // These ranges include the marks of all planes, except variation selectors.
    let scalars = [0x300..<0x3400, 0xA000..<0xAC00, 0xF900..<0x1F000 as Range<UInt32>].joined().lazy
    let marks = scalars.compactMap { Unicode.Scalar($0) }.filter(isMark).map { $0.value...$0.value }
    let hangul: [ClosedRange<UInt32>] = [0x1160...0x11FF, 0xD7B0...0xD7FF]
    let parts = CanonicalForms.shared.extending.map { $0...$0 }
    return ScalarSet(Array(marks) + hangul + parts + [0xE0100...0xE01EF])
  }()

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }

  /// Returns whether a scalar belongs to the preceding character.
  @inline(__always)
  static func extends(_ scalar: UInt32) -> Bool {
    // Texts with many scalars above U+0300 usually contain ideographs and Hangul syllables.
    guard scalar >= 0x300, !(0x3400...0x9FFF).contains(scalar), !(0xAC00...0xD7A3).contains(scalar) else {
      return false
    }
    return extending.contains(scalar)
  }

  private let differences: TextDifferences
  /// The maximum number of scalars in a character. Longer characters aren't folded, because they don't equal any
  /// character in the pattern.
  private let limit: Int
  private var parts: [UInt32] = []
  private var folded: [UInt32] = []

  // The cached folded form of a character with one or two scalars, by its hash.
  private struct Entry {
    var key: UInt64 = .max
    var count = 0
    var scalars = SIMD8<UInt32>()
  }
  private static let entryCount = 512
  private let entries: UnsafeMutablePointer<Entry>

  /// - Parameter limit: The number of scalars in the folded pattern.
  init(_ differences: TextDifferences, limit: Int) {
    self.differences = differences
    self.limit = limit
    entries = .allocate(capacity: Self.entryCount)
    entries.initialize(repeating: Entry(), count: Self.entryCount)
  }

  deinit {
    entries.deallocate()
  }

  /// Folds the character at `place`, and advances past it.
  ///
  /// - Parameter body: Called with each scalar of the folded form, its index and the last scalar's index. It isn't
  ///   called for a character that consists of ignored marks.
  /// - Returns: `false`, without calling `body`, if the character is too long to equal any character in the pattern.
  @inline(__always)
  func fold(
    _ text: UnsafeRawBufferPointer, _ place: inout Int, _ body: (UInt32, _ index: Int, _ last: Int) -> Void
  ) -> Bool {
    let first = UTF8Scalars.scalar(text, &place)
    var key = UInt64(first)
    var count = 1
    while place < text.count, text[place] >= 0x80 {
      var next = place
      let scalar = UTF8Scalars.scalar(text, &next)
      guard Self.extends(scalar) else { break }
      if count == 1 { begin(first) }
      place = next
      count += 1
      key = count == 2 ? key | UInt64(scalar) << 32 : .max
      if parts.count <= limit { add(scalar) }
    }
    if key != .max {
      // The shift leaves nine bits, because the cache has 2^9 entries.
      let entry = entries + Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 55)
      if entry.pointee.key != key {
        if count == 1 { begin(first) }
        finish()
        guard folded.count <= SIMD8<UInt32>.scalarCount else {
          give(body)
          return true
        }
        entry.pointee.key = key
        entry.pointee.count = folded.count
        for index in folded.indices { entry.pointee.scalars[index] = folded[index] }
      }
      let last = entry.pointee.count - 1
      for index in 0..<entry.pointee.count { body(entry.pointee.scalars[index], index, last) }
      return true
    }
    guard parts.count <= limit else { return false }
    finish()
    give(body)
    return true
  }

  @inline(__always)
  private func give(_ body: (UInt32, _ index: Int, _ last: Int) -> Void) {
    for index in folded.indices { body(folded[index], index, folded.count - 1) }
  }

  private func begin(_ scalar: UInt32) {
    parts.removeAll(keepingCapacity: true)
    add(scalar)
  }

  /// Appends a scalar's decomposition without ignored marks.
  private func add(_ scalar: UInt32) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: CanonicalForms.maximumParts) { buffer in
      let count = CanonicalForms.shared.decompose(scalar, into: buffer.baseAddress!)
      for part in buffer[..<count] where !isIgnored(part) { parts.append(part) }
    }
  }

  private func isIgnored(_ part: UInt32) -> Bool {
    part >= 0x300 && differences.contains(.diacritics)
      && Unicode.Scalar(part)!.properties.generalCategory == .nonspacingMark
      && !(differences.contains(.exceptVowelSigns) && VowelSigns.all.contains(part))
  }

  /// Computes `folded` from `parts`.
  private func finish() {
    parts.withUnsafeMutableBufferPointer { NormalizationFormC.order($0) }
    guard differences.contains(.case) else {
      swap(&parts, &folded)
      return
    }
    folded.removeAll(keepingCapacity: true)
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: CanonicalForms.maximumParts) { buffer in
      for part in parts {
        for scalar in CaseFolding.folding(Unicode.Scalar(part)!) {
          let count = CanonicalForms.shared.decompose(scalar.value, into: buffer.baseAddress!)
          folded += buffer[..<count]
        }
      }
    }
    folded.withUnsafeMutableBufferPointer { NormalizationFormC.order($0) }
  }
}
