/// The options for bulk insertion.
public struct BulkOptions {
  /// A Boolean value that indicates whether documents are inserted before the existing documents instead of after them.
  /// Either way, the source's order is preserved.
  public var atTop = false
  /// A Boolean value that indicates whether documents keep the source's IDs and parents. Missing IDs are assigned.
  public var keepsIDs = false
  /// The rule for untitled documents, or `nil` to use the collection's rule. Newly created collections keep this rule.
  public var titleRule: TitleRule?
  /// The handling of documents whose ID or key is taken. Modes other than `fail` cost a lookup for each document.
  public var onConflict = BulkOptions.Conflict.fail
  /// A closure called after each batch with the number of processed documents. Throwing from it ends the insertion.
  ///
  /// In the mode `fail`, adding documents or collections in this closure, in ``onInsert`` or while the source is read
  /// throws `misuse`, because the next IDs are already assigned to the source's documents.
  public var progress: ProgressHandler?
  /// A closure called with the ID of each new document, in order. It can't add documents, like ``progress``.
  public var onInsert: ((DocumentID) -> Void)?

  /// Creates options that insert at the bottom, assign new IDs, and throw if a key is taken.
  public init() {}

  /// The handling of an incoming document whose ID or key belongs to another document.
  public enum Conflict: Hashable, Sendable {
    /// Throw `alreadyExists` or `duplicateKey` and end the insertion.
    case fail
    /// Update the existing document, but keep its title or attributes if the incoming document lacks them. An incoming
    /// attachment replaces an attachment with the same name if the contents differ. Other attachments are kept.
    case update
    /// Keep the existing document unchanged.
    case skip
  }
}

/// The result of a bulk insertion.
public struct BulkReport: Sendable {

  package init() {}

  /// The number of new documents.
  public package(set) var created = 0
  /// The number of documents changed by ``BulkOptions/Conflict/update``.
  public package(set) var updated = 0
  /// The number of documents to update that already matched the source.
  public package(set) var unchanged = 0
  /// The number of documents skipped by ``BulkOptions/Conflict/skip`` because their ID or key was taken.
  public package(set) var skipped = 0
  /// The number of added or replaced attachments.
  public package(set) var attachments = 0
  /// The first created document in the source's order, or `nil` if the call didn't create documents.
  public package(set) var firstID: DocumentID?
  /// The last created document in the source's order, or `nil` if the call didn't create documents.
  public package(set) var lastID: DocumentID?
  /// The number of created documents by collection name. Collections whose names only differ in accent composition are
  /// counted together, because such strings are equal.
  public package(set) var collections: [String: Int] = [:]
  /// The number of documents inserted without their parent, because IDs weren't kept or the parent is missing.
  public package(set) var parentsDropped = 0
  /// The missing parents, which a later transaction can add.
  package var missingParents = LaterParents()
}
