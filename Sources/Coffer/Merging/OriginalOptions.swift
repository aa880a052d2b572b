/// The choice where the original of an editable copy is newer than the state that the copy was made from.
public enum NewerOriginal: Sendable {
  /// The copy stays as it is.
  case keep
  /// The copy becomes as the original is now, in one transaction: every change of its user is lost.
  case replace
  /// The copy takes over the changes of the original, as `DocumentStore.merge` does.
  case merge(MergePolicy)
}

/// The original of an editable copy, compared with the state that the copy was made from.
public enum OriginalCheck: Sendable, Hashable {
  /// The copy was made from it just now.
  case copied
  /// As it was then.
  case unchanged
  /// Newer, and the copy stayed as it was.
  case newer
  /// Newer, and the copy was replaced by it.
  case replaced
  /// Newer, and its changes are in the copy now.
  case merged(MergeReport)
  /// Newer, and its changes are in conflict with those of the copy, which stayed as it was.
  case conflicts(MergeReport)
}

/// Options for the original of an editable copy.
public struct OriginalOptions: Sendable {
  /// The choice for an original that is newer than the state that the copy was made from.
  public var onNewer = NewerOriginal.keep
  /// Opens only the original with this pin, which may be that of a later root key.
  public var expectedPin: String?
  /// Accepts a later root key: the caller knows that the original was rekeyed. Only a passphrase or a key file shows
  /// then that the new root key was made by someone who has it; for other keys, give the pin.
  public var rekeyKnown = false

  /// Options that accept any pin, and no later root key.
  public init(onNewer: NewerOriginal = .keep) {
    self.onNewer = onNewer
  }
}
