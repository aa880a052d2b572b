internal import CofferRecords

/// Numbers that tell, without a key's work or the text, whether a row is the one that was seen before.
struct RowMarks: Hashable {
  /// Of the whole row: the beginning of its element of the set hash.
  let row: Int64
  /// Of the text's seal, which stays while only the rest of the row changes.
  let text: Int64

  init(_ row: RecordRow, _ opener: RecordOpener) throws(StoreError) {
    self.row = try opener.element(of: row).mark
    text = row.bodyTag.loadUnaligned(fromByteOffset: row.bodyTag.count - 8, as: Int64.self)
  }
}
