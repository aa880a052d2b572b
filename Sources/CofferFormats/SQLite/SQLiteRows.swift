internal import CofferDocuments
internal import CofferSQLite
internal import CofferText

/// A reader for a table's rows, which become the parts of one document each.
final class SQLiteRows {
  /// A row's fault. The following rows can still be read.
  struct Fault: Error {
    let error: FormatError
  }

  let encoding: TextEncoding
  private let table: SQLiteTable
  private let layout: SQLiteLayout
  private let statement: Statement
  private let decoder: ValueDecoder
  private let options: ReadingOptions
  /// Whether rows are values, because the table doesn't have a text column.
  var areValues: Bool { layout.text == nil }
  /// See ``DraftBatch/readParts``.
  let readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)?
  private let maximum: Int
  /// The current row's blobs, if blobs become attachments.
  private var extracted: ExtractedData?
  private var dates: DateReader
  /// The last row's position. Rows must be in order, because a damaged tree could otherwise repeat them forever.
  private var last: (Int64, Int64)?
  /// The maximum number of remaining rows if the table doesn't have row IDs.
  private var rowsLeft: Int64
  /// The maximum size of the remaining rows. It limits the work, because all rows in a malicious file can share pages
  /// or default values.
  private var bytesLeft: Int

  init(
    _ file: SQLiteFile, _ table: SQLiteTable, _ layout: SQLiteLayout, _ dateUnit: ColumnMapping.NumericDates?,
    _ options: ReadingOptions
  ) throws(FormatError) {
    let database = file.database
    dates = DateReader(unit: dateUnit)
    self.table = table
    self.layout = layout
    self.options = options
    readParts = layout.text == nil ? JSONDocumentParser(parts: layout.parts, dates: dateUnit, options).readParts : nil
    let limit = ReadingOptions.maximumTextByteCount
    maximum = min(options.maximumRecordByteCount ?? ReadingOptions.usualRecordByteCount, limit)
    // The limit far exceeds the content of a file with this size, even with long defaults for added columns.
    bytesLeft = (16 << 20) + 64 * file.byteCount
    let sql = SQLiteLayout.statement(for: table, isOwn: layout.isOwn)
    do throws(SQLiteError) {
      let name = try database.textPragma("encoding") ?? ""
      encoding = name == "UTF-16le" ? .utf16LittleEndian : name == "UTF-16be" ? .utf16BigEndian : .utf8
      rowsLeft = Int64(file.byteCount)
      statement = try database.statement(sql)
    } catch {
      throw FormatError(error)
    }
    decoder = ValueDecoder(encoding, onError: options.onError == .replace ? .replace : .fail)
    if layout.isOwn { try checkSizeBeforeSorting(database, sql) }
  }

  /// Moves to the next row. Returns `false` after the last row.
  func next() throws(FormatError) -> Bool {
    do throws(SQLiteError) {
      guard try statement.step() else { return false }
    } catch {
      throw FormatError(error)
    }
    try checkOrder()
    bytesLeft -= byteCount(of: statement)
    guard bytesLeft >= 0 else { throw expansion }
    return true
  }

  /// The row's ID, which the statement returns after the table's columns.
  private var rowID: Int64? {
    table.rowID == nil ? nil : statement.int64(at: table.columns.count)
  }

  private func checkOrder() throws(FormatError) {
    if let position = layout.position, let id = layout.id {
      let place = (statement.int64(at: position), statement.int64(at: id))
      if let last, place <= last { throw disorder }
      last = place
    } else if let rowID {
      if let last, rowID <= last.0 { throw disorder }
      last = (rowID, 0)
    } else {
      rowsLeft -= 1
      if rowsLeft < 0 { throw disorder }
    }
  }

  private var disorder: FormatError {
    FormatError(.malformed, "SQLite: the rows of the table \(table.name) are not in order: the file is damaged")
  }

  /// Returns the size of a row's stored texts and blobs, at least 1.
  private func byteCount(of row: Statement) -> Int {
    var count = 1
    for column in table.columns.indices {
      switch row.storageClass(at: column) {
      case .text: count += row.storedTextPointer(at: column, isUTF16: encoding != .utf8).count
      case .blob: count += row.blobPointer(at: column).count
      case .integer, .real, .null: break
      }
    }
    return count
  }

  /// Verifies the size of all rows if SQLite collects the rows to sort them, because the table doesn't have an index in
  /// that order.
  private func checkSizeBeforeSorting(_ database: Database, _ sql: String) throws(FormatError) {
    var left = bytesLeft
    do throws(SQLiteError) {
      let plan = try database.query("EXPLAIN QUERY PLAN \(sql)").rows
      guard plan.contains(where: { $0[3].text?.contains("TEMP B-TREE") == true }) else { return }
      let rows = try database.statement(SQLiteLayout.statement(for: table, isOwn: false))
      defer { rows.reset() }
      while left >= 0, try rows.step() { left -= byteCount(of: rows) }
    } catch {
      throw FormatError(error)
    }
    guard left >= 0 else { throw expansion }
  }

  private var expansion: FormatError {
    FormatError(
      .malformed, "SQLite: the rows of the table \(table.name) are far larger than the file: the file is damaged")
  }

  func fault(_ code: FormatError.Code, _ reason: String, column: Int? = nil) -> Fault {
    var place = column.map { "column \(table.columns[$0]) of " } ?? ""
    place += rowID.map { "row \($0)" } ?? "a row"
    return Fault(error: FormatError(code, "\(reason), in \(place) of the table \(table.name)"))
  }

  // MARK: Parts

  /// Fills the draft with the row's parts.
  ///
  /// - Returns: The attachments from the row's blobs, or an empty array if blobs don't become attachments.
  func fill(_ draft: inout DraftBatch.Draft, _ bytes: inout [UInt8]) throws(Fault) -> [DraftAttachment] {
    extracted = options.attachesData ? ExtractedData() : nil
    defer { extracted = nil }
    if let column = layout.id { draft.id = try id(column) }
    if let column = layout.key { draft.key = try key(column, &bytes) }
    if let column = layout.title { draft.title = try value(column, &bytes) }
    draft.isUsualTitle = layout.isUsualTitle
    if let column = layout.text {
      if extracted != nil, statement.storageClass(at: column) == .blob {
        let start = bytes.count
        appendBlob(column, &bytes)
        draft.text = start..<bytes.count
      } else if let text = try value(column, &bytes) {
        draft.text = text
      }
      if !layout.members.isEmpty { draft.attributes = try object(isCanonical: true, &bytes) }
    } else {
      draft.text = try object(isCanonical: false, &bytes)
      draft.isJSON = true
      draft.isWholeRecord = true
    }
    if let column = layout.collection, let name = try value(column, &bytes), !name.isEmpty { draft.collection = name }
    draft.created = try date(layout.created)
    draft.modified = try date(layout.modified)
    if layout.isOwn { try fillOwn(&draft, &bytes) }
    guard draft.text?.count ?? 0 <= maximum else {
      var error = fault(.tooLarge, "a text longer than \(maximum) bytes").error
      error.advice = ReadingOptions.advice(beyond: maximum, isText: true)
      throw Fault(error: error)
    }
    if let (code, reason) = DraftLimits.refusal(of: draft, options) { throw fault(code, reason) }
    return extracted?.attachments ?? []
  }

  private func id(_ column: Int) throws(Fault) -> DocumentID? {
    let id: DocumentID?
    switch statement.storageClass(at: column) {
    case .null: return nil
    case .integer:
      let number = statement.int64(at: column)
      id = number >= 1 ? DocumentID(number) : nil
    case .text: id = DocumentID(digits: try text(column))
    default: id = nil
    }
    guard id != nil || !options.keepsIDs else {
      throw fault(.malformed, "an id that is not a positive integer", column: column)
    }
    return id
  }

  private func key(_ column: Int, _ bytes: inout [UInt8]) throws(Fault) -> Range<Int>? {
    let range: Range<Int>?
    if statement.storageClass(at: column) == .blob {
      let start = bytes.count
      bytes.append(contentsOf: statement.blobPointer(at: column))
      range = start..<bytes.count
    } else {
      range = try value(column, &bytes)
    }
    guard let range, !range.isEmpty else { return nil }
    guard range.count <= DocumentKey.maximumByteCount else {
      throw fault(.malformed, "a key longer than \(DocumentKey.maximumByteCount) bytes", column: column)
    }
    return range
  }

  /// Appends a value as text, with numbers in decimal and blobs in JSON's form. Returns `nil` for NULL.
  private func value(_ column: Int, _ bytes: inout [UInt8]) throws(Fault) -> Range<Int>? {
    let start = bytes.count
    switch statement.storageClass(at: column) {
    case .null: return nil
    case .text: bytes.append(contentsOf: try text(column))
    case .integer: JSONWriter.appendInteger(statement.int64(at: column), to: &bytes)
    case .real: JSONWriter.append(real: statement.double(at: column), to: &bytes)
    case .blob: JSONWriter.append(base64: statement.blobPointer(at: column), to: &bytes)
    }
    return start..<bytes.count
  }

  /// Returns a text in UTF-8, which is valid until the next call.
  private func text(_ column: Int) throws(Fault) -> UnsafeRawBufferPointer {
    do throws(TextCodingError) {
      return try decoder.utf8(from: statement.storedTextPointer(at: column, isUTF16: encoding != .utf8))
    } catch {
      throw fault(.undecodable, "\(error.reason) at byte \(error.byteOffset)", column: column)
    }
  }

  // MARK: Objects

  /// Appends the layout's members as an object.
  ///
  /// - Parameter isCanonical: Whether the object is canonical (RFC 8785), which attributes must be. Numbers are then
  ///   doubles, so integers with a magnitude above 2^53 become strings.
  private func object(isCanonical: Bool, _ bytes: inout [UInt8]) throws(Fault) -> Range<Int> {
    let start = bytes.count
    var separator = JSONByte.openBrace
    for (column, prefix) in layout.members {
      // NULL doesn't become an attribute.
      if isCanonical, case .null = statement.storageClass(at: column) { continue }
      bytes.append(separator)
      bytes += prefix
      separator = JSONByte.comma
      if options.readsValues, !isCanonical, try appendDeclared(column, &bytes) { continue }
      switch statement.storageClass(at: column) {
      case .null: bytes += "null".utf8
      case .text: JSONWriter.appendString(try text(column), to: &bytes)
      case .integer: JSONWriter.append(exact: statement.int64(at: column), isCanonical: isCanonical, to: &bytes)
      case .real: JSONWriter.append(real: statement.double(at: column), isCanonical: isCanonical, to: &bytes)
      case .blob: appendBlob(column, &bytes)
      }
    }
    if separator == JSONByte.openBrace { bytes.append(separator) }
    bytes.append(JSONByte.closeBrace)
    return start..<bytes.count
  }

  private func appendBlob(_ column: Int, _ bytes: inout [UInt8]) {
    let blob = statement.blobPointer(at: column)
    if let extracted {
      extracted.append(blob, named: table.columns[column], to: &bytes)
    } else {
      JSONWriter.append(base64: blob, to: &bytes)
    }
  }

  /// Appends a value in `JSONEncoder`'s form for the Swift type of the declared column type. Other blobs are appended
  /// as data or attachments.
  ///
  /// - Returns: `false`, without appending, if the value doesn't match the column's type.
  private func appendDeclared(_ column: Int, _ bytes: inout [UInt8]) throws(Fault) -> Bool {
    let value = statement.storageClass(at: column)
    switch table.types[column] {
    case .boolean where value == .integer && (0...1).contains(statement.int64(at: column)):
      bytes += (statement.int64(at: column) == 1 ? "true" : "false").utf8
    case .date where value != .null:
      guard let date = try? date(column) else { return false }
      JSONWriter.append(real: date.secondsSince2001, to: &bytes)
    case .uuid where value == .blob && statement.blobPointer(at: column).count == 16:
      JSONWriter.append(uuid: statement.blobPointer(at: column), to: &bytes)
    case _ where value == .blob && extracted != nil:
      extracted?.append(statement.blobPointer(at: column), named: table.columns[column], isBare: true, to: &bytes)
    case _ where value == .blob:
      bytes.append(JSONByte.quote)
      Base64.append(encoding: statement.blobPointer(at: column), to: &bytes)
      bytes.append(JSONByte.quote)
    default: return false
    }
    return true
  }

  /// Fills the additional parts in ``SQLiteSink`` tables.
  private func fillOwn(_ draft: inout DraftBatch.Draft, _ bytes: inout [UInt8]) throws(Fault) {
    draft.isComplete = true
    if let column = layout.parent, !statement.isNull(at: column) {
      let number = statement.int64(at: column)
      guard statement.storageClass(at: column) == .integer, number >= 1 else {
        throw fault(.malformed, "a parent that is not a positive integer", column: column)
      }
      draft.parent = DocumentID(number)
    }
    if let column = layout.json { draft.isJSON = statement.int64(at: column) == 1 }
    guard let column = layout.attributes, !statement.isNull(at: column) else { return }
    let start = bytes.count
    var scanner = JSONScanner(try text(column))
    do throws(JSONError) {
      try scanner.appendCanonicalObject(to: &bytes, keepsDigits: true)
    } catch {
      throw fault(.malformed, "attributes that are no JSON object", column: column)
    }
    if bytes.count > start { draft.attributes = start..<bytes.count }
  }

  private func date(_ column: Int?) throws(Fault) -> Timestamp? {
    guard let column else { return nil }
    do throws(DateFault) {
      switch statement.storageClass(at: column) {
      case .null: return nil
      case .integer: return try dates.read(statement.int64(at: column))
      case .real: return try dates.read(statement.double(at: column))
      case .blob: throw .notADate
      case .text: break
      }
    } catch {
      throw fault(error, column: column)
    }
    let text = try text(column)
    guard !text.trimmingSpaces.isEmpty else { return nil }
    do throws(DateFault) {
      return try dates.read(text)
    } catch {
      throw fault(error, column: column)
    }
  }

  private func fault(_ fault: DateFault, column: Int) -> Fault {
    var error = self.fault(.malformed, fault.reason, column: column).error
    error.advice = fault.advice
    return Fault(error: error)
  }
}
