internal import CofferRecords
internal import CofferSealing

// Changes of header and slots.

extension StoreTransaction {
  /// Header and slots as this transaction reads them, verified with the root key in memory.
  func proveHeader() throws(StoreError) -> (keys: SessionKeys, slots: [KeySlotRecord]) {
    let (header, slots) = try connection.file.readHeader()
    return (try SessionKeys(root: keys.session.root, header: header, slots: slots), slots)
  }

  /// Seals and opens under other keys from now on.
  func use(_ keys: SessionKeys) throws(StoreError) {
    try connection.use(keys)
    if isOpen, isWriter { try writer.use(connection.keys) }
  }

  /// Writes header, slots and state of new keys and commits; the session continues with them.
  func commit(_ new: SessionKeys, _ slots: [KeySlotRecord]) throws(StoreError) {
    let old = keys.session
    let writer = try writer
    try writer.willWrite()
    try new.header.update(database, slots: slots)
    writer.state.headerMAC = new.header.mac
    // Until the log is emptied, the file itself still has the old pages.
    if connection.file.isWriteAhead { writer.state.unwiped = writer.revision }
    if keys.session !== new { try use(new) }
    connection.session.announce(new)
    do throws(StoreError) {
      try commit()
    } catch {
      connection.session.announce(nil)
      try connection.use(old)
      guard error.code == .ioFailure else { throw error }
      // The commit may have been written before it failed.
      throw StoreError(
        error.code, error.message,
        hint:
          "it is not sure whether the keys were changed: keep the old and the new ones, and see which open the store")
    }
    connection.session.replaceKeys(new)
  }
}
