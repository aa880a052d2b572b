internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Writes documents into a new store with another store id and other keys: the way to hand over a part of a store,
  /// and the only way out of a TEST store.
  ///
  /// Copies ids, positions, dates, keys, titles, attributes and collections with their settings; a parent only if it is
  /// copied too. No encryption key, nonce or sealed byte of this store is copied. The new store keeps, sealed, this
  /// one's id and generation.
  ///
  /// Everything is as of one moment: in rollback journal mode, writers wait until it ends. Documents are sealed on
  /// another thread while this one writes. Memory use doesn't depend on the size, except for a single huge text. The
  /// file is completed beside its path (mode 0600) and then renamed: a failed or killed export leaves nothing at `url`.
  ///
  /// - Parameters:
  ///   - selection: the documents to copy: all, those of some collections, or single ones.
  ///   - url: the new store's file, which must not exist unless `options.replacesExisting`.
  ///   - keys: the keys that open the new store; a test key makes it a TEST store, whether or not this one is.
  ///   - options: the options of the new store.
  ///   - progress: called once the keys are known, then after each batch; if it throws, the work ends.
  /// - Returns: the number of copied documents, and the new store's id and pin.
  /// - Throws: `noSuchDocument`, `damaged` with the id at the first damaged document, `alreadyExists`,
  ///   `testKeyRefused`, `keyNeeded`, `diskFull`, and errors of `progress`.
  @discardableResult
  public func export(
    _ selection: ExportSelection = .everything, to url: URL, keys: [NewKey], options: ExportOptions = ExportOptions(),
    progress: ProgressHandler? = nil
  ) throws -> ExportReport {
    try engine.export(selection, to: url.path, keys: keys, options: options, progress: progress)
  }

  /// The options of a new store that is made from this one: the same titles and padding.
  public var creationOptions: CreateOptions {
    engine.creationOptions
  }
}
