internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A restoration of a document's attachments from a backup.
struct AttachmentRestoration {
  private let store: PairedStore
  private let backup: PairedStore

  private var transaction: StoreTransaction { store.transaction }

  init(into store: PairedStore, from backup: PairedStore) {
    (self.store, self.backup) = (store, backup)
  }

  /// Restores the attachments of a document in the backup, whose ID in this store is `id`. Sound attachments aren't
  /// copied again.
  ///
  /// - Returns: `true` if the store changed.
  func restore(_ there: DocumentID, as id: DocumentID) throws(StoreError) -> Bool {
    let (wanted, present) = (try backup.attachments(of: there), try store.attachments(of: id))
    var pairs: [(wanted: AttachmentRecord, present: AttachmentRecord?)] = []
    var rest = present
    func take(_ matches: (AttachmentRecord) -> Bool) -> AttachmentRecord? {
      rest.firstIndex(where: matches).map { rest.remove(at: $0) }
    }
    for record in wanted {
      let same = take { $0.uid == record.uid }
      if let same { try requireOneContent(record, same) }
      pairs.append((record, same))
    }
    // A previously removed and restored attachment has another identity.
    for index in pairs.indices where pairs[index].present == nil {
      let description = pairs[index].wanted.description
      pairs[index].present = take { $0.description == description }
    }
    var hasChanged = !rest.isEmpty
    for record in rest { try remove(record, notingDeletion: true) }
    for (wanted, present) in pairs {
      guard let present else {
        try copy(wanted, to: id, as: wanted.uid)
        hasChanged = true
        continue
      }
      if try isDamaged(present) {
        try remove(present, notingDeletion: false)
        try copy(wanted, to: id, as: present.uid)
      } else if !present.name.isIdentical(to: wanted.name) {
        try rename(present, to: wanted.name)
      } else {
        continue
      }
      hasChanged = true
    }
    return hasChanged
  }

  private func requireOneContent(_ record: AttachmentRecord, _ here: AttachmentRecord) throws(StoreError) {
    guard record.digest != here.digest || record.chunks.byteCount != here.chunks.byteCount else { return }
    try backup.naming { () throws(StoreError) -> Void in throw .otherContent(record.number) }
  }

  private func isDamaged(_ record: AttachmentRecord) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try AttachmentCopier(from: transaction, to: transaction).prove(record)
      return false
    } catch {
      guard error.code == .damaged else { throw error }
      return true
    }
  }

  /// Copies an attachment. If this store contains its deletion, the copy gets a new identity, because a merge would
  /// otherwise remove it.
  private func copy(_ record: AttachmentRecord, to id: DocumentID, as uid: UniqueID) throws(StoreError) {
    let writer = try transaction.writer
    try writer.willWrite()
    let isDeleted = try !writer.deletedIdentities(among: [uid]).isEmpty
    let uid = try isDeleted ? writer.keys.newUID() : uid
    try backup.naming { () throws(StoreError) in
      try AttachmentCopier(from: backup.transaction, to: transaction)
        .copy(record, to: id, as: (uid, writer.dot, writer.dot))
    }
  }

  private func remove(_ record: AttachmentRecord, notingDeletion notesDeletion: Bool) throws(StoreError) {
    let row = try transaction.attachmentRow(Attachment.ID(rawValue: record.number))
    try transaction.writer.deleteAttachment(row, of: try fields(of: record), notingDeletion: notesDeletion)
  }

  private func rename(_ record: AttachmentRecord, to name: String) throws(StoreError) {
    let (row, writer) = (
      try transaction.attachmentRow(Attachment.ID(rawValue: record.number)), try transaction.writer
    )
    try writer.willWrite()
    var record = record
    (record.name, record.nameDot, record.revision) = (name, writer.dot, writer.revision)
    try writer.replaceAttachment(
      try row.element(transaction.keys), with: record, of: try fields(of: record))
  }

  private func fields(of record: AttachmentRecord) throws(StoreError) -> RowFields {
    guard let fields = try transaction.unverifiedFields(of: DocumentID(record.document)) else {
      throw .noSuchDocument(DocumentID(record.document))
    }
    return fields
  }
}
