/// Unicode's canonical decompositions and compositions, from the table in CanonicalForms+Table.swift.
package struct CanonicalForms: Sendable {
  package static let shared = CanonicalForms()

  private struct Entry {
    let scalar: UInt32
    /// The first part's index in `parts`.
    let start: Int
    let count: Int
    let composes: Bool
  }

  /// The entries, sorted by scalar.
  private let entries: [Entry]
  private let parts: [UInt32]
  /// The composites, indexed by `first << 32 | second`.
  private let composites: [UInt64: UInt32]

  private init() {
    var entries: [Entry] = []
    var parts: [UInt32] = []
    var composites: [UInt64: UInt32] = [:]
    var numbers: [UInt32] = []
    var number: UInt32 = 0
    var composes = true
    for byte in UnsafeBufferPointer(start: Self.table.utf8Start, count: Self.table.utf8CodeUnitCount) {
      switch byte {
      case UInt8(ascii: "!"): composes = false
      case UInt8(ascii: " "), UInt8(ascii: ","):
        numbers.append(number)
        number = 0
        guard byte == UInt8(ascii: ",") else { continue }
        entries.append(Entry(scalar: numbers[0], start: parts.count, count: numbers.count - 1, composes: composes))
        parts += numbers.dropFirst()
        if composes { composites[UInt64(numbers[1]) << 32 | UInt64(numbers[2])] = numbers[0] }
        numbers.removeAll(keepingCapacity: true)
        composes = true
      default: number = number << 4 | UInt32(byte < 0x40 ? byte - 0x30 : byte - 0x41 + 10)
      }
    }
    self.entries = entries
    self.parts = parts
    self.composites = composites
  }

  /// The maximum number of scalars in a scalar's decomposition.
  package static let maximumParts = 4

  /// Writes the full decomposition of `scalar` and returns the number of its scalars.
  package func decompose(_ scalar: UInt32, into target: UnsafeMutablePointer<UInt32>) -> Int {
    if let count = Hangul.decompose(scalar, into: target) { return count }
    guard scalar >= 0xC0, let entry = entry(scalar) else {
      target[0] = scalar
      return 1
    }
    guard entry.composes else {
      for index in 0..<entry.count { target[index] = parts[entry.start + index] }
      return entry.count
    }
    // A composite's first part can itself be a composite.
    let count = decompose(parts[entry.start], into: target)
    target[count] = parts[entry.start + 1]
    return count + 1
  }

  /// The scalars that compose with a preceding scalar, and the composites that begin with such a scalar, except Hangul.
  package var extending: Set<UInt32> {
    let seconds = Set(composites.keys.map { UInt32(truncatingIfNeeded: $0) })
    return seconds.union(composites.filter { seconds.contains(UInt32(truncatingIfNeeded: $0.key >> 32)) }.values)
  }

  /// Returns the composite of two scalars, or `nil`.
  package func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    // Scalars below this limit aren't the second part of a composite.
    guard second >= 0x300 else { return nil }
    return Hangul.composite(first, second) ?? composites[UInt64(first) << 32 | UInt64(second)]
  }

  /// Returns the Canonical_Combining_Class, which is 0 for a starter.
  static func combiningClass(_ scalar: UInt32) -> UInt8 {
    scalar < 0x300 ? 0 : Unicode.Scalar(scalar)!.properties.canonicalCombiningClass.rawValue
  }

  private func entry(_ scalar: UInt32) -> Entry? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].scalar == scalar { return entries[middle] }
      if entries[middle].scalar < scalar { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}

/// Hangul syllables, which are computed from their letters (Unicode Standard, section 3.12).
private enum Hangul {
  private static let leading: UInt32 = 0x1100
  private static let vowel: UInt32 = 0x1161
  /// The number before the first trailing consonant, which represents a missing consonant.
  private static let trailing: UInt32 = 0x11A7
  private static let syllable: UInt32 = 0xAC00
  private static let leadingCount: UInt32 = 19
  private static let vowelCount: UInt32 = 21
  private static let trailingCount: UInt32 = 28
  private static let syllableCount = leadingCount * vowelCount * trailingCount

  /// Returns `nil` if the scalar isn't a syllable.
  static func decompose(_ scalar: UInt32, into target: UnsafeMutablePointer<UInt32>) -> Int? {
    guard scalar >= syllable, scalar < syllable + syllableCount else { return nil }
    let index = scalar - syllable
    target[0] = leading + index / (vowelCount * trailingCount)
    target[1] = vowel + index % (vowelCount * trailingCount) / trailingCount
    guard index % trailingCount > 0 else { return 2 }
    target[2] = trailing + index % trailingCount
    return 3
  }

  static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if first >= leading, first < leading + leadingCount, second >= vowel, second < vowel + vowelCount {
      return syllable + ((first - leading) * vowelCount + second - vowel) * trailingCount
    }
    if first >= syllable, first < syllable + syllableCount, (first - syllable) % trailingCount == 0,
      second > trailing, second < trailing + trailingCount
    {
      return first + second - trailing
    }
    return nil
  }
}
