internal import CofferText

/// The names of a table's columns, for finding a column by name.
///
/// A name with the same bytes is preferred. Otherwise, names match regardless of case, Unicode composition and
/// surrounding spaces.
struct ColumnNames {
  private let names: [String]
  private let folded: [String]

  init(_ names: [String]) {
    self.names = names
    folded = names.map(Self.folded)
  }

  /// Returns the index of the first column with this name that isn't excluded.
  func index(of name: String, excluding excluded: Set<Int> = []) -> Int? {
    let wanted = Self.folded(name)
    return names.indices.first { names[$0].utf8.elementsEqual(name.utf8) && !excluded.contains($0) }
      ?? folded.indices.first { folded[$0] == wanted && !excluded.contains($0) }
  }

  private static func folded(_ name: String) -> String {
    var folded = String.UnicodeScalarView()
    for scalar in name.unicodeScalars { folded.append(contentsOf: CaseFolding.folding(scalar)) }
    let isSpace: (Unicode.Scalar) -> Bool = { $0.properties.isWhitespace }
    let rest = folded.drop(while: isSpace)
    guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return "" }
    return String(rest[...last])
  }
}
