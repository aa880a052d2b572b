/// What happens when a document that comes in has a kept number, or a key, that another document has.
public enum ConflictMode: Hashable, Sendable {
  /// The work ends with `alreadyExists` or `duplicateKey`.
  case fail
  /// The one that is there becomes what comes in; a title and attributes that are not given are kept.
  case update
  /// The one that is there stays as it is.
  case skip
}
