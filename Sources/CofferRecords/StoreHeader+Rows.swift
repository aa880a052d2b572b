package import CofferSQLite
package import CofferSealing

extension StoreHeader {
  /// Reads the only header row, if there is exactly one state and the slots are within their bounds.
  ///
  /// - Throws: `newerFormat` for features that this version doesn't know, `damaged` for invalid values.
  package init(_ database: StoreDatabase) throws(StoreError) {
    let counts = try database.rows(SQL.rowCounts)[0]
    guard counts[0] == .integer(1), counts[1] == .integer(1) else {
      throw .damagedStore("it has no header or state, or more than one")
    }
    guard case .integer(let slots) = counts[2], (1...Int64(KeySlotRecord.maximumSlots)).contains(slots) else {
      throw .slotCountRefused
    }
    try self.init(row: try database.rows(SQL.header)[0])
  }

  /// The columns of ``SQL/header``, checked.
  package init(row: SQLiteRow) throws(StoreError) {
    func integer(_ column: Int, _ limit: Int64, _ name: String) throws(StoreError) -> UInt64 {
      guard case .integer(let value) = row[column], value >= 0, value <= limit else {
        throw .damagedStore("header \(name) is out of its bounds")
      }
      return UInt64(value)
    }
    func blob(_ column: Int, _ counts: ClosedRange<Int>, _ name: String) throws(StoreError) -> [UInt8] {
      guard case .blob(let bytes) = row[column], counts.contains(bytes.count) else {
        throw .damagedStore("header \(name) has another length")
      }
      return bytes
    }
    format = UInt32(try integer(0, StoreFormat.maximumNumber, "format"))
    incompatible = try integer(2, .max, "incompat")
    let unknown = incompatible & ~StoreFormat.Incompatible.known.rawValue
    guard format <= StoreFormat.version, unknown == 0 else {
      throw StoreError(
        .newerFormat, "made by a later version of this program (format \(format), features \(unknown))",
        hint: "update this program")
    }
    guard format == StoreFormat.version else { throw .damagedStore("header format is out of its bounds") }
    storeID = try blob(1, StoreFormat.storeIDCount...StoreFormat.storeIDCount, "store_id")
    readOnlyCompatible = try integer(3, .max, "ro_compat")
    compatible = try integer(4, .max, "compat")
    titles = UInt32(try integer(5, StoreFormat.maximumNumber, "titles"))
    rootGeneration = try integer(6, .max, "rk_generation")
    commitment = try blob(7, StoreFormat.commitmentCount...StoreFormat.commitmentCount, "rk_commit")
    let keyringOverhead = XAESKey.overhead + 4
    keyring = try blob(8, keyringOverhead + 36...keyringOverhead + 36 * Keyring.maximumEpochs, "keyring")
    guard (keyring.count - keyringOverhead) % 36 == 0 else { throw .damagedStore("header keyring has another length") }
    mac = try blob(9, StoreFormat.macCount...StoreFormat.macCount, "mac")
  }

  /// Writes the columns that a key change affects.
  package func update(_ database: StoreDatabase) throws(StoreError) {
    try database.execute(SQL.updateHeader, Int64(titles), Int64(rootGeneration), commitment, keyring, mac)
  }

  package func insert(_ database: StoreDatabase) throws(StoreError) {
    try database.execute(
      SQL.insertHeader, Int64(format), storeID, Int64(incompatible), Int64(readOnlyCompatible), Int64(compatible),
      Int64(titles), Int64(rootGeneration), commitment, keyring, mac)
  }
}

extension KeySlotRecord {
  /// Every slot with checked columns, sorted by number.
  package static func readAll(_ database: StoreDatabase) throws(StoreError) -> [KeySlotRecord] {
    let rows = try database.rows(SQL.slots)
    guard (1...maximumSlots).contains(rows.count) else {
      throw .slotCountRefused
    }
    var slots: [KeySlotRecord] = []
    for row in rows { slots.append(try KeySlotRecord(row: row)) }
    return slots
  }

  /// The columns of ``SQL/slots``, checked.
  package init(row: SQLiteRow) throws(StoreError) {
    let limit = 0...StoreFormat.maximumNumber
    guard case .integer(let slot) = row[0], limit.contains(slot), slot >= 1,
      case .integer(let kind) = row[1], limit.contains(kind)
    else { throw .damagedStore("slot or kind of a slot is out of its bounds") }
    guard case .text(let label) = row[2], label.utf8.count <= Self.maximumLabel else {
      throw .damagedStore("label of slot \(slot) is no text of at most \(Self.maximumLabel) bytes")
    }
    guard case .blob(let parameters) = row[3], parameters.count <= Self.maximumParameters,
      case .blob(let wrapped) = row[4], wrapped.count == Self.wrappedCount
    else { throw .damagedStore("params or wrapped of slot \(slot) has another length") }
    self.init(slot: UInt32(slot), kind: UInt32(kind), label: label, parameters: parameters, wrapped: wrapped)
  }

  package func insert(_ database: StoreDatabase) throws(StoreError) {
    try database.execute(SQL.insertSlot, Int64(slot), Int64(kind), label, parameters, wrapped)
  }

  /// The parameters, within the bounds that apply to every kind of secret.
  package func checkedParameters(isTest: Bool, isRaised: Bool = false) throws(StoreError) -> SlotParameters? {
    do throws(SealingError) {
      return try SlotParameters(kind: kind, bytes: parameters, isTest: isTest, isRaised: isRaised)
    } catch {
      throw StoreError(SealingError(error.code, "slot \(slot): \(error.message)"))
    }
  }
}
