internal import CofferSQLite
internal import CofferSealing

// Positions: a document goes midway between its neighbours; where no room is left, neighbours are spread out.

extension StoreTransaction {
  /// The position that puts a document where `placement` says, neighbours moved apart if they must be.
  func position(for placement: Placement, in collection: UInt32) throws(StoreError) -> Int64 {
    switch placement {
    case .top:
      return try endPosition(SQL.topPosition, -StoreFormat.positionGap, in: collection)
    case .bottom:
      return try endPosition(SQL.bottomPosition, StoreFormat.positionGap, in: collection)
    case .before(let neighbour):
      return try position(beside: neighbour, SQL.positionBefore, else: .top, in: collection)
    case .after(let neighbour):
      return try position(beside: neighbour, SQL.positionAfter, else: .bottom, in: collection)
    }
  }

  /// Where documents of unknown number begin so that all of them stand before what is there.
  func roomAtTop(of collection: UInt32, room: Int64) throws(StoreError) -> Int64 {
    guard let top = try number(SQL.topPosition, Int64(collection)) else { return StoreFormat.positionGap }
    let (start, overflow) = top.subtractingReportingOverflow(room)
    if !overflow { return start }
    try spread(collection)
    return try roomAtTop(of: collection, room: room)
  }

  private func endPosition(_ sql: String, _ gap: Int64, in collection: UInt32) throws(StoreError) -> Int64 {
    guard let end = try number(sql, Int64(collection)) else { return StoreFormat.positionGap }
    let (position, overflow) = end.addingReportingOverflow(gap)
    if !overflow { return position }
    try spread(collection)
    return try endPosition(sql, gap, in: collection)
  }

  private func position(beside neighbour: DocumentID, _ sql: String, else end: Placement, in collection: UInt32)
    throws(StoreError) -> Int64
  {
    func fields() throws(StoreError) -> RowFields {
      try withRow(neighbour, body: false) { row, _ throws(StoreError) in
        _ = try connection.opener.openHead(row)
        return row.fields
      }
    }
    for _ in 0..<2 {
      let here = try fields()
      guard here.collection == collection else {
        throw StoreError(
          .invalidArgument, "document \(neighbour) stands in another collection", documentID: neighbour)
      }
      guard let there = try number(sql, Int64(collection), here.position, here.id) else {
        return try position(for: end, in: collection)
      }
      let middle = min(here.position, there) + Int64((here.position.distance(toward: there)) / 2)
      if middle != min(here.position, there) { return middle }
      try spread(collection)
    }
    throw .damagedStore("positions can't be spread")
  }

  /// Gives every document of the collection a position a whole gap from its neighbours, in the same order.
  private func spread(_ collection: UInt32) throws(StoreError) {
    let rows = try database.stored { database throws(SQLiteError) in
      try database.query(SQL.idsInCollection, Int64(collection)).rows
    }
    for (index, row) in rows.enumerated() {
      guard case .integer(let id) = row[0] else { continue }
      try rewrite(DocumentID(id)) { _, fields throws(StoreError) in
        try fields.require(collection)
        fields.position = Int64(index + 1) * StoreFormat.positionGap
      }
    }
  }

  private func number(_ sql: String, _ parameters: Int64...) throws(StoreError) -> Int64? {
    let value = try storing { () throws(SQLiteError) in
      let statement = try database.statement(sql)
      for (index, parameter) in parameters.enumerated() { try statement.bind(parameter, at: index + 1) }
      defer { statement.reset() }
      return try statement.step() && !statement.isNull(at: 0) ? statement.int64(at: 0) : nil
    }
    return value
  }

  /// Seals the head anew at another position; the text stays as it is unless its epoch is an old one.
  func move(_ id: DocumentID, toPosition position: Int64) throws(StoreError) {
    try rewrite(id) { content, fields throws(StoreError) in fields.position = position }
  }

  /// Seals a row anew after `change`; its text too where its epoch is below the active one.
  func rewrite(_ id: DocumentID, _ change: (inout RecordSealer.Content, inout RowFields) throws(StoreError) -> Void)
    throws(StoreError)
  {
    try willWrite()
    let old = try withRow(id, body: true) { row, statement throws(StoreError) in
      let opener = connection.takeOpener()
      defer { connection.giveBack(opener) }
      let head = try opener.openHead(row)
      let element = try opener.element(of: row)
      var fields = row.fields
      var content = RecordSealer.Content(
        title: head.title, key: head.key, lookup: row.lookup.map { Array($0) }, attributes: head.attributes,
        created: head.created, modified: head.modified)
      try change(&content, &fields)
      fields.revision = revision
      fields.epoch = keys.active.epoch
      if row.fields.epoch == fields.epoch {
        try connection.sealer.sealHead(
          fields, content, textCount: head.textCount, bodyTag: row.bodyTag, into: connection.batch)
      } else {
        content.lookup = try keys.lookup(of: head.key, in: fields.collection, of: try collections())
        let text = try opener.openBody(row, head)
        try connection.sealer.seal(fields, content, text: text, into: connection.batch)
      }
      return element
    }
    try replaceSealed(old)
  }
}

extension Int64 {
  /// How far apart two positions are, whatever their signs.
  fileprivate func distance(toward other: Int64) -> UInt64 {
    self < other ? UInt64(bitPattern: other &- self) : UInt64(bitPattern: self &- other)
  }
}
