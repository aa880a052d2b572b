internal import CofferSealing
internal import CofferText

/// Folds keys that differ only in case or composition to the same bytes: NFC(full case folding(NFC(key))) (FORMAT,
/// "Collections").
package enum KeyFolding {
  package static func fold(_ key: String) -> [UInt8] {
    if let folded = foldedASCII(key) { return folded }
    let composed = NormalizationFormC.normalized(key.unicodeScalars.map(\.value))
    var folded: [UInt32] = []
    for scalar in composed { folded += CaseFolding.folding(Unicode.Scalar(scalar)!).map(\.value) }
    var bytes: [UInt8] = []
    for scalar in NormalizationFormC.normalized(folded) {
      bytes.append(contentsOf: UTF8.encode(Unicode.Scalar(scalar)!)!)
    }
    return bytes
  }

  /// Returns an ASCII key in lowercase, or `nil` for other keys. Most keys are ASCII.
  private static func foldedASCII(_ key: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(key.utf8.count)
    for byte in key.utf8 {
      guard byte < 0x80 else { return nil }
      bytes.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
    }
    return bytes
  }
}
