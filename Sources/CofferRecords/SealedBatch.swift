package import CofferDocuments
package import CofferSealing

/// Sealed rows for SQLite in reusable memory.
///
/// A batch is owned by one thread at a time. After passing it on, the previous owner must not use it.
package final class SealedBatch {
  /// A row's columns, whose ranges refer to the batch's memory.
  package struct Row {
    package var fields: RowFields
    package var position: Range<Int>
    package var blindIndex: Range<Int>?
    package var title: Range<Int>?
    package var head: Range<Int>
    package var bodyTag: Range<Int>
    /// The body, which is empty if only the head was sealed.
    package var body: Range<Int>
    /// Whether the new or existing body is stored in the record.
    package var isBodyInRecord: Bool
    package var element: SetElement
    /// The record's number in its input, for messages.
    package var record = 0
    /// The key's blind indexes under older epochs, during an unfinished rekey.
    package var olderBlindIndexes: [[UInt8]] = []
  }

  // Exclusive access isn't checked for properties that every row changes, because one thread at a time owns the batch.
  @exclusivity(unchecked) package private(set) var rows: [Row] = []
  /// The collections to insert before these rows.
  package var newCollections: [CollectionRecord] = []
  /// The attachments of these rows, by the rows' indices.
  package var attachments: [(row: Int, drafts: [DraftAttachment])] = []
  /// All rows' change to the set hash, if the sealing thread has computed it (``sum(_:replacing:)``).
  package private(set) var setChange: SetHash?
  @exclusivity(unchecked) private var memory: UnsafeMutableRawBufferPointer
  @exclusivity(unchecked) private var used = 0

  package init() {
    memory = .allocate(byteCount: 4096, alignment: 16)
  }

  deinit {
    memory.deallocate()
  }

  /// The total size of all rows in bytes.
  package var byteCount: Int { used }

  /// Removes the rows, but keeps the memory unless a single large text increased it.
  package func removeAll() {
    rows.removeAll(keepingCapacity: true)
    newCollections.removeAll()
    attachments.removeAll()
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

  /// Sets the last row's input number, and the older blind indexes under which its key must be unused.
  package func describeLast(record: Int, olderBlindIndexes: [[UInt8]]) {
    rows[rows.count - 1].record = record
    rows[rows.count - 1].olderBlindIndexes = olderBlindIndexes
  }

  /// Computes all rows' change to the set hash on the sealing thread, in half a microsecond for each row.
  ///
  /// - Parameter old: The elements of the replaced rows.
  package func sum(_ summer: SetSummer, replacing old: [SetElement] = []) throws(StoreError) {
    var change = SetHash()
    try translatingErrors { () throws(SealingError) in
      for row in rows { try summer.add(row.element, to: &change) }
      for element in old { try summer.subtract(element, from: &change) }
    }
    setChange = change
  }

  /// Reserves `count` bytes after the used bytes.
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

  /// Returns memory that's valid until the next `reserve`.
  package func mutable(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[range])
  }

  package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[range])
  }
}
