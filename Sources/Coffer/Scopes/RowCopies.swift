internal import CofferSealing

/// Rows taken out of a statement together with their bytes, for another thread to work on.
///
/// The memory is used again for the next rows; what is opened in it is wiped at its end.
struct RowCopies: ~Copyable {
  /// Room for a few hundred documents of a kilobyte: much less would be handed over too often.
  private static let capacity = 576 << 10
  /// A row beyond this is not taken: its copy would cost more memory than the second thread saves time.
  static let rowLimit = 64 << 10

  private(set) var rows: [RecordRow] = []
  private let storage = ScratchMemory()
  private(set) var byteCount = 0

  /// Whether any row within the limit still fits.
  var hasRoom: Bool { byteCount + Self.rowLimit <= Self.capacity }

  mutating func append(_ row: RecordRow) {
    let memory = storage.room(Self.capacity)
    let count = row.byteCount
    rows.append(row.copied(to: UnsafeMutableRawBufferPointer(rebasing: memory[byteCount..<byteCount + count])))
    byteCount += count
  }

  mutating func removeAll() {
    rows.removeAll(keepingCapacity: true)
    byteCount = 0
  }

  /// Wipes the memory and gives it back.
  mutating func clear() {
    removeAll()
    storage.shrink(above: 0)
  }
}

extension RecordRow {
  /// Where the head of a copied row can be opened: in its own place.
  var headFrame: UnsafeMutableRawBufferPointer {
    let sealed = UnsafeMutableRawBufferPointer(mutating: head)
    return UnsafeMutableRawBufferPointer(rebasing: sealed[XAESKey.nonceCount..<sealed.count - XAESKey.tagCount])
  }

  /// The same for its text.
  var bodyFrame: UnsafeMutableRawBufferPointer? {
    body.map { UnsafeMutableRawBufferPointer(mutating: $0) }
  }
}
