internal import CofferSealing

/// The header row as it stands in the file (FORMAT, "Header" and "Header MAC").
struct StoreHeader: Sendable, Equatable {
  var format: UInt32
  var storeID: [UInt8]
  var incompatible: UInt64
  var readOnlyCompatible: UInt64
  var compatible: UInt64
  var titles: UInt32
  var rootGeneration: UInt64
  var commitment: [UInt8]
  var keyring: [UInt8]
  var mac: [UInt8]

  var isTest: Bool { StoreFormat.Incompatible(rawValue: incompatible).contains(.test) }
  var isPadded: Bool { StoreFormat.Incompatible(rawValue: incompatible).contains(.padded) }

  /// The bytes that the header MAC covers, slots in rising order included.
  func authenticatedBytes(slots: [KeySlotRecord]) -> [UInt8] {
    var encoding = PreAuthenticationEncoding("coffer1/header").adding(format).adding(storeID).adding(incompatible)
      .adding(readOnlyCompatible).adding(compatible).adding(titles).adding(rootGeneration).adding(commitment)
      .adding(keyring)
    for slot in slots.sorted(by: { $0.slot < $1.slot }) {
      encoding = encoding.adding(slot.headerPart)
    }
    return encoding.bytes
  }

  /// `coffer-pin-1-` and the hex of store id and commitment.
  var pin: String { "coffer-pin-1-" + hex(storeID + commitment) }
}

/// Lower-case hex digits.
func hex(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  for byte in bytes {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}
