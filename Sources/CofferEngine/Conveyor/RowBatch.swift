internal import CofferRecords
internal import CofferSealing

/// The work of other threads on copied rows, with its results. One thread uses it at a time.
protocol RowWork: AnyObject {
  /// Clears the results of earlier rows.
  func begin()

  /// Processes a row.
  ///
  /// - Parameters:
  ///   - head, body: The memory for opening the row's seals, or `nil` to use the worker's own memory.
  /// - Returns: `false` to skip the remaining rows.
  func process(
    _ row: RecordRow, at index: Int, head: UnsafeMutableRawBufferPointer?, body: UnsafeMutableRawBufferPointer?
  ) -> Bool

  /// Finishes the work after the last row.
  func end()
}

/// A ``Conveyor`` batch of rows copied from a statement for another thread.
///
/// Heads and texts are opened in its memory, which is reused for the next rows and wiped at the end.
final class RowBatch<Work: RowWork> {
  /// The end of a filled batch.
  enum Tail {
    case nothing
    /// A row too large to copy, still in SQLite's memory. Valid until the statement's next step.
    case large(RecordRow)
    case failed(StoreError)
  }

  /// The size for a few hundred 1 KB documents. Smaller batches would be handed over too often.
  private static var capacity: Int { 576 << 10 }
  /// The maximum size of a copied row. Copying a larger row costs more memory than the second thread saves time.
  private static var rowLimit: Int { 64 << 10 }

  let work: Work
  private(set) var rows: [RecordRow] = []
  private(set) var tail = Tail.nothing
  private let storage = ScratchMemory()
  private var byteCount = 0

  init(_ work: Work) {
    self.work = work
  }

  /// Copies rows until the batch is full, a row is too large, or `next` returns `nil`.
  func fill(_ next: () throws(StoreError) -> RecordRow?) -> Conveyor<RowBatch>.Filling {
    removeAll()
    do throws(StoreError) {
      repeat {
        guard let row = try next() else { return .end }
        let count = row.byteCount
        guard count <= Self.rowLimit else {
          tail = .large(row)
          return .moreAfterTaking
        }
        append(row, count)
      } while byteCount + Self.rowLimit <= Self.capacity
      return .more
    } catch {
      tail = .failed(error)
      return .end
    }
  }

  private func append(_ row: RecordRow, _ count: Int) {
    let memory = storage.room(Self.capacity)
    rows.append(row.copied(to: UnsafeMutableRawBufferPointer(rebasing: memory[byteCount..<byteCount + count])))
    byteCount += count
  }

  /// Processes the copied rows, which are opened in place.
  func process() {
    for (index, row) in rows.enumerated() {
      guard work.process(row, at: index, head: row.headFrame, body: row.bodyFrame) else { break }
    }
    work.end()
  }

  /// Passes on the processed rows, and then processes and passes on a row that was too large to copy.
  ///
  /// - Throws: The error that ended the filling, after the rows before it.
  func takeRows(_ take: (Work, [RecordRow]) throws(StoreError) -> Void) throws(StoreError) {
    try take(work, rows)
    switch tail {
    case .nothing: break
    case .large(let row):
      work.begin()
      _ = work.process(row, at: 0, head: nil, body: nil)
      work.end()
      try take(work, [row])
    case .failed(let error): throw error
    }
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
