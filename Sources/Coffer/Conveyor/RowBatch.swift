internal import CofferRecords
internal import CofferSealing

/// Work on copied rows by other threads, with its results.
///
/// One thread at a time uses it.
protocol RowWork: AnyObject {
  /// Forgets the results of earlier rows.
  func begin()

  /// Works on one row.
  ///
  /// - Parameters:
  ///   - head, body: memory to open the row's seals in; nil for memory of the worker itself.
  /// - Returns: false to leave out the rows after it.
  func process(
    _ row: RecordRow, at index: Int, head: UnsafeMutableRawBufferPointer?, body: UnsafeMutableRawBufferPointer?
  ) -> Bool

  /// Called after the last row.
  func end()
}

/// Rows copied out of a statement, for another thread to work on: the batch of a ``Conveyor``.
///
/// Reuses its memory for the next rows; heads and texts are opened in it, and it is wiped at its end.
final class RowBatch<Work: RowWork> {
  /// The end of the filled batch.
  enum Tail {
    case nothing
    /// A row too large to copy, still in SQLite's memory. Valid until the statement's next step.
    case large(RecordRow)
    case failed(StoreError)
  }

  /// Room for a few hundred documents of a kilobyte; smaller batches would be handed over too often.
  private static var capacity: Int { 576 << 10 }
  /// The size of the largest copied row: a copy of a larger one would cost more memory than the second thread saves
  /// time.
  private static var rowLimit: Int { 64 << 10 }

  let work: Work
  private(set) var rows: [RecordRow] = []
  private(set) var tail = Tail.nothing
  private let storage = ScratchMemory()
  private var byteCount = 0

  init(_ work: Work) {
    self.work = work
  }

  /// Copies rows until the batch is full or `next` has no more.
  func fill(_ next: () throws(StoreError) -> RecordRow?) -> Conveyor<RowBatch>.Filling {
    removeAll()
    do throws(StoreError) {
      repeat {
        guard let row = try next() else { return .end }
        guard row.byteCount <= Self.rowLimit else {
          tail = .large(row)
          return .moreAfterTaking
        }
        append(row)
      } while byteCount + Self.rowLimit <= Self.capacity
      return .more
    } catch {
      tail = .failed(error)
      return .end
    }
  }

  private func append(_ row: RecordRow) {
    let memory = storage.room(Self.capacity)
    let count = row.byteCount
    rows.append(row.copied(to: UnsafeMutableRawBufferPointer(rebasing: memory[byteCount..<byteCount + count])))
    byteCount += count
  }

  /// Works on the copied rows, each opened in place.
  func process() {
    for (index, row) in rows.enumerated() {
      guard work.process(row, at: index, head: row.headFrame, body: row.bodyFrame) else { break }
    }
    work.end()
  }

  /// Wipes and frees the memory.
  func clear() {
    removeAll()
    storage.shrink(above: 0)
  }

  private func removeAll() {
    rows.removeAll(keepingCapacity: true)
    tail = .nothing
    byteCount = 0
    work.begin()
  }
}

extension RecordRow {
  /// The location of the head's ciphertext in a copied row.
  fileprivate var headFrame: UnsafeMutableRawBufferPointer {
    let sealed = UnsafeMutableRawBufferPointer(mutating: head)
    return UnsafeMutableRawBufferPointer(rebasing: sealed[XAESKey.nonceCount..<sealed.count - XAESKey.tagCount])
  }

  /// The location of the body's ciphertext in a copied row.
  fileprivate var bodyFrame: UnsafeMutableRawBufferPointer? {
    body.map { UnsafeMutableRawBufferPointer(mutating: $0) }
  }
}
