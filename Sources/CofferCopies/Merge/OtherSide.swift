internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The other side of a merge, which is another store or a changeset.
protocol OtherSide: AnyObject {
  var replicas: JointReplicas { get }
  /// Verifies and returns the changes that this store doesn't include.
  ///
  /// - Parameter isWhole: Whether to return all rows.
  func changes(whole isWhole: Bool) throws(StoreError) -> OtherChanges
  /// Returns a document with joint numbers in its dots.
  ///
  /// - Throws: `setMismatch` if the other side doesn't include a dot, or `damaged`.
  func document(_ id: Int64) throws(StoreError) -> MergeDocument
  /// Returns a document's header.
  func header(_ id: Int64) throws(StoreError) -> DocumentHeader
  /// Returns a document's text, after comparing its digest with the digest in the head.
  func text(_ id: Int64) throws(StoreError) -> String
  /// Returns whether the other side has the document with an identity, which probably has an ID.
  func hasDocument(_ uid: UniqueID, likely id: Int64) throws(StoreError) -> Bool
  /// Returns whether the other side has the content of an attachment.
  func hasContent(of attachment: MergeAttachment) -> Bool
  /// Reads the content of an attachment, and compares it with its digest.
  ///
  /// - Parameter advance: Called for each part. Throwing from it ends the work.
  func prove(_ attachment: MergeAttachment, advance: @escaping () throws(StoreError) -> Void) throws(StoreError)
  /// Copies an attachment to a document of this store, with its identity and dots.
  func copy(
    _ attachment: MergeAttachment, to document: DocumentID, advance: @escaping () throws(StoreError) -> Void
  ) throws(StoreError)
  /// Returns the names of the other side's applied migrations.
  func appliedMigrations() throws(StoreError) -> [String]
  /// Adds the other side's path to errors about its rows.
  func naming<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R
}

/// The other side's changes that this store doesn't include.
struct OtherChanges {
  /// The other side's IDs for the changed documents, in ascending order.
  var documents: [Int64] = []
  var collections: [CollectionRecord] = []
  var deletions: [DeletionRecord] = []
  /// All attachments of the other side, the unchanged ones, too.
  var attachments: [UniqueID: MergeAttachment] = [:]
  /// The other side's IDs for the deleted documents, as far as the ring lists them.
  var deletedIDs: [Int64] = []

  var isEmpty: Bool { documents.isEmpty && collections.isEmpty && deletions.isEmpty }

  /// Adds a collection.
  mutating func add(_ record: CollectionRecord, _ replicas: JointReplicas, whole isWhole: Bool) throws(StoreError) {
    var record = record
    record.dots = try replicas.translate(record.dots)
    if isWhole || !replicas.iInclude(record.dots.stamp) { collections.append(record) }
  }

  /// Adds a deletion.
  mutating func add(_ record: DeletionRecord, _ replicas: JointReplicas, whole isWhole: Bool) throws(StoreError) {
    var record = record
    record.stamp = try replicas.translate(record.stamp)
    for index in record.dots.indices { record.dots[index] = try replicas.translate(record.dots[index]) }
    if isWhole || !replicas.iInclude(record.stamp) { deletions.append(record) }
  }
}
