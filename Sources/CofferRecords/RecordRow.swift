package import CofferSQLite
internal import CofferSealing

/// Bounds that the state sets for every row.
package struct RowLimits {
  /// No bounds, for salvage: the state may be older than the rows, or missing, and titles may follow any mode.
  package static let none = RowLimits(
    nextID: UInt64(Int64.max), generation: UInt64(StoreFormat.maximumCounter), target: UInt32.max, cursor: 0)

  package let nextID: UInt64
  package let generation: UInt64
  /// The epoch that a rekey moves rows to; 0 when none runs.
  package let target: UInt32
  /// The next id that the rekey looks at: no row below it has an older epoch.
  package let cursor: UInt64
}

extension StoreState {
  package var limits: RowLimits {
    RowLimits(nextID: nextID, generation: generation, target: target, cursor: cursor)
  }
}

/// A row of `coffer_record` in SQLite's memory, its columns checked; valid until the statement's next step.
///
/// STRICT tables guard writes only, and files may be hostile: class, sign and size are checked on every read.
package struct RecordRow {
  /// The columns that every statement that reads rows selects, in this order. The record's own body may follow them, and
  /// then the body in the other table.
  package static let columns = "r.id,r.coll,r.epoch,r.rev,r.pos,r.parent,r.flags,r.lookup,r.title,r.head,r.body_nt"
  private static let bodyColumn = 11
  private static let otherBodyColumn = 12

  package let fields: RowFields
  package private(set) var blindIndex: UnsafeRawBufferPointer?
  package private(set) var title: UnsafeRawBufferPointer?
  package private(set) var head: UnsafeRawBufferPointer
  package private(set) var bodyTag: UnsafeRawBufferPointer
  /// nil if it was not selected, is missing, or is no blob.
  package private(set) var body: UnsafeRawBufferPointer?
  /// Whether the body is a column of the record.
  package private(set) var hasBodyInRecord = false
  /// The running rekey has not rewritten this row yet; if that rekey changes the title mode, the row has the old mode.
  package let isBelowTarget: Bool
  /// The running rekey has passed this id but not rewritten the row: the rekey left it, or an attacker put it there.
  package let isBehindCursor: Bool

  /// - Throws: `damaged`, naming the document and the column.
  package init(_ columns: UnsafeBufferPointer<StoredColumn>, within limits: RowLimits) throws(StoreError) {
    try self.init(columns, id: columns[0].integer, within: limits)
  }

  /// - Parameter columns: in the order of ``columns``; the first one isn't looked at. Their bytes are the row's.
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
    guard id >= 1, UInt64(id) < limits.nextID else { throw .damagedDocument(id, "the state is older than this row") }
    let collection = try integer(1, 1...StoreFormat.maximumNumber, "coll")
    let epoch = try integer(2, 1...StoreFormat.maximumNumber, "epoch")
    let revision = try integer(3, 1...StoreFormat.maximumCounter, "rev")
    guard UInt64(revision) <= limits.generation else { throw .damagedDocument(id, "the state is older than this row") }
    let position = try integer(4, Int64.min...Int64.max, "pos")
    let parent = columns[5].storageClass == .null ? nil : try integer(5, 1...Int64.max, "parent")
    let flags = try integer(6, 0...Int64(StoreFormat.RowFlags.known.rawValue), "flags")
    fields = RowFields(
      id: id, collection: UInt32(collection), epoch: UInt32(epoch), revision: UInt64(revision), position: position,
      parent: parent, flags: UInt32(flags))
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

  /// The row with a body of the other table.
  package func joined(with body: UnsafeRawBufferPointer?) -> RecordRow {
    var row = self
    row.body = body
    row.hasBodyInRecord = false
    return row
  }

  // MARK: Away from the statement

  /// Bytes that the row refers to.
  package var byteCount: Int {
    (blindIndex?.count ?? 0) + (title?.count ?? 0) + head.count + bodyTag.count + (body?.count ?? 0)
  }

  /// The row with its bytes copied to `memory` (``byteCount`` of them), valid as long as that is.
  package func copied(to memory: UnsafeMutableRawBufferPointer) -> RecordRow {
    var rest = memory[...]
    var row = self
    if let blindIndex { row.blindIndex = Self.copy(blindIndex, to: &rest) }
    if let title { row.title = Self.copy(title, to: &rest) }
    row.head = Self.copy(head, to: &rest)
    row.bodyTag = Self.copy(bodyTag, to: &rest)
    if let body { row.body = Self.copy(body, to: &rest) }
    return row
  }

  @inline(__always)
  private static func copy(_ bytes: UnsafeRawBufferPointer, to rest: inout Slice<UnsafeMutableRawBufferPointer>)
    -> UnsafeRawBufferPointer
  {
    let target = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(bytes.count))
    target.copyMemory(from: bytes)
    rest = rest.dropFirst(bytes.count)
    return UnsafeRawBufferPointer(target)
  }
}
