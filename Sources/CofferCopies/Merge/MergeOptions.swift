public import CofferDocuments
internal import CofferEngine

/// The policy for resolving merge conflicts.
public enum MergePolicy: Sendable {
  /// Reports the conflicts without changing the store.
  case fail
  /// This store wins each conflict.
  case mine
  /// The other store wins each conflict.
  case theirs
  /// Keeps both versions of a document that both stores edited, as ``MergePolicy/Choice/both`` does.
  case both
  /// Calls the closure for each conflict. If the closure throws, the merge ends without changing the store.
  case custom(@Sendable (MergeConflict) throws -> MergePolicy.Choice)

  /// The store that wins a conflict.
  public enum Choice: Sendable, Hashable {
    /// This store wins.
    case mine
    /// The other store wins.
    case theirs
    /// This store wins. If both stores edited a document, the other store's version is also added after it, with a marked
    /// title and without a key.
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
  /// A Boolean value that indicates whether the merge only reports its changes, without committing them.
  public var isDryRun = false
  /// A Boolean value that indicates whether damaged documents in the other store are reported and skipped. A copy then
  /// keeps its old base, so a later merge can apply the skipped changes. If `false`, a damaged document ends the merge.
  public var skipsDamaged = false
  /// A Boolean value that indicates whether every row in the other store is verified, as by `verify(.quick)`, even if
  /// its state lists the changes.
  public var verifiesOther = false
  /// A Boolean value that indicates whether a changed root key of the original is accepted because you expect a rekey.
  /// Only a passphrase or key file can then prove that the new root key was made by someone who has it. For other keys,
  /// open the original with its new pin.
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
    /// The title, text, key, attributes or dates were taken from the other store.
    case changed
    /// The position, parent and collection were taken from the other store.
    case moved
    /// Deleted, as in the other store.
    case deleted
    /// This store's version was kept.
    case kept
    /// The other store's version was added as a second document.
    case copied
    /// The document received a new ID.
    case renumbered
    /// The key was removed, because another document has it.
    case keyRemoved = "key-removed"
    /// The parent was invalid, so it was replaced by the other version's parent or removed.
    case parentChanged = "parent-changed"
    /// The collection was renamed to avoid a duplicate name.
    case renamed
    /// The other store's document was skipped, because it can't be decrypted.
    case skipped
  }

  /// The reason for an entry.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    // No conflicts.
    /// The other store added the document.
    case addedThere = "added-there"
    /// The other store edited the document, and this store didn't.
    case editedThere = "edited-there"
    /// The other store moved the document, and this store didn't.
    case movedThere = "moved-there"
    /// The other store deleted the document, and this store didn't edit it.
    case deletedThere = "deleted-there"
    /// Two documents have the same ID.
    case equalIDs = "equal-ids"
    /// The document can't be decrypted.
    case damagedThere = "damaged-there"

    // Conflicts.
    /// Both stores edited the document differently.
    case editedOnBothSides = "edited-on-both-sides"
    /// This store edited the document, and the other store deleted it.
    case editedHereDeletedThere = "edited-here-deleted-there"
    /// This store deleted the document, and the other store edited it.
    case deletedHereEditedThere = "deleted-here-edited-there"
    /// Both stores moved the document to different positions, parents or collections.
    case movedOnBothSides = "moved-on-both-sides"
    /// Two documents in a collection have the same key.
    case equalKeys = "equal-keys"
    /// The parent was deleted, or moved to another collection.
    case parentGone = "parent-gone"
    /// A document would be its own ancestor.
    case parentCycle = "parent-cycle"
    /// Two collections have the same name.
    case equalNames = "equal-names"
    /// The other store dropped a collection in which this store added, edited or moved documents.
    case usedHereDroppedThere = "used-here-dropped-there"
    /// This store dropped a collection in which the other store added, edited or moved documents.
    case droppedHereUsedThere = "dropped-here-used-there"

    /// A Boolean value that indicates whether the reason is a conflict, which the policy resolves.
    public var isConflict: Bool {
      switch self {
      case .addedThere, .editedThere, .movedThere, .deletedThere, .equalIDs, .damagedThere: false
      default: true
      }
    }
  }

  /// A changed or conflicting document or collection.
  public struct Entry: Sendable, Hashable {
    /// The document in this store after the merge, or `nil` if it doesn't exist or the entry concerns a collection.
    public let id: DocumentID?
    /// The document in the other store, or its previous ID in this store if it was renumbered.
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
}
