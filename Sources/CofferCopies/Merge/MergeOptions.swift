public import CofferDocuments
internal import CofferEngine

/// The policy for resolving merge conflicts.
public enum MergePolicy: Sendable {
  /// Reports the conflicts without changing the store.
  case fail
  /// This store wins each conflict. Its version counts as an edit, so other stores take it.
  case mine
  /// The other store wins each conflict.
  case theirs
  /// Takes the later change to each part, and keeps a losing text, as ``MergePolicy/Choice/both`` does.
  case both
  /// Calls the closure for each conflict. If the closure throws, the merge ends without changing the store.
  case custom(@Sendable (MergeConflict) throws -> MergePolicy.Choice)

  /// The store that wins a conflict.
  public enum Choice: Sendable, Hashable {
    /// This store wins. Its version counts as an edit, so other stores take it.
    case mine
    /// The other store wins.
    case theirs
    /// The later change to each part wins, and an edited document isn't deleted. A losing text is kept as a separate
    /// document after the merged document, with "(other version)" in its title and without a key.
    case both
  }
}

/// A merge conflict for you to resolve.
public struct MergeConflict: Sendable {
  /// The kind of conflict. Its ``MergeReport/Reason/isConflict`` is `true`.
  public let reason: MergeReport.Reason
  /// The document in this store, or `nil` if it doesn't exist here or the conflict concerns a collection.
  public let mine: DocumentHeader?
  /// The document in the other store, or `nil` if it doesn't exist there or the conflict concerns a collection.
  public let theirs: DocumentHeader?
  /// The text of ``mine``, if this store edited the document and the other store edited or deleted it.
  public let myText: String?
  /// The text of ``theirs``, if the other store edited the document and this store edited or deleted it.
  public let theirText: String?
  /// The collection in this store, or in the other store if it was dropped here. `nil` for a document conflict.
  public let collection: CollectionID?
}

/// Options for a merge.
public struct MergeOptions: Sendable {
  /// A Boolean value that indicates whether the merge only reports its changes, without committing them. The report then
  /// lacks entries for hidden keys.
  public var isDryRun = false
  /// A Boolean value that indicates whether damaged documents in the other store are reported and skipped. Only a later
  /// merge with ``verifiesOther`` merges their changes. If `false`, a damaged document ends the merge.
  public var skipsDamaged = false
  /// A Boolean value that indicates whether the merge verifies every row in both stores, like `verify(.quick)`, and
  /// compares every document, even if the other store's state lists the changes. This also merges documents that an
  /// earlier merge skipped.
  public var verifiesOther = false
  /// A Boolean value that indicates whether the other store may be a file of this store with another root key.
  /// Whoever had a former key can have written it.
  public var allowsRekey = false
  /// Creates options for a merge that commits its changes and stops at a damaged document.
  public init() {}
}

/// The result of a merge, with an entry for each changed or conflicting document and collection. It doesn't contain
/// texts, titles, keys or names.
public struct MergeReport: Sendable, Hashable {
  /// The action taken in this store.
  public enum Action: String, Sendable, Hashable, CaseIterable {
    /// Added.
    case added
    /// Some of title, text, key, attributes, attachments and dates were taken from the other store.
    case changed
    /// The position, parent and collection were taken from the other store.
    case moved
    /// Deleted, as in the other store.
    case deleted
    /// This store's version was kept.
    case kept
    /// A text that lost a conflict was added as a separate document.
    case copied
    /// Another document holds the document's key, so the document's key reads as `nil` until the key is free.
    case keyHidden = "key-hidden"
    /// The other store's document was skipped, because it can't be decrypted.
    case skipped
  }

  /// The reason for an entry.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    // No conflicts.
    /// The other store added the document.
    case addedThere = "added-there"
    /// The other store edited a part of the document or collection that this store didn't edit.
    case editedThere = "edited-there"
    /// The other store moved the document, and this store didn't.
    case movedThere = "moved-there"
    /// The other store deleted the document, and this store didn't edit it.
    case deletedThere = "deleted-there"
    /// The document can't be decrypted.
    case damagedThere = "damaged-there"
    /// Two documents in a collection have the same key. The document that got it first holds it.
    case equalKeys = "equal-keys"

    // Conflicts.
    /// Both stores edited the same part of the document or collection differently.
    case editedOnBothSides = "edited-on-both-sides"
    /// This store edited the document, and the other store deleted it.
    case editedHereDeletedThere = "edited-here-deleted-there"
    /// This store deleted the document, and the other store edited it.
    case deletedHereEditedThere = "deleted-here-edited-there"
    /// Both stores moved the document to different positions, parents or collections.
    case movedOnBothSides = "moved-on-both-sides"

    /// A Boolean value that indicates whether the reason is a conflict, which the policy resolves.
    public var isConflict: Bool {
      switch self {
      case .addedThere, .editedThere, .movedThere, .deletedThere, .damagedThere, .equalKeys: false
      default: true
      }
    }
  }

  /// A changed or conflicting document or collection.
  public struct Entry: Sendable, Hashable {
    /// The document in this store after the merge. `nil` if it doesn't exist, if it would be added by a merge that
    /// didn't change the store, or if the entry concerns a collection.
    public let id: DocumentID?
    /// The document in the other store, or `nil` if it doesn't exist there or the entry concerns a collection.
    public let otherID: DocumentID?
    /// The collection in this store, or in the other store if it remains dropped here. `nil` for a document entry.
    public let collection: CollectionID?
    /// The action taken in this store.
    public let action: Action
    /// The reason for the entry.
    public let reason: Reason
  }

  /// The changed or conflicting documents and collections, or an empty array if the merge found no changes.
  public package(set) var entries: [Entry] = []
  /// A Boolean value that indicates whether this store now includes the other store's changes. It's `false`, and the
  /// store is unchanged, for a dry run and for conflicts under ``MergePolicy/fail``.
  public package(set) var isMerged = false

  /// The entries for conflicts, resolved or not.
  public var conflicts: [Entry] { entries.filter(\.reason.isConflict) }
  /// The number of entries that changed this store.
  public var changeCount: Int { entries.count { $0.action != .kept && $0.action != .skipped } }
}
