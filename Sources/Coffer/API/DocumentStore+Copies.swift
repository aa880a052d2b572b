internal import CofferRecords
public import FoundationEssentials
internal import Synchronization

// MARK: - Editable copies

extension DocumentStore {
  /// Opens a user's own copy of a store that an app ships, and makes it first if it is missing.
  ///
  /// ```swift
  /// let store = try DocumentStore.openEditableCopy(of: bundled, at: url, key: .keyFile(key), onNewerOriginal: .keep)
  /// ```
  ///
  /// The copy is a separate store with its identity and keys, which the same secret opens. Documents have the ids,
  /// order, collections, keys, attributes, dates and parents of the original; new ones get ids from 2^40 above the
  /// original's next id, so that later documents of the original never meet them. It is complete and on the disk before
  /// it has its name; of two processes that make it at once, the second opens the first one's.
  ///
  /// The original may be in a place where nothing can be written, in either journal mode, and is never changed
  /// (``OpenOptions/leavesFileUnchanged``). Each call compares it with the state that the copy was made from, as with
  /// an anchor, and ``original`` has the result. If that fails, the copy is as it was, and `open` opens it.
  ///
  /// Making the copy costs about what `export` does.
  ///
  /// - Parameters:
  ///   - original: the file that the app ships.
  ///   - url: the copy's file; its folder must exist.
  ///   - key: tried on the original and on the copy; asked for once.
  ///   - choice: decides how a newer original changes an existing copy.
  ///   - options: options of the copy. A copy that is made has the titles and padding of the original, and the journal
  ///     and labels of `options.creation`.
  ///   - progress: called while the copy is made, replaced or merged; if it throws, the copy is as before.
  /// - Throws: `rolledBack` for an original that is older than the state that the copy was made from; `anchorMismatch`
  ///   for another store, a fork or another root key; `misuse` for a file at `url` that is no editable copy;
  ///   `rekeyUnfinished` for a copy to be replaced or merged that has an unfinished rekey; and the errors of opening
  ///   and of `merge`.
  public static func openEditableCopy(
    of original: URL, at url: URL, key: StoreKey, onNewerOriginal choice: NewerOriginal = .keep,
    options: OpenOptions = OpenOptions(), progress: ProgressHandler? = nil
  ) throws -> DocumentStore {
    try openEditableCopy(
      of: original, at: url, key: key, originalOptions: OriginalOptions(onNewer: choice), options: options,
      progress: progress)
  }

  /// Opens a user's own copy of a store, with all options for the original.
  ///
  /// As `openEditableCopy(of:at:key:onNewerOriginal:options:progress:)`, but `key` opens the copy, and the original too
  /// unless `originalKey` does; `originalOptions` has the pin of the original and the choice for a newer one.
  ///
  /// - Throws: the same errors; `pinMismatch` for an original with another pin.
  public static func openEditableCopy(
    of original: URL, at url: URL, key: StoreKey, originalKey: StoreKey? = nil, originalOptions: OriginalOptions,
    options: OpenOptions = OpenOptions(), progress: ProgressHandler? = nil
  ) throws -> DocumentStore {
    let given = key
    let key = key.remembering()
    let file = try FileIfThere(url)
    var copy = file == .missing ? nil : try open(at: url, key: key, options: options)
    let source = try openOriginal(original, key: originalKey ?? key, originalOptions, options)
    var opening = Opening.opened
    if copy == nil {
      do {
        var creation = source.engine.creationOptions
        creation.journal = options.creation.journal
        creation.labels = options.creation.labels
        _ = try source.engine.fork(
          to: url.path, keys: key.newKeys, creation: creation, progress: progress)
        opening = .created
      } catch let error as StoreError where error.code == .alreadyExists {
        // Another process was faster.
      }
      copy = try open(at: url, key: key, options: options)
    }
    guard let copy else { preconditionFailure("internal error: an editable copy was neither made nor opened") }
    let check = opening == .created ? .copied : try copy.engine.follow(source.engine, originalOptions, progress)
    try source.close()
    // The store must not keep a secret that was asked for.
    copy.engine.holder.withLock { $0 = KeyHolder(key: given, slot: $0.slot) }
    return DocumentStore(copy.engine, opening, original: check)
  }

  private enum FileIfThere {
    case missing, found

    init(_ url: URL) throws(StoreError) {
      do throws(StoreError) {
        _ = try FilePlace(of: url.path)
        self = .found
      } catch {
        guard error.code == .noSuchFile else { throw error }
        self = .missing
      }
    }
  }

  private static func openOriginal(
    _ url: URL, key: StoreKey, _ original: OriginalOptions, _ options: OpenOptions
  ) throws(StoreError) -> DocumentStore {
    var options = options
    options.leavesFileUnchanged = true
    options.expectedPin = original.expectedPin
    options.slot = nil
    options.textCacheBytes = 0
    return try open(at: url, key: key, options: options)
  }

  /// Makes an editable copy of this store at `url`, under other keys, and does not open it.
  ///
  /// `creation` has the options of the copy; nil takes this store's titles and padding, and rollback journal mode.
  ///
  /// - Returns: the number of copied documents, and the copy's id and pin.
  /// - Throws: as `export`; `noNumberLeft` if no ids or generations would be left for the copy. A failed or killed call
  ///   leaves nothing at `url`.
  @discardableResult
  public func makeEditableCopy(
    at url: URL, keys: [NewKey], creation: CreateOptions? = nil, progress: ProgressHandler? = nil
  ) throws -> ExportReport {
    try engine.fork(to: url.path, keys: keys, creation: creation ?? creationOptions, progress: progress)
  }
}
