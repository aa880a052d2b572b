public import CofferDocuments

/// The side of a conflict that wins.
public enum MergeChoice: Sendable, Hashable {
  /// This store's.
  case mine
  /// The other store's.
  case theirs
  /// For a document edited on both sides: this store's document stays, and the other one is added behind it with a
  /// marked title and without a key. For every other conflict the same as ``mine``.
  case both
}

/// The rule for the conflicts of a merge.
public enum MergePolicy: Sendable {
  /// A merge with conflicts changes nothing, and reports them.
  case fail
  /// This store's side wins each conflict.
  case mine
  /// The other store's side wins each conflict.
  case theirs
  /// Keeps both documents that were edited, as ``MergeChoice/both`` does.
  case both
  /// Asks the caller for each conflict. A call that throws ends the merge, which changes nothing then.
  case custom(@Sendable (MergeConflict) throws -> MergeChoice)
}

/// A conflict of a merge, for the caller's decision.
public struct MergeConflict: Sendable {
  /// The kind of conflict; ``MergeReport/Reason/isConflict`` is true for it.
  public let reason: MergeReport.Reason
  /// The document in this store; nil if it is not there, or if the conflict is about a collection.
  public let mine: DocumentHeader?
  /// The document in the other store, as ``mine``.
  public let theirs: DocumentHeader?
  /// The text of ``mine``, opened if the documents were edited on both sides, or edited here and deleted there.
  public let myText: String?
  /// The text of ``theirs``, in the same cases.
  public let theirText: String?
  /// The collection in this store; nil if it is not there.
  public let collection: CollectionID?
}

/// Options of a merge.
public struct MergeOptions: Sendable {
  /// Does everything except the commit: the report says what a merge would do.
  public var isDryRun = false
  /// Reports a document of the other store that can't be opened and goes on without its change. A copy counts as made
  /// from its earlier state then, so that a later merge can bring the change. If this is false, such a document ends
  /// the merge.
  public var skipsDamaged = false
  /// Proves all rows of the other store, as `verify(.quick)` does, also where its state names the changes.
  public var verifiesOther = false
  /// Accepts that the root key of the original changed since the copy was made: the caller knows of the rekey. Only a
  /// passphrase or a key file shows then that the new root key was made by someone who has it; for other keys, open the
  /// original with its new pin.
  public var rekeyKnown = false

  /// Options of a merge that is carried out, and that ends at a damaged document.
  public init() {}
}

/// The outcome of a merge: an entry for each document and collection that was changed or was in conflict. It holds no
/// text, title, key or name.
public struct MergeReport: Sendable, Hashable {
  /// The thing that was done in this store.
  public enum Action: String, Sendable, Hashable, CaseIterable {
    /// Added.
    case added
    /// The title, text, key, attributes or dates are the other store's.
    case changed
    /// The place, the parent and the collection are the other store's.
    case moved
    /// Deleted, as in the other store.
    case deleted
    /// Stays as it was here.
    case kept
    /// The other store's document was added beside this store's.
    case copied
    /// Has another id than before.
    case renumbered
    /// Lost its key, which another document has.
    case keyRemoved = "key-removed"
    /// Has another parent than either store gave it, or none.
    case parentChanged = "parent-changed"
    /// The collection has another name than either store gave it.
    case renamed
    /// The other store's document was left out, because it can't be opened.
    case skipped
  }

  /// The cause of an entry.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    // No conflicts.
    /// The other store added the document.
    case addedThere = "added-there"
    /// The other store edited the document; this one did not.
    case editedThere = "edited-there"
    /// The other store moved the document; this one did not.
    case movedThere = "moved-there"
    /// The other store deleted the document; this one did not edit it.
    case deletedThere = "deleted-there"
    /// Two documents have one id.
    case equalIDs = "equal-ids"
    /// The document can't be opened.
    case damagedThere = "damaged-there"

    // Conflicts.
    /// Both stores edited the document, in different ways.
    case editedOnBothSides = "edited-on-both-sides"
    /// This store edited the document, and the other one deleted it.
    case editedHereDeletedThere = "edited-here-deleted-there"
    /// This store deleted the document, and the other one edited it.
    case deletedHereEditedThere = "deleted-here-edited-there"
    /// Given different places, parents or collections.
    case movedOnBothSides = "moved-on-both-sides"
    /// Two documents of a collection have one key.
    case equalKeys = "equal-keys"
    /// The parent was deleted, or moved to another collection.
    case parentGone = "parent-gone"
    /// A document would be its own ancestor.
    case parentCycle = "parent-cycle"
    /// Two collections have one name.
    case equalNames = "equal-names"
    /// A collection was dropped there, and has documents that were added, edited or moved here.
    case usedHereDroppedThere = "used-here-dropped-there"
    /// A collection was dropped here, and has documents that were added, edited or moved there.
    case droppedHereUsedThere = "dropped-here-used-there"

    /// Whether the policy had to decide.
    public var isConflict: Bool {
      switch self {
      case .addedThere, .editedThere, .movedThere, .deletedThere, .equalIDs, .damagedThere: false
      default: true
      }
    }
  }

  /// A document or collection that was changed or was in conflict.
  public struct Entry: Sendable, Hashable {
    /// The document in this store, after the merge; nil if it is not there, or if the entry is about a collection.
    public let id: DocumentID?
    /// The document in the other store, or the id that it had here if it was renumbered.
    public let otherID: DocumentID?
    /// The collection in this store, of an entry about a collection.
    public let collection: CollectionID?
    /// The thing that was done in this store.
    public let action: Action
    /// The cause.
    public let reason: Reason
  }

  /// The documents and collections that were changed or in conflict; empty if the merge found nothing to do.
  public internal(set) var entries: [Entry] = []
  /// Whether this store has the other one's changes now. False for a dry run, and for conflicts under
  /// ``MergePolicy/fail``: this store is as before then.
  public internal(set) var isMerged = false

  /// The entries that are conflicts, decided or not; empty without any.
  public var conflicts: [Entry] { entries.filter(\.reason.isConflict) }
}
