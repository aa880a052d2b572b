public import CofferDocuments
public import FoundationEssentials

// Async forms of copying, comparing and merging stores; see `DocumentStore+Async.swift`.

extension DocumentStore {
  /// `openEditableCopy` for async code. Cancelled, the copy is missing or whole, and an existing one is as before or as
  /// after.
  public static func openEditableCopy(
    of original: URL, at url: URL, key: StoreKey, onNewerOriginal choice: NewerOriginal = .keep,
    options: OpenOptions = OpenOptions(), progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> DocumentStore {
    try await offCooperativePool {
      try openEditableCopy(
        of: original, at: url, key: key, onNewerOriginal: choice, options: options, progress: progress)
    }
  }

  /// `openEditableCopy` with all options for the original, for async code. Cancelled, the copy is missing or whole, and
  /// an existing one is as before or as after.
  public static func openEditableCopy(
    of original: URL, at url: URL, key: StoreKey, originalKey: StoreKey? = nil, originalOptions: OriginalOptions,
    options: OpenOptions = OpenOptions(), progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> DocumentStore {
    try await offCooperativePool {
      try openEditableCopy(
        of: original, at: url, key: key, originalKey: originalKey, originalOptions: originalOptions, options: options,
        progress: progress)
    }
  }

  /// `makeEditableCopy` for async code. Cancelled, it leaves nothing, or the whole copy.
  @discardableResult
  public func makeEditableCopy(
    at url: URL, keys: [NewKey], creation: CreateOptions? = nil,
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> ExportReport {
    try await offCooperativePool {
      try self.makeEditableCopy(at: url, keys: keys, creation: creation, progress: progress)
    }
  }

  /// `merge` for async code. Cancelled, this store is as before or as after.
  public func merge(
    _ other: DocumentStore, base: DocumentStore? = nil, policy: MergePolicy = .fail,
    options: MergeOptions = MergeOptions(),
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> MergeReport {
    try await offCooperativePool {
      try self.merge(other, base: base, policy: policy, options: options, progress: progress)
    }
  }

  /// `putBack` for async code. Cancelled, this store is as before or as after.
  @discardableResult
  public func putBack(_ ids: [DocumentID], from backup: DocumentStore, allowingDamage allowsDamage: Bool = false)
    async throws -> [PutBackOutcome]
  {
    try await offCooperativePool { try self.putBack(ids, from: backup, allowingDamage: allowsDamage) }
  }

  /// `differences` for async code. Cancelled, it has changed nothing.
  public func differences(
    to other: DocumentStore, by pairing: DocumentPairing = .identity,
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil
  ) async throws -> StoreDifferences {
    try await offCooperativePool { try self.differences(to: other, by: pairing, progress: progress) }
  }
}
