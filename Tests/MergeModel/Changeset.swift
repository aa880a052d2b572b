/// What one store sends to another: everything that changed since a version vector.
///
/// A changeset contains whole records rather than parts, because the receiver may have deleted a record and may need
/// all of it.
public struct Changeset: Sendable {
  public let sender: ReplicaID
  /// The commits that the receiver must have.
  public let base: VersionVector
  /// The commits that the receiver has afterwards.
  public let end: VersionVector
  public let documents: [RecordID: ModelRecord]
  public let collections: [RecordID: ModelRecord]
  public let gone: [RecordID: Entry]
  /// The attachments of all documents, the unchanged ones, too.
  public let attachments: [RecordID: [RecordID: ModelAttachment]]
  public let marks: [ReplicaID: CommitMarks]
}
