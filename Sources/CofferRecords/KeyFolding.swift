internal import CofferText
@_spi(_Unicode) internal import Swift

/// Keys that differ in case or composition only are one: NFC(full case folding(NFC(key))) (FORMAT, "Collection").
package enum KeyFolding {
  package static func fold(_ key: String) -> [UInt8] {
    var folded = ""
    for scalar in key._nfc {
      folded.unicodeScalars.append(contentsOf: CaseFolding.folding(scalar))
    }
    var bytes: [UInt8] = []
    for scalar in folded._nfc { bytes.append(contentsOf: UTF8.encode(scalar)!) }
    return bytes
  }
}
