internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A number that changes when an indexed part of a document changes.
///
/// If a document only moves to make space for a neighbor, its row changes but its print doesn't.
struct DocumentPrint {
  let value: Int64

  init(_ document: IndexedDocument, _ keys: RowKeys) throws(StoreError) {
    let header = document.header
    var numbers = ByteBuilder()
    numbers.append(document.marks.text)
    numbers.append(header.created.millisecondsSince1970)
    numbers.append(header.modified.millisecondsSince1970)
    numbers.append(UInt8(header.isJSON ? 1 : 0))
    numbers.append(UInt8(header.title == nil ? 0 : 1))
    let (title, key, names) = (header.title ?? "", header.key?.bytes ?? [], document.joinedNames)
    let attributes = header.attributes.canonicalJSON
    let count = numbers.bytes.count + title.utf8.count + key.count + attributes.count + names.utf8.count
    var builder = PreAuthenticationEncoding("coffer3/print", reserving: count + 5 * 4)
    defer { builder.wipe() }
    builder = builder.adding(numbers.bytes).adding(title).adding(key).adding(attributes).adding(names)
    value = try translatingErrors { () throws(SealingError) in
      try builder.bytes.withBytes { bytes throws(SealingError) in try keys.active.set.element(of: bytes).mark }
    }
  }
}
