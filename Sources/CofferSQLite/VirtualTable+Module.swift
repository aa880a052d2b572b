internal import CCofferSQLite

/// Receives a value of a virtual table, which is NULL by default. It's valid during the call that receives it.
package struct VirtualResult {
  let context: OpaquePointer

  package func give(_ number: Double) {
    sqlite3_result_double(context, number)
  }

  package func give(_ integer: Int64) {
    sqlite3_result_int64(context, integer)
  }

  /// Copies UTF-8, which must be valid.
  package func giveText(_ utf8: UnsafeRawBufferPointer) {
    coffer_sqlite_result_text(context, utf8.baseAddress, UInt64(utf8.count))
  }

  package func giveText(_ text: String) {
    var text = text
    text.withUTF8 { giveText(UnsafeRawBufferPointer($0)) }
  }

  /// Copies a blob.
  package func giveBlob(_ bytes: UnsafeRawBufferPointer) {
    coffer_sqlite_result_blob(context, bytes.baseAddress, UInt64(bytes.count))
  }
}

extension Database {
  /// Registers a read-only virtual table under a name.
  ///
  /// If the table throws, the statement ends with a generic error, so the table must keep its own error for the caller.
  package func add(_ table: some VirtualTable, named name: String) throws(SQLiteError) {
    let owner = VirtualTableModule.Owner(table)
    // SQLite now owns the reference, even if this call fails.
    try connection.check(
      sqlite3_create_module_v2(
        try connection.open(), name, VirtualTableModule.shared, Unmanaged.passRetained(owner).toOpaque(),
        { Unmanaged<VirtualTableModule.Owner>.fromOpaque($0!).release() }))
  }
}

/// The functions that SQLite calls to read a virtual table.
private enum VirtualTableModule {
  /// A reference for SQLite's pointer.
  final class Owner {
    let table: any VirtualTable

    init(_ table: any VirtualTable) { self.table = table }
  }

  final class Cursor {
    let table: any VirtualTable
    var rows: (any VirtualRows)?

    init(_ table: any VirtualTable) { self.table = table }
  }

  // Never changed after initialization and never freed, because connections refer to it.
  nonisolated(unsafe) static let shared: UnsafeMutablePointer<sqlite3_module> = {
    let module = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    module.initialize(to: sqlite3_module())
    // Without xCreate, the table exists under its module's name, and statements can't create another table.
    module.pointee.xConnect = { handle, owner, _, _, table, _ in connect(handle, owner, table) }
    module.pointee.xDisconnect = { table in
      let table = UnsafeMutableRawPointer(table!).assumingMemoryBound(to: coffer_sqlite_table.self)
      Unmanaged<Owner>.fromOpaque(table.pointee.owner).release()
      table.deallocate()
      return SQLITE_OK
    }
    module.pointee.xBestIndex = { table, request in bestIndex(owner(table!).table, request!) }
    module.pointee.xOpen = { table, cursor in
      let new = UnsafeMutablePointer<coffer_sqlite_cursor>.allocate(capacity: 1)
      let owner = Unmanaged.passRetained(Cursor(owner(table!).table)).toOpaque()
      new.initialize(
        to: coffer_sqlite_cursor(
          base: sqlite3_vtab_cursor(), owner: owner, repeats: 0, is_at_end: 1, text_column: -1, text: nil,
          text_count: 0))
      cursor!.pointee = UnsafeMutableRawPointer(new).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
      return SQLITE_OK
    }
    module.pointee.xClose = { cursor in
      let cursor = UnsafeMutableRawPointer(cursor!).assumingMemoryBound(to: coffer_sqlite_cursor.self)
      Unmanaged<Cursor>.fromOpaque(cursor.pointee.owner).release()
      cursor.deallocate()
      return SQLITE_OK
    }
    module.pointee.xFilter = { cursor, plan, _, count, values in
      attempt {
        let cursor = memory(cursor!)
        let owner = VirtualTableModule.cursor(cursor)
        owner.rows = nil
        (cursor.pointee.repeats, cursor.pointee.is_at_end, cursor.pointee.text_column) = (0, 1, -1)
        owner.rows = try owner.table.open(plan: Int(plan), values: (0..<Int(count)).map { value(values![$0]!) })
        try next(cursor)
      }
    }
    module.pointee.xNext = { cursor in
      let cursor = memory(cursor!)
      if cursor.pointee.repeats > 0 {
        cursor.pointee.repeats -= 1
        return SQLITE_OK
      }
      return attempt { try next(cursor) }
    }
    module.pointee.xEof = { cursor in memory(cursor!).pointee.is_at_end }
    module.pointee.xColumn = { cursor, context, column in
      let cursor = memory(cursor!)
      if column == cursor.pointee.text_column {
        coffer_sqlite_result_lent_text(context, cursor.pointee.text, cursor.pointee.text_count)
        return SQLITE_OK
      }
      return attempt {
        try VirtualTableModule.cursor(cursor).rows?.give(Int(column), to: VirtualResult(context: context!))
      }
    }
    module.pointee.xRowid = { cursor, id in
      id!.pointee = VirtualTableModule.cursor(memory(cursor!)).rows?.rowID ?? 0
      return SQLITE_OK
    }
    return module
  }()

  private static func attempt(_ work: () throws -> Void) -> Int32 {
    do {
      try work()
      return SQLITE_OK
    } catch {
      return SQLITE_ERROR
    }
  }

  private static func owner(_ table: UnsafeMutablePointer<sqlite3_vtab>) -> Owner {
    let table = UnsafeMutableRawPointer(table).assumingMemoryBound(to: coffer_sqlite_table.self)
    return Unmanaged<Owner>.fromOpaque(table.pointee.owner).takeUnretainedValue()
  }

  private static func memory(
    _ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>
  ) -> UnsafeMutablePointer<coffer_sqlite_cursor> {
    UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: coffer_sqlite_cursor.self)
  }

  private static func cursor(_ cursor: UnsafeMutablePointer<coffer_sqlite_cursor>) -> Cursor {
    Unmanaged<Cursor>.fromOpaque(cursor.pointee.owner).takeUnretainedValue()
  }

  private static func next(_ cursor: UnsafeMutablePointer<coffer_sqlite_cursor>) throws {
    let rows = VirtualTableModule.cursor(cursor).rows
    cursor.pointee.is_at_end = 1
    guard let rows, try rows.next() else { return }
    (cursor.pointee.repeats, cursor.pointee.is_at_end, cursor.pointee.text_column) = (rows.repeatCount, 0, -1)
    guard let text = rows.repeatedText else { return }
    cursor.pointee.text_column = Int32(text.column)
    cursor.pointee.text = text.utf8.baseAddress
    cursor.pointee.text_count = UInt64(text.utf8.count)
  }

  private static func connect(
    _ handle: OpaquePointer?, _ module: UnsafeMutableRawPointer?,
    _ result: UnsafeMutablePointer<UnsafeMutablePointer<sqlite3_vtab>?>?
  ) -> Int32 {
    let owner = Unmanaged<Owner>.fromOpaque(module!).takeUnretainedValue()
    let columns = owner.table.columns.map { "\($0.name) \($0.declaredType)" }.joined(separator: ",")
    let key = owner.table.primaryKey
    let declared = sqlite3_declare_vtab(
      handle, "CREATE TABLE t(\(columns)\(key.map { ",PRIMARY KEY(\($0))) WITHOUT ROWID" } ?? ")")")
    guard declared == SQLITE_OK else { return declared }
    let table = UnsafeMutablePointer<coffer_sqlite_table>.allocate(capacity: 1)
    table.initialize(
      to: coffer_sqlite_table(base: sqlite3_vtab(), owner: Unmanaged.passRetained(owner).toOpaque()))
    result!.pointee = UnsafeMutableRawPointer(table).assumingMemoryBound(to: sqlite3_vtab.self)
    return SQLITE_OK
  }

  private static func bestIndex(
    _ table: any VirtualTable, _ info: UnsafeMutablePointer<sqlite3_index_info>
  ) -> Int32 {
    let conditions = (0..<Int(info.pointee.nConstraint)).compactMap { number -> VirtualTableRequest.Condition? in
      let constraint = info.pointee.aConstraint[number]
      guard constraint.usable != 0, let comparison = comparison(constraint.op),
        String(cString: sqlite3_vtab_collation(info, Int32(number))) == "BINARY"
      else { return nil }
      return VirtualTableRequest.Condition(
        number: number, column: Int(constraint.iColumn), comparison: comparison)
    }
    let order = (0..<Int(info.pointee.nOrderBy)).map { number in
      let term = info.pointee.aOrderBy[number]
      return (column: Int(term.iColumn), isDescending: term.desc != 0)
    }
    let plan = table.plan(
      for: VirtualTableRequest(conditions: conditions, order: order, usedColumns: info.pointee.colUsed))
    info.pointee.idxNum = Int32(plan.number)
    for (place, number) in plan.arguments.enumerated() {
      info.pointee.aConstraintUsage[number].argvIndex = Int32(place + 1)
    }
    for number in plan.exactArguments { info.pointee.aConstraintUsage[number].omit = 1 }
    info.pointee.orderByConsumed = plan.isOrdered ? 1 : 0
    info.pointee.estimatedCost = plan.cost
    info.pointee.estimatedRows = plan.rowCount
    if plan.isUnique { info.pointee.idxFlags = SQLITE_INDEX_SCAN_UNIQUE }
    return SQLITE_OK
  }

  private static func comparison(_ code: UInt8) -> VirtualTableRequest.Condition.Comparison? {
    switch Int32(code) {
    case SQLITE_INDEX_CONSTRAINT_EQ: .equal
    case SQLITE_INDEX_CONSTRAINT_MATCH: .match
    case SQLITE_INDEX_CONSTRAINT_LT: .less
    case SQLITE_INDEX_CONSTRAINT_LE: .lessOrEqual
    case SQLITE_INDEX_CONSTRAINT_GT: .greater
    case SQLITE_INDEX_CONSTRAINT_GE: .greaterOrEqual
    default: nil
    }
  }

  private static func value(_ value: OpaquePointer) -> SQLiteValue {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
    case SQLITE_TEXT:
      let start = sqlite3_value_text(value)
      let utf8 = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
      return String(validating: utf8, as: UTF8.self).map { .text($0) } ?? .null
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)
      return .blob(Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))))
    default: return .null
    }
  }
}
