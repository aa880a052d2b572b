internal import Coffer

extension Secret {
  /// A Boolean value that indicates whether a program can guess this passphrase quickly, because it's short, contains
  /// only digits, or repeats a few characters. Other passphrases can also be weak. Doesn't copy the bytes.
  var isVeryWeak: Bool {
    withUnsafeBytes { bytes in
      let isNumber = bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      var (low, high) = (UInt128(0), UInt128(0))
      for byte in bytes {
        if byte < 128 { low |= 1 << UInt128(byte) } else { high |= 1 << UInt128(byte - 128) }
      }
      let different = low.nonzeroBitCount + high.nonzeroBitCount
      return bytes.count < 10 || isNumber && bytes.count < 16 || different < 5
    }
  }
}
