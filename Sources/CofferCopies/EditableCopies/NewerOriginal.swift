internal import CofferEngine

/// The action to take if the original is newer than the state that the copy was made from.
public enum NewerOriginal: Sendable {
  /// Keeps the copy unchanged.
  case keep
  /// Replaces the copy's contents with the original in one transaction. All changes made in the copy are lost.
  case replace
  /// Merges the original's changes into the copy, as `DocumentStore.merge` does.
  case merge(MergePolicy)
}

/// The result of comparing an editable copy's original with the state that the copy was made from.
public enum OriginalCheck: Sendable, Hashable {
  /// The copy was just created from the original.
  case copied
  /// The original hasn't changed.
  case unchanged
  /// The original is newer, and the copy was kept unchanged.
  case newer
  /// The original is newer, and replaced the copy's contents.
  case replaced
  /// The original is newer, and its changes were merged into the copy.
  case merged(MergeReport)
  /// The original is newer, and its changes conflict with the copy's changes. The copy is unchanged.
  case conflicts(MergeReport)
}
