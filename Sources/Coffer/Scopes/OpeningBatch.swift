internal import CofferSealing
internal import Dispatch
internal import Synchronization

/// Rows taken out of a statement and opened all at once, on whichever thread comes to it first.
///
/// Its memory holds opened heads and texts, is used again for the next rows, and is wiped at its end.
final class OpeningBatch: @unchecked Sendable {
  // The thread that fills it owns it until `start`; then whoever claims it, until `finish` has returned.

  /// Room for a few hundred documents of a kilobyte: much less would be handed over too often.
  private static let capacity = 576 << 10
  /// A row beyond this is not taken: its copy would cost more memory than the second thread saves time.
  static let rowLimit = 64 << 10

  struct Opened {
    let header: DocumentHeader
    let text: UnsafeRawBufferPointer
  }

  private(set) var rows: [RecordRow] = []
  /// As many as `rows`, or fewer where one failed.
  private(set) var opened: [Opened] = []
  private(set) var failure: StoreError?
  private let opener: RecordOpener
  private let storage = ScratchMemory()
  private var used = 0
  private let isClaimed = Atomic<Bool>(false)
  private let done = DispatchSemaphore(value: 0)

  init(_ keys: SessionKeys) throws(StoreError) {
    opener = RecordOpener(try RowKeys(keys))
  }

  func belongs(to keys: SessionKeys) -> Bool {
    opener.keys.session === keys
  }

  // MARK: Filling

  /// Whether any row that a batch takes still fits.
  var hasRoom: Bool { used + Self.rowLimit <= Self.capacity }

  func append(_ row: RecordRow) {
    let memory = storage.room(Self.capacity)
    let count = row.byteCount
    rows.append(row.copied(to: UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + count])))
    used += count
  }

  func removeAll() {
    rows.removeAll(keepingCapacity: true)
    opened.removeAll(keepingCapacity: true)
    failure = nil
    used = 0
  }

  /// Wipes the memory and gives it back.
  func clear() {
    removeAll()
    storage.shrink(above: 0)
  }

  // MARK: Opening

  /// Has the rows opened on another thread; nobody touches the batch until ``finish(withTexts:)``.
  func start(withTexts: Bool) {
    isClaimed.store(false, ordering: .releasing)
    DispatchQueue.global(qos: .userInitiated).async { [self] in
      guard claim() else { return }
      open(withTexts: withTexts)
      done.signal()
    }
  }

  /// Waits until the rows are open; where no other thread has begun, opens them here.
  ///
  /// So a walk goes on even where every thread of the pool waits for something else.
  func finish(withTexts: Bool) {
    if claim() {
      open(withTexts: withTexts)
    } else {
      done.wait()
    }
  }

  private func claim() -> Bool {
    isClaimed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
  }

  private func open(withTexts: Bool) {
    do throws(StoreError) {
      for row in rows {
        let sealed = UnsafeMutableRawBufferPointer(mutating: row.head)
        let frame = UnsafeMutableRawBufferPointer(
          rebasing: sealed[XAESKey.nonceCount..<sealed.count - XAESKey.tagCount])
        let head = try opener.openHead(row, in: frame)
        let text =
          if withTexts {
            try opener.openBody(row, head, in: row.body.map { UnsafeMutableRawBufferPointer(mutating: $0) })
          } else { UnsafeRawBufferPointer(start: nil, count: 0) }
        opened.append(Opened(header: DocumentHeader(row, head), text: text))
      }
    } catch {
      failure = error
    }
  }
}
