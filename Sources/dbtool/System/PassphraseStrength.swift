internal import Coffer

extension Secret {
  /// Whether a program would find this passphrase among its first guesses: short, of digits alone, or of few characters
  /// that repeat. Others may be weak too; the bytes stay where they are.
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
