internal import CofferEngine

/// The action to take if the original has changes that the copy doesn't include.
public enum NewerOriginal: Sendable {
  /// Keeps the copy unchanged.
  case keep
  /// Replaces the copy's contents with the original in one transaction. All changes made in the copy are lost.
  case replace
  /// Merges the original's changes into the copy, as `DocumentStore.merge` does.
  case merge(MergePolicy)
}

/// The result of comparing an editable copy's original with the changes that the copy includes.
public enum OriginalCheck: Sendable, Hashable {
  /// The copy was just created from the original.
  case copied
  /// The copy includes all changes in the original.
  case unchanged
  /// The original has further changes, and the copy was kept unchanged.
  case newer
  /// The original has further changes, and replaced the copy's contents.
  case replaced
  /// The original has further changes, which were merged into the copy.
  case merged(MergeReport)
  /// The original has further changes, which conflict with the copy's changes. The copy is unchanged.
  case conflicts(MergeReport)
}
