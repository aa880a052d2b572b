internal import CofferSQLite
package import CofferSealing

/// A store's header and slots, of which salvage may find several copies.
package struct HeaderCopy {
  package let header: StoreHeader
  /// The slots with valid columns.
  package let slots: [KeySlotRecord]
  /// The number of slots that can't be opened.
  package let damagedSlots: Int

  package init(header: StoreHeader, slots: [KeySlotRecord], damagedSlots: Int) {
    self.header = header
    self.slots = slots
    self.damagedSlots = damagedSlots
  }

  /// Reads a spare copy without verifying it (FORMAT, "Spare").
  ///
  /// - Returns: `nil` for invalid bytes.
  package init?(spare bytes: UnsafeRawBufferPointer) {
    let label = Array("coffer3/spare".utf8)
    guard bytes.starts(with: label),
      let parts = PreAuthenticationEncoding.parts(of: UnsafeRawBufferPointer(rebasing: bytes[label.count...])),
      (13...12 + KeySlotRecord.maximumSlots).contains(parts.count), parts[0] == Array("coffer3/header".utf8)
    else { return nil }
    func integer(_ part: [UInt8], _ byteCount: Int) -> SQLiteValue {
      guard part.count == byteCount else { return .null }
      return .integer(Int64(truncatingIfNeeded: part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }))
    }
    let columns: [SQLiteValue] = [
      integer(parts[1], 4), .blob(parts[2]), integer(parts[3], 8), integer(parts[4], 8), integer(parts[5], 8),
      integer(parts[6], 4), integer(parts[7], 8), integer(parts[8], 8), .blob(parts[9]), .blob(parts[10]),
      .blob(parts[parts.count - 1]),
    ]
    guard let header = try? StoreHeader(columns: columns) else { return nil }
    var slots: [KeySlotRecord] = []
    for part in parts[11..<parts.count - 1] {
      let fields = part.withBytes { PreAuthenticationEncoding.parts(of: $0) }
      guard let fields, fields.count == 5, let label = String(validating: fields[2], as: UTF8.self),
        let slot = try? KeySlotRecord(columns: [
          integer(fields[0], 4), integer(fields[1], 4), .text(label), .blob(fields[3]), .blob(fields[4]),
        ])
      else { return nil }
      slots.append(slot)
    }
    self.init(header: header, slots: slots, damagedSlots: 0)
  }
}
