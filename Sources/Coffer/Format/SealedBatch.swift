internal import CofferSealing

/// Rows ready for SQLite: sealed, in one piece of memory that is used again.
///
/// One thread at a time owns a batch; handing it over is the owner's end.
final class SealedBatch {
  /// What a row binds; ranges point into the batch's memory.
  struct Row {
    var fields: RowFields
    var lookup: Range<Int>?
    var title: Range<Int>?
    var head: Range<Int>
    var bodyTag: Range<Int>
    /// Empty where only the head was sealed.
    var body: Range<Int>
    /// What the row adds to the set hash.
    var element: SetHash
    /// The record's number in its input, for messages.
    var record = 0
    /// While a rekey is unfinished: where the same key would stand under older epochs.
    var olderLookups: [[UInt8]] = []
  }

  private(set) var rows: [Row] = []
  /// Collections that must stand before these rows.
  var newCollections: [CollectionRecord] = []
  private var memory: UnsafeMutableRawBufferPointer
  private var used = 0

  init() {
    memory = .allocate(byteCount: 4096, alignment: 16)
  }

  deinit {
    memory.deallocate()
  }

  /// Bytes of all rows so far.
  var byteCount: Int { used }

  /// Forgets the rows and keeps the memory, unless a single huge text made it large.
  func removeAll() {
    rows.removeAll(keepingCapacity: true)
    newCollections.removeAll()
    used = 0
    if memory.count > 8 << 20 {
      memory.deallocate()
      memory = .allocate(byteCount: 1 << 20, alignment: 16)
    }
  }

  func append(_ row: Row) {
    rows.append(row)
  }

  /// Says of the last row which record of its input it came from, and where else its key must not stand.
  func describeLast(record: Int, olderLookups: [[UInt8]]) {
    rows[rows.count - 1].record = record
    rows[rows.count - 1].olderLookups = olderLookups
  }

  /// Room for `count` bytes behind what is there.
  func reserve(_ count: Int) -> Range<Int> {
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

  func append(bytes: UnsafeRawBufferPointer) -> Range<Int> {
    let range = reserve(bytes.count)
    mutable(range).copyMemory(from: bytes)
    return range
  }

  /// Valid until the next `reserve`.
  func mutable(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[range])
  }

  func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[range])
  }
}
