internal import CofferSQLite
internal import CofferSealing

// Changes of a row around a text that stays: only the head is sealed anew, unless the row's epoch is an old one.

extension StoreTransaction {
  /// Seals the head anew at another position.
  ///
  /// - Parameters:
  ///   - collection: where an index says that it stands; the row itself must say so too.
  ///   - kind: `placed` where it stays between the same neighbours.
  func move(
    _ id: DocumentID, toPosition position: Int64, in collection: UInt32? = nil, as kind: ChangeLog.Kind = .moved
  ) throws(StoreError) {
    try rewrite(id, .position, as: kind) { _, fields throws(StoreError) in
      try fields.require(collection)
      fields.position = position
    }
  }

  /// Seals a row anew after `change`; its text too where its epoch is below the active one.
  ///
  /// - Parameter parts: what `change` touches beside the seals.
  func rewrite(
    _ id: DocumentID, _ parts: RowStatements.Parts = .all, as kind: ChangeLog.Kind = .updated,
    _ change: (inout RecordSealer.Content, inout RowFields) throws(StoreError) -> Void
  ) throws(StoreError) {
    try willWrite()
    let old = try withRow(id, body: false) { row, _ throws(StoreError) -> Sealed? in
      guard row.fields.epoch == keys.active.epoch else { return nil }
      return try sealAnew(row, change)
    }
    if let old { return try replaceSealed(old.element, parts, before: old.fields, as: kind) }
    let older = try withRow(id, body: true) { row, _ throws(StoreError) in try sealAnew(row, change) }
    // The look-up changes with the epoch.
    try replaceSealed(older.element, .all, before: older.fields, as: kind)
  }

  /// A row as it was before it was sealed anew: in the set hash, and where.
  private typealias Sealed = (element: SetHash, fields: RowFields)

  /// Seals a row into the connection's batch, with its text where that was read.
  private func sealAnew(
    _ row: RecordRow, _ change: (inout RecordSealer.Content, inout RowFields) throws(StoreError) -> Void
  ) throws(StoreError) -> Sealed {
    let opener = connection.takeOpener()
    defer { connection.giveBack(opener) }
    let head = try opener.openHead(row)
    let element = try opener.element(of: row)
    var fields = row.fields
    var content = RecordSealer.Content(
      title: head.title, key: head.key, lookup: row.lookup.map { Array($0) }, attributes: head.attributes,
      created: head.created, modified: head.modified)
    fields.revision = revision
    fields.epoch = keys.active.epoch
    if row.fields.epoch != fields.epoch {
      content.lookup = try keys.lookup(of: head.key, in: fields.collection, of: try collections())
    }
    try change(&content, &fields)
    if row.fields.epoch == fields.epoch {
      try connection.sealer.sealHead(
        fields, content, textCount: head.textCount, bodyTag: row.bodyTag, into: connection.batch)
    } else {
      try connection.sealer.seal(fields, content, text: try opener.openBody(row, head), into: connection.batch)
    }
    return (element, row.fields)
  }
}
