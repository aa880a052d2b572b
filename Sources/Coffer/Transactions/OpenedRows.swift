internal import CofferRecords

/// Opens rows and keeps those that a search looks for. The results point into the batch's memory.
final class OpenedRows: RowWork {
  struct Opened {
    /// Index among the batch's rows.
    let row: Int
    let header: DocumentHeader
    let text: UnsafeRawBufferPointer
    /// nil unless the scan asks for them.
    let marks: RowMarks?
  }

  /// Number of verified rows: all, or those before the one that failed.
  private(set) var provedCount = 0
  /// Verified matches.
  private(set) var opened: [Opened] = []
  private(set) var failure: StoreError?
  private let opener: RecordOpener
  private var withTexts = false
  private var withMarks = false
  private var matcher: DocumentMatcher?

  init(_ keys: SessionKeys) throws(StoreError) {
    opener = RecordOpener(try RowKeys(keys))
  }

  func belongs(to keys: SessionKeys) -> Bool {
    opener.keys.session === keys
  }

  /// Sets the work on the rows from now on; nil between walks.
  func prepare(_ scan: RowScan?) {
    withTexts = scan?.withTexts ?? false
    withMarks = scan?.noteMarks != nil
    matcher = scan?.matcher()
  }

  func begin() {
    opened.removeAll(keepingCapacity: true)
    provedCount = 0
    failure = nil
  }

  func end() {}

  func process(
    _ row: RecordRow, at index: Int, head frame: UnsafeMutableRawBufferPointer?,
    body bodyFrame: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      // Before the head is opened in the memory of its seal.
      let marks = withMarks ? try RowMarks(row, opener) : nil
      let head = try opener.openHead(row, in: frame)
      let text =
        withTexts ? try opener.openBody(row, head, in: bodyFrame) : UnsafeRawBufferPointer(start: nil, count: 0)
      provedCount += 1
      if matcher?.matches(head, text, isValue: row.fields.isJSON) != false {
        opened.append(Opened(row: index, header: DocumentHeader(row, head), text: text, marks: marks))
      }
      return true
    } catch {
      failure = error
      return false
    }
  }
}
