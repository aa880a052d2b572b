public import CofferEngine

/// The documents to copy to a new store.
public enum Selection: Sendable {
  /// All documents and collections, including empty collections.
  case everything
  /// The documents in these collections. Collections that don't exist are omitted.
  case collections([DocumentCollection])
  /// These documents and their collections.
  case documents([DocumentID])
}
