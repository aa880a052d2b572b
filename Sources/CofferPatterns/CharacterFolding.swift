internal import CofferText

/// Computes the scalars that a character counts as when differences are ignored. Used by one thread at a time.
///
/// The folded form is NFD(case folding(NFD(character) without marks)), each step only if the differences ask for it.
final class CharacterFolding {
  /// Scalars that belong to the character before them: all marks, what composes with the scalar before it, and
  /// composites that begin with such a scalar.
  static let extending: ScalarSet = {
    // Marks of all planes; beyond these ranges there are only variation selectors.
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

  /// Whether a scalar belongs to the character before it.
  @inline(__always)
  static func extends(_ scalar: UInt32) -> Bool {
    // Most texts of many scalars above U+0300 are ideographs and Hangul syllables.
    guard scalar >= 0x300, !(0x3400...0x9FFF).contains(scalar), !(0xAC00...0xD7A3).contains(scalar) else {
      return false
    }
    return extending.contains(scalar)
  }

  private let differences: TextDifferences
  /// A character of more scalars than this is not folded: nothing equals it.
  private let limit: Int
  private var parts: [UInt32] = []
  private var folded: [UInt32] = []

  // The folded forms of characters of one or two scalars, by their hash.
  private struct Entry {
    var key: UInt64 = .max
    var count = 0
    var scalars = SIMD8<UInt32>()
  }
  private static let entryCount = 512
  private let entries: UnsafeMutablePointer<Entry>

  /// - Parameter limit: the number of scalars of the folded pattern.
  init(_ differences: TextDifferences, limit: Int) {
    self.differences = differences
    self.limit = limit
    entries = .allocate(capacity: Self.entryCount)
    entries.initialize(repeating: Entry(), count: Self.entryCount)
  }

  deinit {
    entries.deallocate()
  }

  /// Folds the character that begins at `place`, and advances past it.
  ///
  /// - Parameter body: called with each scalar of the folded form, its index and the index of the last; never for a
  ///   character that only has ignored marks.
  /// - Returns: false, without a call, for a character too long to be equal to any in the pattern.
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
      // Nine bits: as many as entries.
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

  /// Appends the decomposition of a scalar, without ignored marks.
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
