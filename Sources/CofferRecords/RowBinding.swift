internal import CofferSealing

/// A row's plaintext numbers, which the head authenticates with the row's other columns (FORMAT, "The row as bytes").
package struct RowFields {
  package var id: Int64
  package var collection: UInt32
  package var epoch: UInt32
  package var revision: UInt64
  package var parent: Int64?
  package var flags: UInt32

  package init(
    id: Int64, collection: UInt32, epoch: UInt32, revision: UInt64, parent: Int64?, flags: UInt32
  ) {
    self.id = id
    self.collection = collection
    self.epoch = epoch
    self.revision = revision
    self.parent = parent
    self.flags = flags
  }

  /// Whether the text is a value's JSON.
  package var isJSON: Bool { StoreFormat.RowFlags(rawValue: flags).contains(.json) }

  /// Whether another document of the collection holds the key that the head has.
  package var isKeyHeldElsewhere: Bool {
    get { StoreFormat.RowFlags(rawValue: flags).contains(.keyHeldElsewhere) }
    set { flags = StoreFormat.RowFlags(isJSON: isJSON, isKeyHeldElsewhere: newValue).rawValue }
  }

  /// Rejects a manipulated index that lists a row in another collection.
  package func require(_ collection: UInt32?) throws(StoreError) {
    guard collection == nil || collection == self.collection else {
      throw .damagedDocument(id, "the list names it in another collection")
    }
  }
}

/// Builds the bytes that seals and the set hash authenticate, in reusable memory.
///
/// A result is valid until the next call. Use it on one thread at a time.
package final class RowBinding {
  private static let labelCount = 16

  private let storeID: [UInt8]
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 16)
  private var used = 0

  package init(storeID: [UInt8]) {
    self.storeID = storeID
  }

  deinit {
    memory.deallocate()
  }

  /// Returns `label16("coffer3/head") || row || t`.
  package func head(
    _ fields: RowFields, position: UnsafeRawBufferPointer, blindIndex: UnsafeRawBufferPointer?,
    bodyTag: UnsafeRawBufferPointer, title: UnsafeRawBufferPointer?
  ) -> UnsafeRawBufferPointer {
    begin("coffer3/head", Self.labelCount, extra: title?.count ?? 0)
    append(row: fields, position, blindIndex, bodyTag)
    append(title: title)
    return bytes
  }

  /// Returns `label16("coffer3/row") || row || u32 length of the head || head || t`.
  package func element(
    _ fields: RowFields, position: UnsafeRawBufferPointer, blindIndex: UnsafeRawBufferPointer?,
    bodyTag: UnsafeRawBufferPointer, title: UnsafeRawBufferPointer?, head: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer {
    begin("coffer3/row", Self.labelCount, extra: head.count + (title?.count ?? 0))
    append(row: fields, position, blindIndex, bodyTag)
    append(UInt32(head.count))
    append(head)
    append(title: title)
    return bytes
  }

  /// Returns `label16("coffer3/body") || store_id || u32 coll || u64 id || u32 epoch`.
  package func body(id: Int64, collection: UInt32, epoch: UInt32) -> UnsafeRawBufferPointer {
    begin("coffer3/body", Self.labelCount)
    append(storeID)
    append(collection)
    append(UInt64(bitPattern: id))
    append(epoch)
    return bytes
  }

  /// Returns `label16("coffer3/name") || store_id || u64 coll || u32 epoch || u64 rev`.
  package func collection(_ collection: UInt32, revision: UInt64, epoch: UInt32) -> UnsafeRawBufferPointer {
    begin("coffer3/name", Self.labelCount)
    append(place: UInt64(collection), epoch, revision)
    return bytes
  }

  /// Returns `label16("coffer3/set-name") || store_id || u64 coll || u32 epoch || u64 rev || sealed`.
  package func collectionElement(_ collection: UInt32, epoch: UInt32, revision: UInt64, sealed: UnsafeRawBufferPointer)
    -> UnsafeRawBufferPointer
  {
    begin("coffer3/set-name", Self.labelCount, extra: sealed.count)
    append(place: UInt64(collection), epoch, revision)
    append(sealed)
    return bytes
  }

  /// Returns `label16("coffer3/gone") || store_id || u64 gone || u32 epoch || u64 rev`.
  package func deletion(_ number: Int64, revision: UInt64, epoch: UInt32) -> UnsafeRawBufferPointer {
    begin("coffer3/gone", Self.labelCount)
    append(place: UInt64(number), epoch, revision)
    return bytes
  }

  /// Returns `label16("coffer3/set-gone") || store_id || u64 gone || u32 epoch || u64 rev || sealed`.
  package func deletionElement(_ number: Int64, epoch: UInt32, revision: UInt64, sealed: UnsafeRawBufferPointer)
    -> UnsafeRawBufferPointer
  {
    begin("coffer3/set-gone", Self.labelCount, extra: sealed.count)
    append(place: UInt64(number), epoch, revision)
    append(sealed)
    return bytes
  }

  /// Returns `label16("coffer3/attach") || store_id || u64 attachment || u32 epoch || u64 rev`.
  package func attachment(_ number: Int64, revision: UInt64, epoch: UInt32) -> UnsafeRawBufferPointer {
    begin("coffer3/attach", Self.labelCount)
    append(place: UInt64(number), epoch, revision)
    return bytes
  }

  /// Returns `label16("coffer3/set-file") || store_id || u64 attachment || u32 epoch || u64 rev || sealed`.
  package func attachmentElement(_ number: Int64, epoch: UInt32, revision: UInt64, sealed: UnsafeRawBufferPointer)
    -> UnsafeRawBufferPointer
  {
    begin("coffer3/set-file", Self.labelCount, extra: sealed.count)
    append(place: UInt64(number), epoch, revision)
    append(sealed)
    return bytes
  }

  /// Returns `label16("coffer3/chunk") || store_id || u64 attachment || u32 number || u8 last`.
  package func chunk(_ index: Int, of attachment: Int64, isLast: Bool) -> UnsafeRawBufferPointer {
    begin("coffer3/chunk", Self.labelCount)
    append(storeID)
    append(UInt64(attachment))
    append(UInt32(index))
    append(mark: isLast ? 1 : 0)
    return bytes
  }

  private func append(place number: UInt64, _ epoch: UInt32, _ revision: UInt64) {
    append(storeID)
    append(number)
    append(epoch)
    append(revision)
  }

  /// Returns `label16("coffer3/index") || store_id || u32 part || u32 epoch`.
  package func indexRoot(part: UInt32, epoch: UInt32) -> UnsafeRawBufferPointer {
    begin("coffer3/index", Self.labelCount)
    append(storeID)
    append(part)
    append(epoch)
    return bytes
  }

  /// Returns `label16("coffer3/page") || store_id || identity || u32 part || u32 epoch || u32 page`.
  package func indexPage(_ place: IndexPlace) -> UnsafeRawBufferPointer {
    begin("coffer3/page", Self.labelCount)
    append(storeID)
    append(place.identity.high)
    append(place.identity.low)
    append(place.part)
    append(place.epoch)
    append(place.page)
    return bytes
  }

  /// Returns `PAE("coffer3/lookup", u32 coll, folded key)`.
  func blindIndex(ofFolded key: [UInt8], in collection: UInt32) -> UnsafeRawBufferPointer {
    let label: StaticString = "coffer3/lookup"
    makeRoom(for: key.count)
    used = 0
    append(UInt32(3))
    append(UInt32(label.utf8CodeUnitCount))
    append(UnsafeRawBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount))
    append(UInt32(4))
    append(collection)
    append(UInt32(key.count))
    append(key)
    return bytes
  }

  // MARK: Appending, big-endian

  private var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[..<used])
  }

  /// Makes space for a title, key or sealed blobs. The other parts fit in 512 bytes.
  private func makeRoom(for extra: Int) {
    guard memory.count < 512 + extra else { return }
    memory.deallocate()
    memory = .allocate(byteCount: 2 * (512 + extra), alignment: 16)
  }

  private func begin(_ label: StaticString, _ width: Int, extra: Int = 0) {
    makeRoom(for: extra)
    memory.baseAddress!.copyMemory(from: label.utf8Start, byteCount: label.utf8CodeUnitCount)
    (memory.baseAddress! + label.utf8CodeUnitCount).initializeMemory(
      as: UInt8.self, repeating: 0, count: width - label.utf8CodeUnitCount)
    used = width
  }

  private func append(
    row fields: RowFields, _ position: UnsafeRawBufferPointer, _ blindIndex: UnsafeRawBufferPointer?,
    _ bodyTag: UnsafeRawBufferPointer
  ) {
    append(storeID)
    append(UInt64(bitPattern: fields.id))
    append(fields.collection)
    append(fields.epoch)
    append(fields.revision)
    append(mark: UInt8(position.count))
    append(position)
    append(UInt64(bitPattern: fields.parent ?? 0))
    append(fields.flags)
    if let blindIndex {
      append(mark: 1)
      append(blindIndex)
    } else {
      append(mark: 0)
      append(UInt64(0))
      append(UInt64(0))
    }
    append(bodyTag)
  }

  /// Appends `t`, which indicates whether the column contains a title, and the title itself.
  private func append(title: UnsafeRawBufferPointer?) {
    append(mark: title == nil ? 0 : 1)
    if let title { append(title) }
  }

  private func append(mark: UInt8) {
    memory[used] = mark
    used += 1
  }

  private func append(_ value: UInt32) {
    memory.storeBytes(of: value.bigEndian, toByteOffset: used, as: UInt32.self)
    used += 4
  }

  private func append(_ value: UInt64) {
    memory.storeBytes(of: value.bigEndian, toByteOffset: used, as: UInt64.self)
    used += 8
  }

  private func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    (memory.baseAddress! + used).copyMemory(from: start, byteCount: bytes.count)
    used += bytes.count
  }

  private func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }
}
