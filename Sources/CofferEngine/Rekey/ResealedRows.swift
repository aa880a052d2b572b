internal import CofferRecords
internal import CofferSealing

/// Opens rows below the active epoch and seals them under it.
final class ResealedRows: RowWork {
  let sealed = SealedBatch()
  /// The former version of each sealed row.
  private(set) var former: [RecordWriter.Former] = []
  /// Whether each sealed row had a plaintext title, by index.
  private(set) var hadTitle: [Bool] = []
  /// The rows that can't be resealed, with the reasons.
  private(set) var skipped: [(id: Int64, reason: String)] = []
  private(set) var failure: StoreError?
  var collections: [CollectionRecord]
  private let keys: RowKeys
  private let opener: RecordOpener
  private let sealer: RecordSealer

  init(_ session: SessionKeys, _ collections: [CollectionRecord]) throws(StoreError) {
    keys = try RowKeys(session)
    opener = RecordOpener(keys)
    sealer = RecordSealer(keys)
    self.collections = collections
  }

  func belongs(to session: SessionKeys) -> Bool {
    keys.session === session
  }

  /// Starts the transaction's nonces.
  func beginRun(_ source: NonceSource) {
    keys.beginRun(source)
  }

  func begin() {
    sealed.removeAll()
    former.removeAll(keepingCapacity: true)
    hadTitle.removeAll(keepingCapacity: true)
    skipped = []
    failure = nil
  }

  func process(
    _ row: RecordRow, at index: Int, head headFrame: UnsafeMutableRawBufferPointer?,
    body bodyFrame: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      // Compute the element first, because the seals are opened in place.
      let element = try opener.element(of: row)
      let head = try opener.openHead(row, in: headFrame, acceptsNewer: true)
      // Sealing compares the digest.
      let text = try opener.openBody(row, head, in: bodyFrame, comparesDigest: false)
      var fields = row.fields
      fields.epoch = keys.active.epoch
      let index = try keys.blindIndex(of: head.key, in: fields.collection, of: collections)
      try sealer.seal(fields, RecordSealer.Content(row, head, blindIndex: index), text: text, into: sealed)
      former.append(RecordWriter.Former(row.fields, element, isBodyInRecord: row.hasBodyInRecord))
      hadTitle.append(row.title != nil)
    } catch {
      guard error.code == .damaged || error.code == .tooLarge else {
        failure = error
        return false
      }
      skipped.append((row.fields.id, error.message))
    }
    return true
  }

  func end() {
    guard failure == nil else { return }
    do throws(StoreError) { try sealed.sum(keys.summer, replacing: former.map(\.element)) } catch { failure = error }
  }
}
