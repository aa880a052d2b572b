internal import CofferRecords
internal import CofferSealing

/// Opens rows below the active epoch and seals them under it.
final class ResealedRows: RowWork {
  let sealed = SealedBatch()
  /// The former state of each sealed row: its element of the set hash, and its columns.
  private(set) var before: [(element: SetHash, fields: RowFields)] = []
  /// Rows that can't be sealed again, and the reasons.
  private(set) var skipped: [(id: Int64, reason: String)] = []
  private(set) var failure: StoreError?
  var collections: [CollectionRecord]
  private let keys: RowKeys
  private let opener: RecordOpener
  private let sealer: RecordSealer

  init(_ session: SessionKeys, _ collections: [CollectionRecord]) throws(StoreError) {
    keys = try RowKeys(session)
    // Revisions and order don't change, so one run for the whole walk reveals nothing.
    keys.beginRun()
    opener = RecordOpener(keys)
    sealer = RecordSealer(keys)
    self.collections = collections
  }

  func belongs(to session: SessionKeys) -> Bool {
    keys.session === session
  }

  func begin() {
    sealed.removeAll()
    before.removeAll(keepingCapacity: true)
    skipped = []
    failure = nil
  }

  func process(
    _ row: RecordRow, at index: Int, head headFrame: UnsafeMutableRawBufferPointer?,
    body bodyFrame: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      // Before the seals are opened in place.
      let element = try opener.element(of: row)
      let head = try opener.openHead(row, in: headFrame)
      let text = try opener.openBody(row, head, in: bodyFrame)
      var fields = row.fields
      fields.epoch = keys.active.epoch
      let index = try keys.blindIndex(of: head.key, in: fields.collection, of: collections)
      try sealer.seal(fields, RecordSealer.Content(head, blindIndex: index), text: text, into: sealed)
      before.append((element, row.fields))
    } catch {
      guard error.code == .damaged || error.code == .tooLarge else {
        failure = error
        return false
      }
      skipped.append((row.fields.id, error.message))
    }
    return true
  }
}
