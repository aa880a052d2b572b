internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// An attachment of one of the merged stores without its content. Its dots have joint numbers.
struct MergeAttachment {
  /// The number in its store.
  let number: Int64
  /// The generation that wrote the row, or zero in a changeset.
  let revision: UInt64
  /// The document's ID in its store.
  let document: Int64
  let uid: UniqueID
  let born: Dot
  let nameDot: Dot
  let name: String
  let digest: TextDigest
  let byteCount: Int

  /// - Parameter translate: Returns a dot with its joint number.
  init(_ record: AttachmentRecord, _ translate: (Dot) throws(StoreError) -> Dot) throws(StoreError) {
    number = record.number
    revision = record.revision
    document = record.document
    uid = record.uid
    born = try translate(record.born)
    nameDot = try translate(record.nameDot)
    name = record.name
    digest = record.digest
    byteCount = record.chunks.byteCount
  }

  /// - Parameters:
  ///   - number: The place among the changeset's attachments.
  ///   - translate: Returns a dot with its joint number.
  init(
    _ attachment: ChangesetAttachment, number: Int64, _ translate: (Dot) throws(StoreError) -> Dot
  ) throws(StoreError) {
    self.number = number
    revision = 0
    document = attachment.document
    uid = attachment.description.uid
    born = try translate(attachment.description.born)
    nameDot = try translate(attachment.description.nameDot)
    name = attachment.description.name
    digest = attachment.digest
    byteCount = attachment.byteCount
  }

  /// Returns all attachments of a store by their identities.
  ///
  /// - Parameter translate: Returns a dot with its joint number.
  /// - Throws: `setMismatch` if two attachments have one identity, or `damaged`.
  static func all(
    of store: PairedStore, _ translate: (Dot) throws(StoreError) -> Dot
  ) throws(StoreError) -> [UniqueID: MergeAttachment] {
    try store.naming { () throws(StoreError) in
      var known: [UniqueID: MergeAttachment] = [:]
      try store.transaction.forEachAttachmentRow { row throws(StoreError) in
        let record = try AttachmentRecord(row, store.transaction.keys)
        let attachment = try MergeAttachment(record, translate)
        guard let other = known.updateValue(attachment, forKey: record.uid) else { return }
        throw StoreError(.setMismatch, "attachments \(other.number) and \(record.number) have one identity")
      }
      return known
    }
  }

  var dots: [Dot] { [born, nameDot] }
  var names: AttachmentCopier.Names { (uid, born, nameDot) }
}

/// The attachments of both merged stores, which a merge compares with each other, whatever its changes are.
///
/// A returning document has the attachments of the store that kept it, and its earlier attachments aren't recorded.
/// Only the comparison finds an attachment that a third store still has.
struct JointAttachments {
  let mine: [UniqueID: MergeAttachment]
  let theirs: [UniqueID: MergeAttachment]
  /// The identities of the other store's attachments by its IDs of their documents.
  private var ofTheirDocuments: [Int64: [UniqueID]] = [:]

  init(mine: [UniqueID: MergeAttachment], theirs: [UniqueID: MergeAttachment]) {
    (self.mine, self.theirs) = (mine, theirs)
    for attachment in theirs.values { ofTheirDocuments[attachment.document, default: []].append(attachment.uid) }
  }

  var isEmpty: Bool { mine.isEmpty && theirs.isEmpty }

  /// Returns the dots of the attachments of one of the other store's documents.
  func dots(ofTheirs id: Int64) -> [Dot] {
    ofTheirDocuments[id, default: []].flatMap { theirs[$0]!.dots }
  }
}

/// What a merge does with one attachment.
enum AttachmentDecision {
  /// Copies an attachment of the other store.
  case copy(MergeAttachment, to: MergeHome)
  /// Gives this store's attachment the later of both names and births.
  case change(MergeAttachment, name: String, born: Dot, nameDot: Dot)
  /// Removes this store's attachment, because the other store removed it.
  case remove(MergeAttachment)
}

/// The document in this store, after the merge, that is one of the other store's documents.
struct MergeHome {
  let uid: UniqueID
  /// The ID in this store, or `nil` for a document that the merge adds.
  let id: Int64?
}
