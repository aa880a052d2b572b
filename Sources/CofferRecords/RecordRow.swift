internal import CofferDocuments
package import CofferSQLite
internal import CofferSealing

/// The bounds that the state sets for every row.
package struct RowLimits {
  /// The bounds for salvage, where the state may be missing or outdated, and titles may follow any mode.
  package static let none = RowLimits(
    bound: UInt64(Int64.max), generation: UInt64(StoreFormat.maximumGeneration), target: UInt32.max, cursor: 0)

  package let bound: UInt64
  package let generation: UInt64
  /// The epoch that a rekey moves rows to, or 0 outside a rekey.
  package let target: UInt32
  /// The next ID that the rekey checks. Rows with lower IDs don't have an older epoch.
  package let cursor: UInt64

  package init(bound: UInt64, generation: UInt64, target: UInt32, cursor: UInt64) {
    self.bound = bound
    self.generation = generation
    self.target = target
    self.cursor = cursor
  }
}

extension StoreState {
  package var limits: RowLimits {
    RowLimits(bound: bound, generation: generation, target: target, cursor: cursor)
  }
}

/// A row of `coffer_record` in SQLite's memory with checked columns, which is valid until the statement's next step.
///
/// Every read checks class, sign and size, because STRICT tables only check writes and files may be hostile.
package struct RecordRow {
  /// The columns that every statement for rows selects, in this order. The record's body and the body in the other
  /// table may follow them.
  package static let columns = "r.id,r.coll,r.epoch,r.rev,r.pos,r.parent,r.flags,r.lookup,r.title,r.head,r.body_nt"
  private static let bodyColumn = 11
  private static let otherBodyColumn = 12

  package let fields: RowFields
  /// The position, 1 to 255 bytes.
  package private(set) var position: UnsafeRawBufferPointer
  package private(set) var blindIndex: UnsafeRawBufferPointer?
  package private(set) var title: UnsafeRawBufferPointer?
  package private(set) var head: UnsafeRawBufferPointer
  package private(set) var bodyTag: UnsafeRawBufferPointer
  /// The body, or `nil` if the column wasn't selected, is missing, or isn't a blob.
  package private(set) var body: UnsafeRawBufferPointer?
  /// Whether the body is stored in the record.
  package private(set) var hasBodyInRecord = false
  /// Whether the running rekey hasn't rewritten the row yet, so it may have the old title mode.
  package let isBelowTarget: Bool
  /// Whether the running rekey passed this ID without rewriting the row, because it skipped it or an attacker added it.
  package let isBehindCursor: Bool

  /// - Throws: `damaged` with the document and the column.
  package init(_ columns: UnsafeBufferPointer<StoredColumn>, within limits: RowLimits) throws(StoreError) {
    try self.init(columns, id: columns[0].integer, within: limits)
  }

  /// - Parameter columns: The columns in the order of ``columns``. The row refers to their bytes. Ignores the first.
  @inline(__always)
  package init(_ columns: UnsafeBufferPointer<StoredColumn>, id: Int64, within limits: RowLimits) throws(StoreError) {
    @inline(__always)
    func integer(_ column: Int, _ range: ClosedRange<Int64>, _ name: StaticString) throws(StoreError) -> Int64 {
      guard columns[column].storageClass == .integer else { throw .damagedDocument(id, "\(name) is no integer") }
      let value = columns[column].integer
      guard range.contains(value) else { throw .damagedDocument(id, "\(name) is out of its bounds") }
      return value
    }
    @inline(__always)
    func blob(_ column: Int, _ range: ClosedRange<Int>, _ name: StaticString) throws(StoreError)
      -> UnsafeRawBufferPointer
    {
      guard columns[column].storageClass == .blob else { throw .damagedDocument(id, "\(name) is no blob") }
      let bytes = columns[column].bytes
      guard range.contains(bytes.count) else { throw .damagedDocument(id, "\(name) has another length") }
      return bytes
    }
    guard id >= 1, UInt64(id) < limits.bound else { throw .damagedDocument(id, "the state is older than this row") }
    let collection = try integer(1, 1...StoreFormat.maximumNumber, "coll")
    let epoch = try integer(2, 1...StoreFormat.maximumNumber, "epoch")
    let revision = try integer(3, 1...StoreFormat.maximumGeneration, "rev")
    guard UInt64(revision) <= limits.generation else { throw .damagedDocument(id, "the state is older than this row") }
    position = try blob(4, 1...DocumentPosition.maximumCount, "pos")
    let parent = columns[5].storageClass == .null ? nil : try integer(5, 1...Int64.max, "parent")
    let flags = try integer(6, 0...Int64(StoreFormat.RowFlags.known.rawValue), "flags")
    fields = RowFields(
      id: id, collection: UInt32(collection), epoch: UInt32(epoch), revision: UInt64(revision), parent: parent,
      flags: UInt32(flags))
    isBelowTarget = fields.epoch < limits.target
    isBehindCursor = isBelowTarget && UInt64(id) < limits.cursor
    blindIndex =
      columns[7].storageClass == .null
      ? nil : try blob(7, StoreFormat.blindIndexCount...StoreFormat.blindIndexCount, "lookup")
    switch columns[8].storageClass {
    case .null: title = nil
    case .text where columns[8].bytes.count <= StoreFormat.maximumTitle: title = columns[8].bytes
    case .text: throw .damagedDocument(id, "title has another length")
    default: throw .damagedDocument(id, "title is no text")
    }
    head = try blob(9, XAESKey.overhead...StoreFormat.maximumHead, "head")
    bodyTag = try blob(10, StoreFormat.bodyTagCount...StoreFormat.bodyTagCount, "body_nt")
    guard columns.count > Self.bodyColumn else { return }
    if columns[Self.bodyColumn].storageClass != .null {
      body = try blob(Self.bodyColumn, Frame.headerCount...StoreFormat.maximumBodyInRecord, "body")
      hasBodyInRecord = true
    } else if columns.count > Self.otherBodyColumn, columns[Self.otherBodyColumn].storageClass == .blob {
      body = columns[Self.otherBodyColumn].bytes
    }
  }

  /// Returns the row with a body from the other table.
  package func joined(with body: UnsafeRawBufferPointer?) -> RecordRow {
    var row = self
    row.body = body
    row.hasBodyInRecord = false
    return row
  }

  // MARK: Away from the statement

  /// The number of bytes that the row refers to.
  package var byteCount: Int {
    position.count + (blindIndex?.count ?? 0) + (title?.count ?? 0) + head.count + bodyTag.count + (body?.count ?? 0)
  }

  /// Returns the row with its bytes copied to `memory`, which needs ``byteCount`` bytes and must remain valid.
  package func copied(to memory: UnsafeMutableRawBufferPointer) -> RecordRow {
    var used = 0
    var row = self
    row.position = Self.copy(position, to: memory, &used)
    if let blindIndex { row.blindIndex = Self.copy(blindIndex, to: memory, &used) }
    if let title { row.title = Self.copy(title, to: memory, &used) }
    row.head = Self.copy(head, to: memory, &used)
    row.bodyTag = Self.copy(bodyTag, to: memory, &used)
    if let body { row.body = Self.copy(body, to: memory, &used) }
    return row
  }

  @inline(__always)
  private static func copy(
    _ bytes: UnsafeRawBufferPointer, to memory: UnsafeMutableRawBufferPointer, _ used: inout Int
  ) -> UnsafeRawBufferPointer {
    let target = UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + bytes.count])
    target.copyMemory(from: bytes)
    used += bytes.count
    return UnsafeRawBufferPointer(target)
  }
}
