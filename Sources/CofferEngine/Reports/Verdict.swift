internal import CofferRecords

/// The findings of `DocumentStore.verify` or `DocumentStore.check`. Without a key, `check` only sets ``documents``,
/// ``problems`` and ``unusableSlots``.
public struct Verdict: Sendable {
  /// The number of rows.
  public package(set) var documents = 0
  /// The number of attachments.
  public package(set) var attachments = 0
  /// The damaged attachments, sorted by ID. Their documents can be read.
  public package(set) var damagedAttachments: [DamagedAttachment] = []
  /// The damaged documents, sorted by ID.
  public package(set) var damaged: [Verdict.Damage] = []
  /// The problems that affect the whole file.
  public package(set) var problems: [String] = []
  /// The index problems. Indexes don't contain documents and can be rebuilt.
  public package(set) var indexProblems: [IndexProblem] = []
  /// The slots that nobody can open, as far as it's visible without their secrets. They don't affect other slots and
  /// documents.
  public package(set) var unusableSlots: [KeySlot] = []
  /// A Boolean value that indicates whether the rows are exactly the written rows.
  public package(set) var setMatches = true
  /// A Boolean value that indicates whether the number of documents matches the sealed state.
  public package(set) var countMatches = true
  /// The verified state's anchor. Keep it only if ``isSound`` is `true`.
  public package(set) var verifiedState: StoreAnchor?
  /// The relation to the anchor, or `nil` without an anchor or if the anchor doesn't match.
  public package(set) var anchor: StoreAnchor.Relation?
  /// The reason why the anchor doesn't match.
  public package(set) var anchorError: StoreError?
  /// The reason why the store doesn't match the release it was opened as.
  package var releaseError: StoreError?

  package init(documents: Int = 0, problems: [String] = [], unusableSlots: [KeySlot] = []) {
    self.documents = documents
    self.problems = problems
    self.unusableSlots = unusableSlots
  }

  /// A Boolean value that indicates whether the store is free of problems and matches the anchor, if any.
  public var isSound: Bool { error == nil }

  /// The error to report, or `nil` if the store doesn't have problems. A mismatched set or anchor takes precedence over
  /// individual damage.
  public var error: StoreError? {
    if !setMatches || !countMatches {
      return .setMismatch
    }
    if let releaseError { return releaseError }
    if let anchorError { return anchorError }
    if let first = damaged.first {
      return StoreError(
        .damaged,
        damaged.count == 1
          ? "document \(first.id) is damaged"
          : "\(damaged.count) of \(documents) documents are damaged, the first is \(first.id)",
        hint: "restore them from a backup, or bring the others into a new store with \(.salvage)",
        documentID: first.id)
    }
    if let first = damagedAttachments.first {
      return StoreError(
        .damaged,
        damagedAttachments.count == 1
          ? "attachment \(first.id) of document \(first.document) is damaged"
          : "\(damagedAttachments.count) of \(attachments) attachments are damaged, the first is \(first.id)",
        hint: "attach them again, or restore them from a backup", documentID: first.document)
    }
    if let first = problems.first {
      return StoreError(
        .damaged, "the store is damaged: \(first)",
        hint: "restore it from a backup, or bring what can be read into a new store with \(.salvage)")
    }
    if let first = indexProblems.first {
      return StoreError(
        .damaged, first.summary,
        hint: first.collection == nil
          ? "the documents are sound; \(.updateIndex) makes the index again, or removes it: then use \(.addIndex)"
          : "the documents are sound; drop the index and declare it again with \(.addIndex)")
    }
    return nil
  }

  /// An attachment whose content can't be read.
  public struct DamagedAttachment: Hashable, Sendable {
    /// The attachment.
    public let id: Attachment.ID
    /// The document that the attachment belongs to.
    public let document: DocumentID
    /// A description of the damage.
    public let reason: String

    package init(id: Attachment.ID, document: DocumentID, reason: String) {
      (self.id, self.document, self.reason) = (id, document, reason)
    }
  }

  /// A damaged index, or a difference between an index and the documents.
  public struct IndexProblem: Sendable, Hashable {
    /// The collection's name, or `nil` if the problem concerns a whole index.
    public let collection: String?
    /// The index, or `nil` if the problem concerns more than one index.
    public let index: DocumentIndex?
    /// The document that differs, or `nil` if the problem concerns a whole index.
    public let documentID: DocumentID?
    /// A description of the difference, without document values.
    public let message: String

    package init(
      _ message: String, collection: String? = nil, index: DocumentIndex? = nil, documentID: DocumentID? = nil
    ) {
      self.collection = collection
      self.index = index
      self.documentID = documentID
      self.message = message
    }

    /// The message with the document's ID.
    package var summary: String {
      documentID.map { "index entry of document \($0): \(message)" } ?? message
    }
  }

  /// A document that can't be read, with the reason.
  public struct Damage: Sendable, Hashable {
    /// The document's ID according to its row.
    public let id: DocumentID
    /// A description of the fault, without text, title or key.
    public let reason: String

    package init(id: DocumentID, reason: String) {
      self.id = id
      self.reason = reason
    }
  }

  /// The depth of a verification.
  public enum Depth: Sendable, Hashable {
    /// Verify the set hash, count, structure and index pages without opening documents.
    case quick
    /// Also open the documents that changed after a generation. Use it for a newer copy if an earlier copy was
    /// verified. Documents that a rekey re-encrypted don't count as changed.
    case changed(since: UInt64)
    /// Also open all documents, and compare the indexes with them.
    case full
  }
}
