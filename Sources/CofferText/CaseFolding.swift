/// Unicode's full case folding (CaseFolding.txt, statuses C and F), from the public properties of scalars.
package enum CaseFolding {
  /// Returns a scalar's folding.
  ///
  /// The folding is the lowercase of the uppercase, with three exceptions: dotless i is unchanged, capital sharp s
  /// folds to ss like the lowercase letter, and Cherokee folds to its capitals, which are older than its lowercase
  /// letters.
  package static func folding(_ scalar: Unicode.Scalar) -> String.UnicodeScalarView {
    switch scalar.value {
    case 0x131: return String(scalar).unicodeScalars
    case 0x1E9E: return "ss".unicodeScalars
    case 0x13A0...0x13FF, 0xAB70...0xABBF: return scalar.properties.uppercaseMapping.unicodeScalars
    default:
      var folded = String.UnicodeScalarView()
      for upper in scalar.properties.uppercaseMapping.unicodeScalars {
        folded.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
      }
      return folded
    }
  }
}
