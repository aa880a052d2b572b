internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Writes documents into a new store of its own identity, under keys of its own: the way to hand a part of a store
  /// to somebody, and the only way out of a TEST store.
  ///
  /// Numbers, positions, dates, keys, titles, attributes and collections with their settings come along; a parent only
  /// if it comes too. No key, nonce or sealed byte of this store does. The new store keeps, sealed, this one's id and
  /// generation.
  ///
  /// All of one moment: in the rollback journal, writers wait until it ends. Documents are sealed on another thread
  /// while this one writes; memory stays the same whatever the size, a single huge text excepted. The file is made
  /// beside its place (mode 0600) and then given its name: a failed or killed export leaves nothing at `url`.
  ///
  /// - Parameters:
  ///   - keys: who can open the new store; a test key makes it a TEST store, whatever this one is.
  ///   - progress: called once the keys are known, then after each batch; throwing from it ends the work.
  /// - Throws: `noSuchDocument`, `noSuchCollection`, `damaged` with the id at the first document that is,
  ///   `alreadyExists`, `testKeyRefused`, `keyNeeded`, `diskFull`, and what `progress` throws.
  @discardableResult
  public func export(
    _ selection: ExportSelection = .everything, to url: URL, keys: [NewKey], options: ExportOptions = ExportOptions(),
    progress: ((WorkProgress) throws -> Void)? = nil
  ) throws -> ExportReport {
    try engine.export(selection, to: url.path, keys: keys, options: options, progress: progress)
  }

  /// Titles and padding as here: what a new store is like that is made from this one.
  public var creationOptions: CreateOptions {
    engine.creationOptions
  }
}
