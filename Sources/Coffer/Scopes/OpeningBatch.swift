internal import CofferSealing

/// Rows taken out of a statement and opened all at once, on whichever thread comes to it first.
///
/// One thread at a time owns it: who fills it, between `start` and `finish` who opens it. Its memory holds opened heads
/// and texts, is used again for the next rows, and is wiped at its end.
final class OpeningBatch {
  struct Opened {
    /// Which of the rows it was.
    let row: Int
    let header: DocumentHeader
    let text: UnsafeRawBufferPointer
  }

  private var copies = RowCopies()
  /// How many rows were proved: all, or those before the one that failed.
  private(set) var provedCount = 0
  /// Of the proved rows, those that are looked for.
  private(set) var opened: [Opened] = []
  private(set) var failure: StoreError?
  private let opener: RecordOpener
  private let work = HandedWork()
  private var withTexts = false
  private var matcher: DocumentMatcher?

  init(_ keys: SessionKeys) throws(StoreError) {
    opener = RecordOpener(try RowKeys(keys))
  }

  func belongs(to keys: SessionKeys) -> Bool {
    opener.keys.session === keys
  }

  // MARK: Filling

  /// What is to be done with its rows from now on.
  func prepare(_ walk: Walk) {
    withTexts = walk.withTexts
    matcher = walk.matcher()
  }

  var rows: [RecordRow] { copies.rows }
  var hasRoom: Bool { copies.hasRoom }

  func append(_ row: RecordRow) {
    copies.append(row)
  }

  func removeAll() {
    copies.removeAll()
    opened.removeAll(keepingCapacity: true)
    provedCount = 0
    failure = nil
  }

  /// Wipes the memory and gives it back.
  func clear() {
    removeAll()
    matcher = nil
    copies.clear()
  }

  // MARK: Opening

  /// Has the rows opened on another thread; nobody touches the batch until ``finish()`` or ``abandon()``.
  func start() {
    work.start { self.open() }
  }

  /// Whether the rows are open already.
  var isOpened: Bool { work.isDone }

  /// Opens the rows on the thread that filled the batch, unless another has begun.
  func openHere() -> Bool {
    work.doHere()
  }

  /// Waits until the rows are open.
  func finish() {
    work.finish()
  }

  /// In place of ``finish()`` where nobody wants the rows any more.
  func abandon() {
    work.abandon()
  }

  private func open() {
    do throws(StoreError) {
      for (index, row) in copies.rows.enumerated() {
        let head = try opener.openHead(row, in: row.headFrame)
        let text =
          withTexts
          ? try opener.openBody(row, head, in: row.bodyFrame) : UnsafeRawBufferPointer(start: nil, count: 0)
        provedCount += 1
        guard matcher?.matches(head, text) != false else { continue }
        opened.append(Opened(row: index, header: DocumentHeader(row, head), text: text))
      }
    } catch {
      failure = error
    }
  }
}
