/// What happens to a document whose text has no bytes.
public enum EmptyTextMode: Hashable, Sendable {
  case store
  /// It is left out, and whoever asked is told.
  case skip
  /// It is an error, and nothing is stored.
  case fail
}
