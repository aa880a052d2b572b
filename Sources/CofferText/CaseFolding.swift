/// Unicode's full case folding (CaseFolding.txt, statuses C and F), from the public properties of scalars.
package enum CaseFolding {
  /// The scalars that one scalar folds to.
  ///
  /// Folding is the lower case of the upper case, with three exceptions: dotless i stays itself, capital sharp s folds
  /// to ss like the small one, and Cherokee folds to its capitals, which are older than its small letters.
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
