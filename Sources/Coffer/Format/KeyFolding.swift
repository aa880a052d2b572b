@_spi(_Unicode) internal import Swift

/// Keys that differ in case or composition only are one: NFC(full case folding(NFC(key))) (FORMAT, "Collections").
enum KeyFolding {
  static func fold(_ key: String) -> [UInt8] {
    var folded = ""
    for scalar in key._nfc {
      folded.unicodeScalars.append(contentsOf: caseFolding(scalar))
    }
    var bytes: [UInt8] = []
    for scalar in folded._nfc { bytes.append(contentsOf: UTF8.encode(scalar)!) }
    return bytes
  }

  /// Unicode's full case folding of one scalar.
  ///
  /// It is the lower case of the upper case, but for these: dotless i stays itself, capital sharp s is ss like the
  /// small one, and Cherokee folds to its capitals, which are older than its small letters.
  static func caseFolding(_ scalar: Unicode.Scalar) -> String.UnicodeScalarView {
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
