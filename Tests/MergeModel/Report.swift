/// How a merge treats conflicts.
public enum MergePolicy: Hashable, Sendable, CaseIterable {
  /// List the conflicts, and change nothing if there are any.
  case fail
  /// Decide for this store's content.
  case mine
  /// Decide for the other side's content.
  case theirs
  /// Never ask and never lose a text. This is the policy for automatic exchange.
  case both
}

/// What a merge did.
public struct Report: Sendable {
  public internal(set) var changes: [Change] = []
  public internal(set) var conflicts: [Conflict] = []
  /// The documents whose keys another document holds now.
  public internal(set) var maskedKeys: [RecordID] = []
}

/// One change that a merge made to a record.
public struct Change: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    case added, changed, deleted
    /// A text that lost a conflict became a document of its own.
    case copied
  }

  public let kind: Kind
  public let record: RecordID
}

/// Two changes that were made without knowing each other.
public enum Conflict: Hashable, Sendable {
  /// Both sides wrote the same part.
  case bothChanged(RecordID, PartName, mine: Part, theirs: Part)
  /// The other side deleted a document that changed here.
  case deletedThere(RecordID)
  /// The other side changed a document that was deleted here.
  case deletedHere(RecordID)

  public var record: RecordID {
    switch self {
    case .bothChanged(let record, _, _, _), .deletedThere(let record), .deletedHere(let record): record
    }
  }
}

/// An operation that the model does not carry out. The store is unchanged.
public enum ModelError: Error, Hashable {
  public enum Reason: Hashable, Sendable {
    case keyTaken, nameTaken, cycle, unknownRecord
  }

  /// The changeset begins beyond what the store has. Keep it until the missing one has arrived.
  case notYet
  /// The store does not allow the edit.
  case refused(Reason)
  /// Two copies were written under one replica identity. One of them must become a fork.
  case cloned(ReplicaID)
}
