package import CofferSealing

/// Rows ready for SQLite: sealed, in one reused piece of memory.
///
/// One thread at a time owns a batch; after handing it over, the former owner must not use it.
package final class SealedBatch {
  /// A row's columns; ranges point into the batch's memory.
  package struct Row {
    package var fields: RowFields
    package var blindIndex: Range<Int>?
    package var title: Range<Int>?
    package var head: Range<Int>
    package var bodyTag: Range<Int>
    /// Empty if only the head was sealed.
    package var body: Range<Int>
    /// Whether the body, sealed here or before, is a column of the record.
    package var isBodyInRecord: Bool
    package var element: SetElement
    /// The record's number in its input, for messages.
    package var record = 0
    /// While a rekey is unfinished: the blind indexes of the same key under older epochs.
    package var olderBlindIndexes: [[UInt8]] = []
  }

  package private(set) var rows: [Row] = []
  /// Collections that must be inserted before these rows.
  package var newCollections: [CollectionRecord] = []
  /// The change of the set hash by all rows, if the sealing thread has computed it (``sum(_:replacing:)``).
  package private(set) var setChange: SetHash?
  private var memory: UnsafeMutableRawBufferPointer
  private var used = 0

  package init() {
    memory = .allocate(byteCount: 4096, alignment: 16)
  }

  deinit {
    memory.deallocate()
  }

  /// Bytes of all rows so far.
  package var byteCount: Int { used }

  /// Removes the rows; keeps the memory, unless a single huge text made it large.
  package func removeAll() {
    rows.removeAll(keepingCapacity: true)
    newCollections.removeAll()
    setChange = nil
    used = 0
    if memory.count > 8 << 20 {
      memory.deallocate()
      memory = .allocate(byteCount: 1 << 20, alignment: 16)
    }
  }

  package func append(_ row: Row) {
    rows.append(row)
  }

  /// Sets the last row's number in its input, and the older blind indexes under which its key must be free.
  package func describeLast(record: Int, olderBlindIndexes: [[UInt8]]) {
    rows[rows.count - 1].record = record
    rows[rows.count - 1].olderBlindIndexes = olderBlindIndexes
  }

  /// Computes the change of the set hash by all rows, on the thread that sealed them: half a microsecond for each.
  ///
  /// - Parameter old: the elements of the rows that these replace.
  package func sum(_ summer: SetSummer, replacing old: [SetElement] = []) throws(StoreError) {
    var change = SetHash()
    do throws(SealingError) {
      for row in rows { try summer.add(row.element, to: &change) }
      for element in old { try summer.subtract(element, from: &change) }
    } catch {
      throw StoreError(error)
    }
    setChange = change
  }

  /// Reserves `count` bytes behind the used ones.
  package func reserve(_ count: Int) -> Range<Int> {
    if used + count > memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(used + count, 2 * memory.count), alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
      memory.deallocate()
      memory = larger
    }
    defer { used += count }
    return used..<used + count
  }

  package func append(bytes: UnsafeRawBufferPointer) -> Range<Int> {
    let range = reserve(bytes.count)
    mutable(range).copyMemory(from: bytes)
    return range
  }

  /// Valid until the next `reserve`.
  package func mutable(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[range])
  }

  package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[range])
  }
}
