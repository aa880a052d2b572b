internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

// Changes to the header and slots.

extension StoreTransaction {
  /// Reads the header and slots, and verifies them with the root key in memory.
  package func proveHeader() throws(StoreError) -> (keys: SessionKeys, slots: [KeySlotRecord]) {
    let (header, slots) = try connection.file.readHeader()
    return (try connection.file.keys(under: keys.session.root, header: header, slots: slots), slots)
  }

  /// Switches to other keys for sealing and opening.
  func use(_ keys: SessionKeys) throws(StoreError) {
    try connection.use(keys)
    if isOpen, isWriter { try writer.use(connection.keys) }
  }

  /// Returns whether the commit changes the header's features, because indexes were created or dropped, because the
  /// store has attachments now, or because unknown features may contain changed or deleted documents.
  func changesFeatures() throws(StoreError) -> Bool {
    let compatible = keys.session.header.compatible
    if let hasIndexesAfter, hasIndexesAfter != (compatible & IndexTables.feature != 0) { return true }
    if let hasReleasesAfter, hasReleasesAfter != (compatible & ReleaseTable.feature != 0) { return true }
    if isWriter, try writer.hasNewAttachmentTables { return true }
    guard compatible != 0, isWriter, try writer.changes.staleTexts != [] else { return false }
    return try unknownFeatures(of: compatible) != 0
  }

  /// Commits a transaction that changes the header's features.
  func commitChangingFeatures() throws(StoreError) {
    let (old, slots) = try proveHeader()
    var header = old.header
    if try writer.changes.staleTexts != [] { try clearUnknownFeatures(in: &header) }
    if let hasIndexesAfter {
      header.compatible = header.compatible & ~IndexTables.feature | (hasIndexesAfter ? IndexTables.feature : 0)
    }
    if let hasReleasesAfter {
      header.compatible = header.compatible & ~ReleaseTable.feature | (hasReleasesAfter ? ReleaseTable.feature : 0)
    }
    if try writer.hasNewAttachmentTables { header.incompatible |= StoreFormat.Incompatible.attachments.rawValue }
    header.mac = try header.authenticate(slots, under: old.headerMACKey)
    try commit(try SessionKeys(root: old.root, header: header, slots: slots), slots)
  }

  /// Empties the tables of unknown features and clears their bits, because the tables may contain data that the
  /// transaction deletes or changes (FORMAT, "Features").
  func clearUnknownFeatures(in header: inout StoreHeader) throws(StoreError) {
    let unknown = try unknownFeatures(of: header.compatible)
    guard unknown != 0 else { return }
    header.compatible -= unknown
    try emptyTables(SQL.unknownFeatureTables)
  }

  /// Returns the bits of unknown features, including index and release features if their tables have a different
  /// schema.
  private func unknownFeatures(of compatible: UInt64) throws(StoreError) -> UInt64 {
    var unknown = compatible
    if compatible & IndexTables.feature != 0, try IndexTables(database).exist() { unknown -= IndexTables.feature }
    if compatible & ReleaseTable.feature != 0, try ReleaseTable(database).exists() { unknown -= ReleaseTable.feature }
    return unknown
  }

  /// Empties SQLite's statistics, which contain unencrypted titles, and blind indexes under old keys.
  func clearStatistics() throws(StoreError) {
    try emptyTables(SQL.statisticsTables)
  }

  private func emptyTables(_ sql: String) throws(StoreError) {
    for row in try database.rows(sql) {
      guard case .text(let name) = row[0] else { continue }
      try database.execute(SQL.emptyTable(name))
    }
  }

  /// Seals a keyring under the same root key in its next phase, and commits (FORMAT, "Phases").
  ///
  /// - Parameters:
  ///   - old: The keys of the header that this transaction verified.
  ///   - slots: The slots that this transaction verified. They're unchanged.
  package func commitNextPhase(_ old: SessionKeys, _ slots: [KeySlotRecord], keyring: Keyring) throws(StoreError) {
    let root = old.root
    var header = old.header
    guard header.phase < UInt64(StoreFormat.maximumCounter) else {
      throw StoreError(.noNumberLeft, "the store has reached its last phase", hint: "export it into a new store")
    }
    header.phase += 1
    try clearUnknownFeatures(in: &header)
    try clearStatistics()
    let phase = header.phase
    (header.keyring, header.commitment) = try translatingErrors { () throws(SealingError) in
      (try keyring.seal(under: root, phase: phase), try root.commitment(phase: phase))
    }
    header.mac = try header.authenticate(slots, under: old.headerMACKey)
    try commit(try SessionKeys(root: root, header: header, slots: slots), slots)
  }

  /// Writes the header, slots and state for new keys and commits. The session continues with the new keys.
  ///
  /// - Parameter former: The keys that the file has, or `nil` for this transaction's keys.
  func commit(
    _ new: SessionKeys, _ slots: [KeySlotRecord], replacing former: SessionKeys? = nil
  ) throws(StoreError) {
    let old = former ?? keys.session
    let writer = try writer
    isChangingKeys = true
    try writer.willWrite()
    try new.header.update(database, slots: slots)
    writer.state.headerMAC = new.header.mac
    // The file still contains the old pages until the log is emptied.
    let changesKeys = new.slots != old.slots || new.header.keyring != old.header.keyring
    if connection.file.isWriteAhead, changesKeys { writer.state.unwiped = writer.revision }
    if keys.session !== new { try use(new) }
    connection.session.announce(new)
    do throws(StoreError) {
      try commit()
    } catch {
      connection.session.announce(nil)
      try connection.use(old)
      guard error.code == .ioFailure, changesKeys else { throw error }
      // The commit may have been written before it failed.
      throw StoreError(
        error.code, error.message,
        hint:
          "the keys may have been changed: keep the old and the new ones, and see which open the store")
    }
    connection.session.replaceKeys(new)
  }
}
