public import CofferCopies
internal import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import Synchronization

// MARK: - Editable copies

extension DocumentStore {
  /// The action to take if an editable copy's original has changes that the copy doesn't include.
  public typealias NewerOriginal = CofferCopies.NewerOriginal
  /// The result of comparing an editable copy's original with the changes that the copy includes.
  public typealias OriginalCheck = CofferCopies.OriginalCheck

  /// Opens a user's editable copy of an app's bundled store, and creates the copy if it's missing.
  ///
  /// ```swift
  /// let store = try DocumentStore.openEditableCopy(of: bundled, at: url, key: key, onNewerOriginal: .merge(.mine))
  /// ```
  ///
  /// The copy is a separate store with its own identity and keys, and merges with its original and all other copies.
  /// Documents keep the original's IDs, order, collections, keys, attributes, dates and parents. New documents get
  /// large IDs from the copy's own range. The copy is written to disk completely before it's renamed. If two processes
  /// create it concurrently, the second process opens the first process's copy.
  ///
  /// The original may be in a read-only folder, in either journal mode, and is never changed
  /// (``OpenOptions/leavesFileUnchanged``). Each call compares the original with the changes that the copy includes,
  /// and ``original`` contains the result. If the comparison fails, the copy is unchanged, and you can open it with
  /// `open`.
  ///
  /// Creating the copy costs about the same as `copy`.
  ///
  /// The migrations in `options` are applied to the copy before it's compared with the original, and after it's
  /// replaced. A merge requires that the original has the same migrations.
  ///
  /// - Parameters:
  ///   - original: The file that the app ships.
  ///   - url: The copy's file. Its folder must exist.
  ///   - key: Opens the copy, and the original unless `originalKey` is given. The user is asked for it once.
  ///   - originalKey: Opens the original, or `nil` to use `key`.
  ///   - originalPin: The original's required pin, or `nil` to accept any pin. A later root key's pin is allowed.
  ///   - choice: The action to take if the original has changes that an existing copy doesn't include.
  ///   - options: The copy's options. A new copy has the original's titles and padding, and the journal and labels of
  ///     `options.creation`.
  ///   - progress: Called while the copy is created, replaced or merged. Throwing from it leaves an existing copy
  ///     unchanged.
  /// - Throws: `rolledBack` if the original is older than the version in the copy. `invalidArgument` if the stores
  ///   don't descend from one store. `anchorMismatch` if one store was written to in two files. `pinMismatch` for
  ///   another pin. `rekeyUnfinished` if a copy to replace or merge has an unfinished rekey. Errors of opening, `merge`
  ///   and `progress`.
  public static func openEditableCopy(
    of original: URL, at url: URL, key: StoreKey, originalKey: StoreKey? = nil, originalPin: StorePin? = nil,
    onNewerOriginal choice: NewerOriginal = .keep, options: OpenOptions = OpenOptions(),
    progress: ProgressHandler? = nil
  ) throws -> DocumentStore {
    let given = key
    let key = key.remembering()
    let file = try FileIfThere(url)
    var copy = file == .missing ? nil : try open(at: url, key: key, options: options)
    let source = try openOriginal(original, key: originalKey ?? key, pin: originalPin, options)
    var opening = Opening.opened
    if copy == nil {
      do {
        var creation = source.engine.creationOptions
        creation.journal = options.creation.journal
        creation.labels = options.creation.labels
        _ = try source.engine.fork(
          to: url.path, slots: NewSlot.slots(for: [key], []), creation: creation, progress: progress)
        opening = .created
      } catch let error as StoreError where error.code == .alreadyExists {
        // Another process created the copy first.
      }
      copy = try open(at: url, key: key, options: options)
    }
    guard let copy else { preconditionFailure("internal error: an editable copy was neither made nor opened") }
    let check =
      opening == .created
      ? .copied
      : try copy.engine.follow(source.engine, onNewer: choice, progress)
    // The original that replaced the copy may lack migrations.
    if case .replaced = check { try copy.engine.migrate() }
    try source.close()
    copy.engine.keepKey(given)
    return DocumentStore(copy.engine, opening, original: check)
  }

  private enum FileIfThere {
    case missing, found

    init(_ url: URL) throws(StoreError) {
      do throws(StoreError) {
        _ = try FileLocation(of: url.path)
        self = .found
      } catch {
        guard error.code == .noSuchFile else { throw error }
        self = .missing
      }
    }
  }

  private static func openOriginal(
    _ url: URL, key: StoreKey, pin: StorePin?, _ options: OpenOptions
  ) throws(StoreError) -> DocumentStore {
    var options = options
    options.leavesFileUnchanged = true
    options.pin = pin
    options.slot = nil
    options.textCacheBytes = 0
    // An original that lacks migrations can be copied, because the migrations are then applied to the copy.
    let engine = try StoreEngine(at: url.path, key: key, options: options)
    try engine.requireKnownMigrations()
    return DocumentStore(engine, .opened)
  }

  /// Creates an editable copy of this store with other keys, such as another user's keys, without opening the copy.
  ///
  /// A failed or killed call doesn't leave a file at `url`.
  ///
  /// - Parameters:
  ///   - url: The copy's file, which must not exist.
  ///   - keys: The keys that open the copy.
  ///   - recipients: The recipients that may open the copy.
  ///   - creation: The copy's options, or `nil` to use this store's titles and padding with a rollback journal.
  ///   - progress: Called when the keys are known, then after each batch. Throwing from it stops the copy.
  /// - Returns: The number of copied documents, and the copy's ID and pin.
  /// - Throws: The errors of `copy`, and `noNumberLeft` if the store can't have another replica.
  @discardableResult
  public func makeEditableCopy(
    at url: URL, keys: [StoreKey] = [], recipients: [Recipient] = [], creation: CreateOptions? = nil,
    progress: ProgressHandler? = nil
  ) throws -> CopyReport {
    try engine.connections.during {
      try engine.fork(
        to: url.path, slots: NewSlot.slots(for: keys, recipients), creation: creation ?? creationOptions,
        progress: progress)
    }
  }
}
