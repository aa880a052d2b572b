internal import CofferSealing

/// What a row says of itself outside its seals; the head is bound to all of it (FORMAT, "Rows").
struct RowFields {
  var id: Int64
  var collection: UInt32
  var epoch: UInt32
  var revision: UInt64
  var position: Int64
  var parent: Int64?
  var flags: UInt32
}

/// Builds the bytes that heads are bound to and that the set hash sums, in memory that is used again.
///
/// One layout serves both: label (16), `row` (117), then for a head `t`, for an element nonce, tag and `t`.
struct RowBinding {
  private static let labelCount = 16
  private static let headLabel: StaticString = "coffer1/head"
  private static let elementLabel: StaticString = "coffer1/row"

  private let storeID: [UInt8]
  private var builder = ByteBuilder(reserving: 512)

  init(storeID: [UInt8]) {
    self.storeID = storeID
  }

  /// `label16("coffer1/head") || row || t`
  mutating func head(
    _ fields: RowFields, lookup: UnsafeRawBufferPointer?, bodyTag: UnsafeRawBufferPointer,
    title: UnsafeRawBufferPointer?
  ) -> [UInt8] {
    begin(Self.headLabel, fields, lookup, bodyTag)
    append(title: title)
    return builder.bytes
  }

  /// `label16("coffer1/row") || row || head's N || head's T || t`
  mutating func element(
    _ fields: RowFields, lookup: UnsafeRawBufferPointer?, bodyTag: UnsafeRawBufferPointer,
    title: UnsafeRawBufferPointer?, head: UnsafeRawBufferPointer
  ) -> [UInt8] {
    begin(Self.elementLabel, fields, lookup, bodyTag)
    builder.append(bytes: UnsafeRawBufferPointer(rebasing: head.prefix(XAESKey.nonceCount)))
    builder.append(bytes: UnsafeRawBufferPointer(rebasing: head.suffix(XAESKey.tagCount)))
    append(title: title)
    return builder.bytes
  }

  private mutating func begin(
    _ label: StaticString, _ fields: RowFields, _ lookup: UnsafeRawBufferPointer?, _ bodyTag: UnsafeRawBufferPointer
  ) {
    builder.removeAll()
    builder.append(label: label, width: Self.labelCount)
    builder.append(bytes: storeID)
    builder.append(UInt64(bitPattern: fields.id))
    builder.append(fields.collection)
    builder.append(fields.epoch)
    builder.append(fields.revision)
    builder.append(fields.position)
    builder.append(UInt64(bitPattern: fields.parent ?? 0))
    builder.append(fields.flags)
    if let lookup {
      builder.append(UInt8(1))
      builder.append(bytes: lookup)
    } else {
      builder.append(UInt64(0))
      builder.append(UInt64(0))
      builder.append(UInt8(0))
    }
    builder.append(bytes: bodyTag)
  }

  /// `t`: whether the column holds a title, and which.
  private mutating func append(title: UnsafeRawBufferPointer?) {
    builder.append(UInt8(title == nil ? 0 : 1))
    if let title { builder.append(bytes: title) }
  }

  /// `label16("coffer1/body") || store_id || u32 coll || u64 id || u32 epoch`
  mutating func body(id: Int64, collection: UInt32, epoch: UInt32) -> [UInt8] {
    builder.removeAll()
    builder.append(label: "coffer1/body", width: Self.labelCount)
    builder.append(bytes: storeID)
    builder.append(collection)
    builder.append(UInt64(bitPattern: id))
    builder.append(epoch)
    return builder.bytes
  }

  /// `label16("coffer1/name") || store_id || u32 coll || u64 rev || u32 epoch`
  mutating func collection(_ collection: UInt32, revision: UInt64, epoch: UInt32) -> [UInt8] {
    builder.removeAll()
    builder.append(label: "coffer1/name", width: Self.labelCount)
    builder.append(bytes: storeID)
    builder.append(collection)
    builder.append(revision)
    builder.append(epoch)
    return builder.bytes
  }

  /// `"coffer1/collection", zeros to 20 || store_id || u32 coll || u32 epoch || u64 rev || N || T`
  mutating func collectionElement(
    _ collection: UInt32, epoch: UInt32, revision: UInt64, sealed: UnsafeRawBufferPointer
  ) -> [UInt8] {
    builder.removeAll()
    builder.append(label: "coffer1/collection", width: 20)
    builder.append(bytes: storeID)
    builder.append(collection)
    builder.append(epoch)
    builder.append(revision)
    builder.append(bytes: UnsafeRawBufferPointer(rebasing: sealed.prefix(XAESKey.nonceCount)))
    builder.append(bytes: UnsafeRawBufferPointer(rebasing: sealed.suffix(XAESKey.tagCount)))
    return builder.bytes
  }
}
