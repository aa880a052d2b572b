internal import CofferSQLite
internal import CofferSealing

/// What the state says that every row must keep within.
struct RowLimits {
  let nextID: UInt64
  let generation: UInt64
  /// The epoch a rekey moves rows to; 0 when none runs.
  let target: UInt32
}

extension StoreState {
  var limits: RowLimits { RowLimits(nextID: nextID, generation: generation, target: target) }
}

/// A row of `coffer_record` as SQLite has it, its columns checked; valid until the statement's next step.
///
/// STRICT tables guard writes only, and files come from strangers: class, sign and size are checked on every read.
struct RecordRow {
  /// The columns every statement that reads rows selects, in this order.
  static let columns = "r.id,r.coll,r.epoch,r.rev,r.pos,r.parent,r.flags,r.lookup,r.title,r.head,r.body_nt"
  /// Where a statement selects the body too.
  static let bodyColumn = 11

  let fields: RowFields
  let lookup: UnsafeRawBufferPointer?
  let title: UnsafeRawBufferPointer?
  let head: UnsafeRawBufferPointer
  let bodyTag: UnsafeRawBufferPointer
  /// A rekey has not come to it yet; one that changes the title mode leaves such rows as they were.
  let isBelowTarget: Bool

  /// - Throws: `damaged`, naming the document and the column.
  init(_ statement: Statement, within limits: RowLimits) throws(StoreError) {
    let id = statement.int64(at: 0)
    func integer(_ column: Int, _ range: ClosedRange<Int64>, _ name: String) throws(StoreError) -> Int64 {
      guard statement.storageClass(at: column) == .integer else { throw .damagedDocument(id, "\(name) is no integer") }
      let value = statement.int64(at: column)
      guard range.contains(value) else { throw .damagedDocument(id, "\(name) is out of its bounds") }
      return value
    }
    func blob(_ column: Int, _ range: ClosedRange<Int>, _ name: String) throws(StoreError) -> UnsafeRawBufferPointer {
      guard statement.storageClass(at: column) == .blob else { throw .damagedDocument(id, "\(name) is no blob") }
      let bytes = statement.blobPointer(at: column)
      guard range.contains(bytes.count) else { throw .damagedDocument(id, "\(name) has another length") }
      return bytes
    }
    guard id >= 1, UInt64(id) < limits.nextID else { throw .damagedDocument(id, "the state is older than this row") }
    let collection = try integer(1, 1...StoreFormat.maximumNumber, "coll")
    let epoch = try integer(2, 1...StoreFormat.maximumNumber, "epoch")
    let revision = try integer(3, 0...Int64.max, "rev")
    guard UInt64(revision) <= limits.generation else { throw .damagedDocument(id, "the state is older than this row") }
    let position = try integer(4, Int64.min...Int64.max, "pos")
    let parent = statement.isNull(at: 5) ? nil : try integer(5, 1...Int64.max, "parent")
    let flags = try integer(6, 0...Int64(StoreFormat.RowFlags.known.rawValue), "flags")
    fields = RowFields(
      id: id, collection: UInt32(collection), epoch: UInt32(epoch), revision: UInt64(revision), position: position,
      parent: parent, flags: UInt32(flags))
    isBelowTarget = fields.epoch < limits.target
    lookup =
      statement.isNull(at: 7) ? nil : try blob(7, StoreFormat.lookupCount...StoreFormat.lookupCount, "lookup")
    switch statement.storageClass(at: 8) {
    case .null: title = nil
    case .text: title = statement.textPointer(at: 8)
    default: throw .damagedDocument(id, "title is no text")
    }
    head = try blob(9, XAESKey.overhead...StoreFormat.maximumHead, "head")
    bodyTag = try blob(10, StoreFormat.bodyTagCount...StoreFormat.bodyTagCount, "body_nt")
  }
}
