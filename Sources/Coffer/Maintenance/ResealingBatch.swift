internal import CofferSealing

/// Rows below the active epoch, opened and sealed under it all at once, on whichever thread comes to it first.
///
/// One thread at a time owns it: who fills it, between `start` and `finish` who seals it.
final class ResealingBatch {
  private var copies = RowCopies()
  let sealed = SealedBatch()
  /// What each sealed row was in the set hash before.
  private(set) var elements: [SetHash] = []
  /// Rows that can't be sealed anew, and why.
  private(set) var skipped: [(id: Int64, reason: String)] = []
  private(set) var failure: StoreError?
  var collections: [CollectionRecord]
  private let keys: RowKeys
  private let opener: RecordOpener
  private let sealer: RecordSealer
  private let work = HandedWork()

  init(_ session: SessionKeys, _ collections: [CollectionRecord]) throws(StoreError) {
    keys = try RowKeys(session)
    // Revisions and order stay as they are, so that one run for the whole walk tells nothing.
    keys.beginRun()
    opener = RecordOpener(keys)
    sealer = RecordSealer(keys)
    self.collections = collections
  }

  func belongs(to session: SessionKeys) -> Bool {
    keys.session === session
  }

  // MARK: Filling

  var hasRoom: Bool { copies.hasRoom }

  func append(_ row: RecordRow) {
    copies.append(row)
  }

  func removeAll() {
    copies.removeAll()
    sealed.removeAll()
    elements.removeAll(keepingCapacity: true)
    skipped = []
    failure = nil
  }

  // MARK: Sealing

  /// Has the rows sealed on another thread; nobody touches the batch until ``finish()``.
  func start() {
    work.start {
      for row in self.copies.rows where self.failure == nil {
        self.reseal(row, headIn: row.headFrame, bodyIn: row.bodyFrame)
      }
    }
  }

  /// Waits until the rows are sealed.
  func finish() {
    work.finish()
  }

  /// Seals a row that stands elsewhere, on this thread.
  func reseal(_ row: RecordRow) {
    reseal(row, headIn: nil, bodyIn: nil)
  }

  private func reseal(
    _ row: RecordRow, headIn headFrame: UnsafeMutableRawBufferPointer?,
    bodyIn bodyFrame: UnsafeMutableRawBufferPointer?
  ) {
    do throws(StoreError) {
      // Before the seals are opened in their own places.
      let element = try opener.element(of: row)
      let head = try opener.openHead(row, in: headFrame)
      let text = try opener.openBody(row, head, in: bodyFrame)
      var fields = row.fields
      fields.epoch = keys.active.epoch
      let content = RecordSealer.Content(
        title: head.title, key: head.key, lookup: try keys.lookup(of: head.key, in: fields.collection, of: collections),
        attributes: head.attributes, created: head.created, modified: head.modified)
      try sealer.seal(fields, content, text: text, into: sealed)
      elements.append(element)
    } catch {
      guard error.code == .damaged || error.code == .tooLarge else {
        failure = error
        return
      }
      skipped.append((row.fields.id, error.message))
    }
  }
}
