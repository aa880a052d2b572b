internal import CofferSealing

/// Rows taken out of a statement and opened all at once, on whichever thread comes to it first.
///
/// One thread at a time owns it: who fills it, between `start` and `finish` who opens it. Its memory holds opened heads
/// and texts, is used again for the next rows, and is wiped at its end.
final class OpeningBatch {
  struct Opened {
    let header: DocumentHeader
    let text: UnsafeRawBufferPointer
  }

  private var copies = RowCopies()
  /// As many as `rows`, or fewer where one failed.
  private(set) var opened: [Opened] = []
  private(set) var failure: StoreError?
  private let opener: RecordOpener
  private let work = HandedWork()

  init(_ keys: SessionKeys) throws(StoreError) {
    opener = RecordOpener(try RowKeys(keys))
  }

  func belongs(to keys: SessionKeys) -> Bool {
    opener.keys.session === keys
  }

  // MARK: Filling

  var rows: [RecordRow] { copies.rows }
  var hasRoom: Bool { copies.hasRoom }

  func append(_ row: RecordRow) {
    copies.append(row)
  }

  func removeAll() {
    copies.removeAll()
    opened.removeAll(keepingCapacity: true)
    failure = nil
  }

  /// Wipes the memory and gives it back.
  func clear() {
    removeAll()
    copies.clear()
  }

  // MARK: Opening

  /// Has the rows opened on another thread; nobody touches the batch until ``finish()``.
  func start(withTexts: Bool) {
    work.start { self.open(withTexts: withTexts) }
  }

  /// Waits until the rows are open.
  func finish() {
    work.finish()
  }

  private func open(withTexts: Bool) {
    do throws(StoreError) {
      for row in copies.rows {
        let head = try opener.openHead(row, in: row.headFrame)
        let text =
          withTexts
          ? try opener.openBody(row, head, in: row.bodyFrame) : UnsafeRawBufferPointer(start: nil, count: 0)
        opened.append(Opened(header: DocumentHeader(row, head), text: text))
      }
    } catch {
      failure = error
    }
  }
}
