internal import CofferText

/// Scalars grouped by their full case folding, which are computed once from all scalars with case.
struct CaseVariants: Sendable {
  static let table = CaseVariants()

  /// For each folded scalar, all scalars that fold to exactly this scalar, including itself.
  private var single: [UInt32: [UInt32]] = [:]
  /// The scalars that fold to several scalars, such as `ß` to `ss`, by the first of these scalars.
  private var several: [UInt32: [(scalar: UInt32, folded: [UInt32])]] = [:]

  /// The blocks that contain scalars with case.
  private static let blocks: [ClosedRange<UInt32>] = [
    0x41...0x5A, 0x61...0x7A, 0xB5...0x58F, 0x10A0...0x10FF, 0x13A0...0x13FF, 0x1C80...0x1CBF, 0x1D79...0x1FFF,
    0x2126...0x218F, 0x24B6...0x24E9, 0x2C00...0x2D2F, 0xA640...0xA7FF, 0xAB53...0xABBF, 0xFB00...0xFB17,
    0xFF21...0xFF5A, 0x10400...0x104FF, 0x10570...0x105BF, 0x10C80...0x10CFF, 0x10D50...0x10D8F, 0x118A0...0x118DF,
    0x16E40...0x16E7F, 0x16EA0...0x16EDF, 0x1E900...0x1E943,
  ]

  private init() {
    for scalar in Self.blocks.joined().lazy.compactMap({ Unicode.Scalar($0) }) {
      let folded = CaseFolding.folding(scalar).map(\.value)
      guard folded != [scalar.value] else { continue }
      if folded.count == 1 {
        single[folded[0], default: [folded[0]]].append(scalar.value)
      } else {
        several[folded[0], default: []].append((scalar.value, folded))
      }
    }
  }

  /// Returns a text's folded scalars.
  static func fold(_ text: String) -> [UInt32] {
    text.unicodeScalars.flatMap { CaseFolding.folding($0) }.map(\.value)
  }

  /// Returns all scalars that fold to exactly this scalar.
  func variants(ofFolded scalar: UInt32) -> [UInt32] {
    single[scalar] ?? [scalar]
  }

  /// Returns the scalars whose folding has several scalars and begins with this scalar.
  func ligatures(from scalar: UInt32) -> [(scalar: UInt32, folded: [UInt32])] {
    several[scalar] ?? []
  }

  /// Returns the set with all scalars that differ from a member only in case.
  func closure(of set: ScalarSet) -> ScalarSet {
    var added: [UInt32] = []
    for (_, variants) in single where variants.contains(where: set.contains) { added += variants }
    for entries in several.values {
      let folded = Set(entries.filter { set.contains($0.scalar) }.map(\.folded))
      added += entries.filter { folded.contains($0.folded) }.map(\.scalar)
    }
    return set.union(ScalarSet(added))
  }
}
