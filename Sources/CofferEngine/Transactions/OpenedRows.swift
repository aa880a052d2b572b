internal import CofferRecords
internal import CofferSealing

/// A batch's opened rows, limited to the matches of a search. The results point into the batch's memory.
final class OpenedRows: RowWork {
  struct Opened {
    /// The row's index in the batch.
    let row: Int
    let header: DocumentHeader
    let text: UnsafeRawBufferPointer
    /// The row's marks, or `nil` if the scan doesn't use them.
    let marks: RowMarks?
  }

  /// The number of verified rows before the first failure.
  private(set) var verifiedCount = 0
  /// The verified rows that match.
  private(set) var opened: [Opened] = []
  private(set) var failure: StoreError?
  /// The set hash of the verified rows, or `nil` if the scan doesn't need it.
  private(set) var sum: SetHash?
  private let opener: RecordOpener
  private var withTexts = false
  private var withMarks = false
  private var withSum = false
  private var matcher: DocumentMatcher?
  private var alsoVisited: Set<Int64> = []
  /// The preparation of the opened documents, in their order, or `nil` if the scan doesn't prepare them.
  private(set) var preparation: (any DocumentPreparation)?

  /// - Parameter keys: The keys of the connection, whose contexts belong to another thread.
  init(_ keys: RowKeys) throws(StoreError) {
    opener = RecordOpener(try RowKeys(keys.session, proof: keys.proof))
  }

  func belongs(to keys: SessionKeys) -> Bool {
    opener.keys.session === keys
  }

  /// Sets the scan for the following rows, or `nil` between scans.
  func prepare(_ scan: RowScan?) {
    withTexts = scan?.withTexts ?? false
    withMarks = scan?.noteMarks != nil
    withSum = scan?.proof != nil
    matcher = scan?.matcher()
    alsoVisited = scan?.alsoVisited ?? []
    preparation = scan?.makePreparation?()
  }

  func begin() {
    opened.removeAll(keepingCapacity: true)
    preparation?.removeAll()
    verifiedCount = 0
    failure = nil
    sum = withSum ? SetHash() : nil
  }

  func end() {
    preparation?.prepare(opened.count) { OpenedDocument(header: opened[$0].header, utf8: opened[$0].text) }
  }

  func process(
    _ row: RecordRow, at index: Int, head frame: UnsafeMutableRawBufferPointer?,
    body bodyFrame: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      // Compute the marks first, because opening the head can overwrite its seal.
      let marks = withMarks ? try RowMarks(row, opener) : nil
      let element = withSum ? try opener.element(of: row) : nil
      let head = try opener.openHead(row, in: frame)
      let text =
        withTexts ? try opener.openBody(row, head, in: bodyFrame) : UnsafeRawBufferPointer(start: nil, count: 0)
      verifiedCount += 1
      if let element {
        try translatingErrors { () throws(SealingError) in try opener.keys.summer.add(element, to: &sum!) }
      }
      if matcher?.matches(head, text, isValue: row.fields.isJSON) != false || alsoVisited.contains(row.fields.id) {
        opened.append(Opened(row: index, header: DocumentHeader(row, head), text: text, marks: marks))
      }
      return true
    } catch {
      failure = error
      return false
    }
  }
}
