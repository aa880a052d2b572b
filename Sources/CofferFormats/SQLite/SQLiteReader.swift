internal import CofferDocuments
internal import CofferSQLite
internal import CofferText

/// Makes batches of documents from rows, and handles bad rows.
final class SQLiteReader: @unchecked Sendable {
  // Only one thread at a time uses a source and its connection.

  private static let batchCount = 1024
  private static let batchByteCount = 256 << 10

  private(set) var report = ReadingReport()
  private let table: String?
  private let mapping: ColumnMapping
  private let options: ReadingOptions
  private let open: @Sendable () throws(FormatError) -> SQLiteFile
  private var state = State.unopened
  private var recordCount = 0

  private enum State {
    case unopened
    case reading(SQLiteFile, SQLiteRows)
    /// The error to throw after the previous documents are returned.
    case failed(FormatError)
    case ended
  }

  init(
    table: String?, mapping: ColumnMapping, options: ReadingOptions,
    open: @escaping @Sendable () throws(FormatError) -> SQLiteFile
  ) {
    self.table = table
    self.mapping = mapping
    self.options = options
    self.open = open
  }

  func read(into batch: inout DraftBatch) throws(FormatError) -> Bool {
    batch.removeAll()
    do throws(FormatError) {
      if case .unopened = state { try begin() }
      switch state {
      case .failed(let error): throw error
      case .reading(let file, let rows): try read(rows, of: file, into: &batch)
      case .unopened, .ended: break
      }
    } catch {
      var error = error
      error.path = error.path ?? options.path
      state = .failed(error)
      if batch.isEmpty { throw error }
    }
    report.documents += batch.drafts.count
    return !batch.isEmpty
  }

  private func begin() throws(FormatError) {
    let file = try open()
    report.privateCopy = file.copyReason
    let table = try SQLiteTable.find(named: table, mapping: mapping, in: file.database)
    report.table = table.name
    report.generatedColumns = table.generated
    let layout = try SQLiteLayout(table, mapping: mapping, keepsIDs: options.keepsIDs)
    report.columns = layout.columns
    let rows = try SQLiteRows(file, table, layout, mapping.dates, options)
    report.encoding = rows.encoding
    state = .reading(file, rows)
  }

  private func read(_ rows: SQLiteRows, of file: SQLiteFile, into batch: inout DraftBatch) throws(FormatError) {
    let emptyText = options.emptyText ?? .store
    batch.readParts = rows.readParts
    var attachedByteCount = 0
    while batch.drafts.count < Self.batchCount, batch.bytes.count + attachedByteCount < Self.batchByteCount {
      guard try rows.next() else {
        try file.requireUnchanged()
        state = .ended
        return
      }
      recordCount += 1
      let count = batch.bytes.count
      do throws(SQLiteRows.Fault) {
        var draft = DraftBatch.Draft(text: nil, record: recordCount)
        let attachments = try rows.fill(&draft, &batch.bytes)
        let isEmpty = draft.text?.isEmpty ?? true
        if isEmpty, emptyText == .fail { throw rows.fault(.emptyText, "a document without text") }
        if isEmpty, emptyText == .skip {
          report.skippedEmpty += 1
          batch.bytes.removeLast(batch.bytes.count - count)
        } else {
          draft.attachments = batch.attachments.count..<batch.attachments.count + attachments.count
          batch.attachments += attachments
          for case .bytes(let bytes) in attachments.map(\.content) { attachedByteCount += bytes.count }
          report.attachments += attachments.count
          batch.drafts.append(draft)
          if rows.areValues { report.values += 1 }
        }
      } catch {
        batch.bytes.removeLast(batch.bytes.count - count)
        var failure = error.error
        failure.path = options.path
        failure.location = InputLocation(record: recordCount, line: nil, column: nil, byteOffset: nil)
        guard options.onError == .skip else { throw failure }
        report.rejected += 1
        options.onRejection?(Rejection(error: failure, record: recordCount, headBytes: [], bytes: []))
      }
    }
  }
}
