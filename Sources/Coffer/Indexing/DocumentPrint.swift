internal import CofferDocuments
internal import CofferRecords
internal import CofferSealing

/// A number that stays the same as long as nothing of a document changes that an index holds.
///
/// A document that makes room for a neighbour has another row, but the same print.
struct DocumentPrint {
  let value: Int64

  init(_ header: DocumentHeader, _ marks: RowMarks, _ keys: RowKeys) throws(StoreError) {
    var builder = PreAuthenticationEncoding("coffer2/print")
    var numbers = ByteBuilder()
    numbers.append(marks.text)
    numbers.append(header.created.millisecondsSince1970)
    numbers.append(header.modified.millisecondsSince1970)
    numbers.append(UInt8(header.isJSON ? 1 : 0))
    numbers.append(UInt8(header.title == nil ? 0 : 1))
    builder = builder.adding(numbers.bytes).adding(Array((header.title ?? "").utf8))
      .adding(header.key?.bytes ?? []).adding(header.attributes.canonicalJSON)
    value = try sealing { () throws(SealingError) in
      try builder.bytes.withBytes { bytes throws(SealingError) in try keys.active.set.element(of: bytes).mark }
    }
  }
}
