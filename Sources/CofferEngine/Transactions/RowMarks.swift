internal import CofferRecords

/// Two numbers that show whether a row has changed, without opening the row.
package struct RowMarks: Hashable {
  /// The first 8 bytes of the row's set hash element.
  package let row: Int64
  /// The last 8 bytes of the text's seal, which change with the text, epoch and collection.
  package let text: Int64

  package init(_ row: RecordRow, _ opener: RecordOpener) throws(StoreError) {
    self.row = try opener.element(of: row).mark
    text = Int64(bigEndian: row.bodyTag.loadUnaligned(fromByteOffset: row.bodyTag.count - 8, as: Int64.self))
  }
}
