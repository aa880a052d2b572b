package import CofferEngine
package import CofferRecords
internal import CofferSealing

/// A target that receives a changeset's bytes in order.
package protocol ChangesetTarget: AnyObject {
  func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
}

/// A writer of a changeset, which contains the rows from commits beyond its base (Sync-Format, "Payload").
///
/// Whole rows travel, not single parts, because the receiver may have deleted the document and then needs all of it.
package struct ChangesetWriter {
  private let store: PairedStore
  package let origin: ChangesetOrigin
  /// The documents' IDs, in ascending order.
  private var documents: [Int64] = []
  private var collections: [CollectionRecord] = []
  private var hasChangedCollections = false
  private var deletions: [DeletionRecord] = []
  /// The attachments whose contents travel although the base includes them, because a receiver lacks them.
  private let owed: Set<UniqueID>

  /// Selects and proves the rows.
  ///
  /// - Parameters:
  ///   - generation: The generation of the store since which the rows changed, or `nil` to look at all of them.
  ///   - owed: The attachments whose contents travel in any case, with their documents.
  /// - Throws: `setMismatch` if rows are missing, old or forged, or `damaged`.
  package init(
    _ transaction: StoreTransaction, _ origin: ChangesetOrigin, since generation: UInt64?, owed: Set<UniqueID> = []
  ) throws(StoreError) {
    store = PairedStore(transaction)
    self.origin = origin
    self.owed = owed
    var changes: RecentChanges?
    if let generation {
      changes = try RecentChanges.listed(in: store, since: generation, withAttachments: true)
    }
    let recent =
      if let changes { changes } else { try RecentChanges.walked(in: store, since: generation ?? 0) }
    var candidates = Set(recent.documents)
    try addDocumentsOfAttachments(since: generation ?? 0, isListed: changes != nil, to: &candidates)
    var used: Set<UInt32> = []
    for id in candidates.sorted() {
      guard let collection = try collection(ofSelected: id) else { continue }
      documents.append(id)
      used.insert(collection)
    }
    for record in try transaction.storedCollections() {
      let isChanged = try !origin.isInBase(record.dots.stamp)
      if isChanged { hasChangedCollections = true }
      // The migrations show whether the receiver's program knows all changes applied to the documents.
      if isChanged || used.contains(record.id) || record.holdsMigrations { collections.append(record) }
    }
    for row in recent.deletions {
      let record = try DeletionRecord(row, transaction.keys)
      if try !origin.isInBase(record.stamp) { deletions.append(record) }
    }
  }

  /// Whether the changeset carries a change. Collections that only name the places of documents aren't one.
  package var isEmpty: Bool { documents.isEmpty && deletions.isEmpty && !hasChangedCollections }

  package var documentCount: Int { documents.count }

  /// Adds the documents of changed and owed attachments, which a walk over the documents doesn't find.
  private func addDocumentsOfAttachments(
    since generation: UInt64, isListed: Bool, to candidates: inout Set<Int64>
  ) throws(StoreError) {
    guard !isListed || !owed.isEmpty else { return }
    try store.naming { () throws(StoreError) in
      try store.transaction.forEachAttachmentRow { row throws(StoreError) in
        if !isListed, row.revision > generation {
          candidates.insert(row.document)
        } else if !owed.isEmpty, owed.contains(try AttachmentRecord(row, store.transaction.keys).uid) {
          candidates.insert(row.document)
        }
      }
    }
  }

  /// Returns a document's collection, or `nil` if the base includes the document.
  private func collection(ofSelected id: Int64) throws(StoreError) -> UInt32? {
    let (collection, stamp) = try store.row(id) { row, head in
      (row.fields.collection, DocumentDots(checked: head.dots).stamp)
    }
    if try !origin.isInBase(stamp) { return collection }
    for record in try store.attachments(of: DocumentID(id)) {
      if owed.contains(record.uid) { return collection }
      for dot in [record.born, record.nameDot] where try !origin.isInBase(dot) { return collection }
    }
    return nil
  }

  // MARK: Writing

  /// Writes the payload.
  ///
  /// - Parameter progress: Called after each document. Throwing from it ends the work.
  package func write(to target: any ChangesetTarget, progress: (Int) throws(StoreError) -> Void) throws(StoreError) {
    try write(.origin, origin.bytes, to: target)
    for record in collections {
      var builder = ByteBuilder()
      builder.append(record.id)
      builder.append(bytes: record.data)
      try write(.collection, builder.bytes, to: target)
    }
    for record in deletions { try write(.deletion, record.data, to: target) }
    for (index, id) in documents.enumerated() {
      // A store with the base may have deleted a document that was later kept, and lost its contents.
      let kept = try write(document: id, to: target)
      let wasKept = try !origin.isInBase(kept)
      for record in try store.attachments(of: DocumentID(id)) {
        let isNew = try !origin.isInBase(record.born)
        try write(record, carryingContent: wasKept || isNew || owed.contains(record.uid), to: target)
      }
      try progress(index + 1)
    }
    try write(.end, [], to: target)
  }

  private func write(_ entry: ChangesetEntry, _ bytes: [UInt8], to target: any ChangesetTarget) throws(StoreError) {
    try begin(entry, count: bytes.count, to: target)
    try bytes.withBytes { bytes throws(StoreError) in try target.write(bytes) }
  }

  private func begin(_ entry: ChangesetEntry, count: Int, to target: any ChangesetTarget) throws(StoreError) {
    var builder = ByteBuilder(reserving: 5)
    builder.append(entry.rawValue)
    builder.append(UInt32(count))
    try builder.bytes.withBytes { bytes throws(StoreError) in try target.write(bytes) }
  }

  /// Writes a document, and returns its dot `kept`.
  private func write(document id: Int64, to target: any ChangesetTarget) throws(StoreError) -> Dot {
    try store.naming { () throws(StoreError) in
      try store.transaction.reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(id), withBody: true, within: store.transaction.limits)
        let head = try reader.opener.openHead(row, acceptsNewer: true)
        let text = try reader.opener.openBody(row, head, comparesDigest: true)
        var builder = ByteBuilder(reserving: 300 + head.byteCount)
        builder.append(id)
        builder.append(row.fields.collection)
        builder.append(UInt8(row.fields.isJSON ? 1 : 0))
        builder.append(UInt8(row.position.count))
        builder.append(bytes: row.position)
        builder.append(UInt32(head.byteCount))
        builder.append(head.byteCount) { head.write(to: $0) }
        try begin(.document, count: builder.bytes.count + text.count, to: target)
        try builder.bytes.withBytes { bytes throws(StoreError) in try target.write(bytes) }
        try target.write(text)
        return DocumentDots(checked: head.dots).kept
      }
    }
  }

  private func write(
    _ record: AttachmentRecord, carryingContent carriesContent: Bool, to target: any ChangesetTarget
  ) throws(StoreError) {
    try write(.attachment, ChangesetAttachment(record, carriesContent: carriesContent).bytes, to: target)
    guard carriesContent else { return }
    let transaction = store.transaction
    try store.naming { () throws(StoreError) in
      try AttachmentChunks(record, transaction.keys).forEachChunk(from: transaction.database) {
        part throws(StoreError) in
        try transaction.requireOpen()
        guard !part.isEmpty else { return }
        try begin(.content, count: part.count, to: target)
        try target.write(part)
      }
    }
  }
}
