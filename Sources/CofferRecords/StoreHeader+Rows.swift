package import CofferSQLite
package import CofferSealing

extension StoreHeader {
  /// Reads the header row, if there is exactly one header and state, and the number of slots is valid.
  ///
  /// - Throws: `otherFormat` for unknown features, or `damaged` for invalid values.
  package init(_ database: StoreDatabase) throws(StoreError) {
    let counts = try database.rows(SQL.rowCounts)[0]
    guard counts[0] == .integer(1), counts[1] == .integer(1) else {
      throw .damagedStore("it has no header or state, or more than one")
    }
    guard case .integer(let slots) = counts[2], (1...Int64(KeySlotRecord.maximumSlots)).contains(slots) else {
      throw .slotCountRefused
    }
    try self.init(columns: try database.rows(SQL.header, ofAtMost: StoreFormat.headerValueLimit)[0].values)
  }

  /// Returns the features, or an empty set if they can't be read. A later version's store is reported as such,
  /// regardless of its other content.
  ///
  /// Only call this method if the header's table has the expected SQL.
  ///
  /// - Throws: `otherFormat` for an unknown feature.
  static func knownFeatures(_ database: StoreDatabase) throws(StoreError) -> StoreFormat.Incompatible {
    let rows = try database.rows(SQL.features, ofAtMost: StoreFormat.headerValueLimit)
    guard rows.count == 1, case .integer(let features) = rows[0][0], features >= 0 else { return [] }
    try requireKnown(UInt64(features), format: StoreFormat.version)
    return StoreFormat.Incompatible(rawValue: UInt64(features))
  }

  private static func requireKnown(_ features: UInt64, format: UInt32) throws(StoreError) {
    let unknown = features & ~StoreFormat.Incompatible.known.rawValue
    guard format <= StoreFormat.version, unknown == 0 else {
      throw StoreError(
        .otherFormat, "made by a later version of this program (format \(format), features \(unknown))",
        hint: "update this program")
    }
  }

  /// Creates a header from the columns of ``SQL/header``, after checking them.
  package init(columns row: [SQLiteValue]) throws(StoreError) {
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
    try Self.requireKnown(incompatible, format: format)
    guard format == StoreFormat.version else { throw .damagedStore("header format is out of its bounds") }
    storeID = try blob(1, StoreFormat.storeIDCount...StoreFormat.storeIDCount, "store_id")
    readOnlyCompatible = try integer(3, .max, "ro_compat")
    compatible = try integer(4, .max, "compat")
    titles = UInt32(try integer(5, StoreFormat.maximumNumber, "titles"))
    rootGeneration = try integer(6, StoreFormat.maximumCounter, "rk_generation")
    phase = try integer(7, StoreFormat.maximumCounter, "phase")
    guard rootGeneration >= 1, phase >= 1 else {
      throw .damagedStore("header rk_generation or phase is out of its bounds")
    }
    commitment = try blob(8, StoreFormat.commitmentCount...StoreFormat.commitmentCount, "rk_commit")
    let sealed = try blob(9, 1...Keyring.byteCount(ofEpochs: Keyring.maximumEpochs), "keyring")
    guard (1...Keyring.maximumEpochs).contains(where: { Keyring.byteCount(ofEpochs: $0) == sealed.count }) else {
      throw .damagedStore("header keyring has another length")
    }
    keyring = sealed
    mac = try blob(10, StoreFormat.macCount...StoreFormat.macCount, "mac")
  }

  /// Writes the columns that a key change affects, the slots, and the spare copy.
  package func update(_ database: StoreDatabase, slots: [KeySlotRecord]) throws(StoreError) {
    try database.execute(
      SQL.updateHeader, Int64(incompatible), Int64(compatible), Int64(titles), Int64(rootGeneration), Int64(phase),
      commitment, keyring,
      mac)
    try insert(slots, into: database)
  }

  /// Replaces a damaged header, its slots and its spare copy.
  package func replace(_ database: StoreDatabase, slots: [KeySlotRecord]) throws(StoreError) {
    try database.execute(SQL.deleteHeader)
    try insert(database, slots: slots)
  }

  /// Requires the spare copy to match this header and these slots.
  ///
  /// - Throws: `damaged`.
  package func requireSpare(_ database: StoreDatabase, slots: [KeySlotRecord]) throws(StoreError) {
    let rows = try database.rows(SQL.spare, ofAtMost: StoreFormat.spareLimit)
    guard rows.count == 1, rows[0][0] == .blob(spareCopy(slots: slots)) else {
      throw .damagedStore("the spare copy of its header is not the one that was written")
    }
  }

  /// Writes a new store's header, slots and spare copy.
  package func insert(_ database: StoreDatabase, slots: [KeySlotRecord]) throws(StoreError) {
    try database.execute(
      SQL.insertHeader, Int64(format), storeID, Int64(incompatible), Int64(readOnlyCompatible), Int64(compatible),
      Int64(titles), Int64(rootGeneration), Int64(phase), commitment, keyring, mac)
    try insert(slots, into: database)
  }

  private func insert(_ slots: [KeySlotRecord], into database: StoreDatabase) throws(StoreError) {
    try database.execute(SQL.deleteSlots)
    for slot in slots.sorted(by: { $0.slot < $1.slot }) { try slot.insert(database) }
    try database.execute(SQL.deleteSpare)
    try database.execute(SQL.insertSpare, spareCopy(slots: slots))
  }
}

extension KeySlotRecord {
  /// Verifies that a store can have a number of slots.
  ///
  /// - Parameter last: The highest slot's number, or `nil` for a new store, whose slots are numbered from 1.
  /// - Throws: `invalidArgument` for too many slots, or `tooLarge` for a number that exceeds the format's limit.
  package static func requireRoom(for count: Int, last: UInt32? = nil) throws(StoreError) {
    guard count <= maximumSlots else {
      throw StoreError(
        .invalidArgument, "a store has at most \(maximumSlots) slots, and this would make \(count)",
        hint: "remove a slot, or give fewer keys")
    }
    guard Int64(last ?? 1) <= StoreFormat.maximumNumber else {
      throw StoreError(.tooLarge, "no more slots can be numbered", hint: "export it into a new store")
    }
  }

  /// Returns all slots with checked columns, sorted by number.
  package static func readAll(_ database: StoreDatabase) throws(StoreError) -> [KeySlotRecord] {
    let rows = try database.rows(SQL.slots, ofAtMost: StoreFormat.headerValueLimit)
    guard (1...maximumSlots).contains(rows.count) else {
      throw .slotCountRefused
    }
    var slots: [KeySlotRecord] = []
    for row in rows { slots.append(try KeySlotRecord(columns: row.values)) }
    return slots
  }

  /// Creates a slot from the columns of ``SQL/slots``, after checking them.
  package init(columns row: [SQLiteValue]) throws(StoreError) {
    let limit = 0...StoreFormat.maximumNumber
    guard case .integer(let slot) = row[0], limit.contains(slot), slot >= 1,
      case .integer(let kind) = row[1], limit.contains(kind)
    else { throw .damagedStore("slot or kind of a slot is out of its bounds") }
    guard case .text(let label) = row[2], label.utf8.count <= Self.maximumLabel else {
      throw .damagedStore("label of slot \(slot) is no text of at most \(Self.maximumLabel) bytes")
    }
    guard case .blob(let parameters) = row[3], parameters.count <= Self.maximumParameters,
      case .blob(let wrapped) = row[4], wrapped.count <= Self.maximumParameters
    else { throw .damagedStore("params or wrapped of slot \(slot) has another length") }
    self.init(slot: UInt32(slot), kind: UInt32(kind), label: label, parameters: parameters, wrapped: wrapped)
  }

  fileprivate func insert(_ database: StoreDatabase) throws(StoreError) {
    try database.execute(SQL.insertSlot, Int64(slot), Int64(kind), label, parameters, wrapped)
  }

  /// Returns the parameters, or `nil` if they're out of bounds or their kind is unknown.
  package func usableParameters(isTest: Bool, isRaised: Bool = false) -> SlotParameters? {
    try? checkedParameters(isTest: isTest, isRaised: isRaised)
  }

  /// Returns the parameters, after checking the limits for their kind of secret.
  package func checkedParameters(isTest: Bool, isRaised: Bool = false) throws(StoreError) -> SlotParameters? {
    do throws(SealingError) {
      return try SlotParameters(kind: kind, bytes: parameters, isTest: isTest, isRaised: isRaised)
    } catch {
      throw StoreError(SealingError(error.code, "slot \(slot): \(error.message)"))
    }
  }
}
