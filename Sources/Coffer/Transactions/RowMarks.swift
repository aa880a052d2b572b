internal import CofferRecords

/// Numbers that tell, without a key's work or the text, whether a row is the one that was seen before.
struct RowMarks: Hashable {
  /// The first 8 bytes of the row's element of the set hash.
  let row: Int64
  /// The last 8 bytes of the text's seal: another text, epoch or collection changes them.
  let text: Int64

  init(_ row: RecordRow, _ opener: RecordOpener) throws(StoreError) {
    self.row = try opener.element(of: row).mark
    text = row.bodyTag.loadUnaligned(fromByteOffset: row.bodyTag.count - 8, as: Int64.self)
  }
}
