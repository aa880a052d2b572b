internal import CofferRecords
internal import CofferSealing

/// A check that opens a document's head and text, and compares the text with its digest and the key with its lookup.
struct DocumentCheck {
  /// The generation after which a document must have changed to be opened, or 0 for all documents.
  let generation: UInt64
  private let collections: [CollectionRecord]
  /// The replicas, or `nil` if they can't be read, which is reported as a problem of the store.
  private let replicas: Replicas?
  private let ownCounter: UInt64

  /// - Parameter collections: The collections, or an empty array if they can't be read.
  init(_ transaction: StoreTransaction, changedSince generation: UInt64, _ collections: [CollectionRecord]) {
    (self.generation, self.collections) = (generation, collections)
    replicas = try? transaction.replicas
    ownCounter = transaction.state.counter
  }

  /// Opens a row.
  ///
  /// - Parameters:
  ///   - opener: The opener of this thread.
  ///   - identities: Takes the document's identity.
  ///   - head, body: The memory for opening the row's seals, or `nil` to use the opener's own memory.
  /// - Throws: `damaged` if the document differs from the written document.
  func open(
    _ row: RecordRow, with opener: RecordOpener, _ identities: inout IdentityCheck,
    head: UnsafeMutableRawBufferPointer?, body: UnsafeMutableRawBufferPointer?
  ) throws(StoreError) {
    let data = try opener.openHead(row, in: head, acceptsNewer: true)
    _ = try opener.openBody(row, data, in: body, comparesDigest: true)
    try requireBlindIndex(of: row, data, opener.keys)
    try requireKnownDots(row, data)
    identities.add(row.fields, uid: data.uid, parentUID: data.parent)
  }

  private func requireKnownDots(_ row: RecordRow, _ head: HeadData) throws(StoreError) {
    guard let replicas else { return }
    let dots = DocumentDots(checked: head.dots)
    guard (dots.parts + [dots.stamp, dots.kept]).allSatisfy({ replicas.covers($0, ownCounter: ownCounter) }) else {
      throw .damagedDocument(row.fields.id, "it names a change that the store doesn't include")
    }
  }

  /// Verifies that a lookup of the head's key finds the document. Skips the check if the collection can't be read.
  private func requireBlindIndex(of row: RecordRow, _ head: HeadData, _ keys: RowKeys) throws(StoreError) {
    guard let key = head.key, let context = keys.context(of: row.fields.epoch),
      let record = collections.first(where: { $0.id == row.fields.collection })
    else { return }
    var wanted: [UInt8]?
    do throws(StoreError) {
      wanted = try keys.blindIndex(of: DocumentKey(bytes: key), in: record, under: context)
    } catch {
      // A key that can't be folded can't be looked up, so it's reported below.
      guard !error.isTransient else { throw error }
    }
    guard let wanted, let index = row.blindIndex, index.elementsEqual(wanted) else {
      throw .damagedDocument(row.fields.id, "it is not found by its key")
    }
  }
}
