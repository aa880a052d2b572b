internal import CofferCopies
internal import CofferEngine
public import CofferFoundation

extension DocumentStore {
  /// Copies documents to a new store with its own identity and keys. Use a copy to hand over a part of a store, or to
  /// turn a TEST store into a store without published keys.
  ///
  /// ```swift
  /// let report = try store.copy(.collections(["notes"]), to: url, keys: [.keyFile(keyURL)])
  /// ```
  ///
  /// Copies IDs, order, dates, keys, titles, attributes, and collections with their settings. A parent is copied only
  /// if it's selected. The new store doesn't contain this store's encryption keys, nonces or encrypted bytes. Documents
  /// and collections get new identities and positions, so the new store can't be linked to this store, and the two
  /// can't be merged. To merge later, use `openEditableCopy` or `makeEditableCopy`.
  ///
  /// The copy contains the store at one point in time. In rollback journal mode, writers wait until the copy ends.
  /// Documents are encrypted on a second thread. Memory use is 16 bytes for each document, plus a single large text.
  /// The file is completed in the same folder (mode 0600) and then renamed, so a failed or killed copy doesn't leave a
  /// file at `url`.
  ///
  /// - Parameters:
  ///   - selection: The documents to copy.
  ///   - url: The new store's file.
  ///   - keys: The keys that open the new store. A test key makes it a TEST store, whether or not this store is one.
  ///   - recipients: The recipients that may open the new store.
  ///   - creation: The new store's options, or `nil` to use this store's titles and padding with a rollback journal.
  ///   - isReplacing: Whether to replace an existing store, which must not be open in any process.
  ///   - progress: Called when the keys are known, then after each batch. Throwing from it stops the copy.
  /// - Returns: The number of copied documents, and the new store's ID and pin.
  /// - Throws: `noSuchDocument`. `damaged` with the first damaged document's ID, or `setMismatch`. `alreadyExists`,
  ///   `testKeyRefused`, `keyNeeded`, `diskFull`, and errors of `progress`.
  @discardableResult
  public func copy(
    _ selection: Selection = .everything, to url: URL, keys: [StoreKey] = [], recipients: [Recipient] = [],
    creation: CreateOptions? = nil, replacing isReplacing: Bool = false, progress: ProgressHandler? = nil
  ) throws -> CopyReport {
    try engine.connections.during {
      try engine.copy(
        selection, to: url.path, slots: NewSlot.slots(for: keys, recipients), creation: creation ?? creationOptions,
        replacing: isReplacing, progress: progress)
    }
  }

  /// The options for a new store with this store's titles and padding.
  package var creationOptions: CreateOptions { engine.creationOptions }
}
