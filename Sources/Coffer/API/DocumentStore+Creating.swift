internal import CofferRecords
internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Creates a new store with one slot for each key, and opens it.
  ///
  /// The file is completed beside its path (mode 0600) and then renamed: a failed or killed creation leaves nothing at
  /// `url`. A test key, recipient or identity implies the TEST mark.
  ///
  /// The returned store holds the root key, even if no slot is for this process: with recipients only, this is the last
  /// time that it opens here.
  ///
  /// - Throws: `alreadyExists`, the path untouched; `keyNeeded` without any key; `testKeyRefused` if test and real keys
  ///   mix or are not allowed.
  public static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions = CreateOptions(), options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try create(
      at: url, keys: keys, creation: creation, options: options, openedWith: .anyOf(keys.compactMap(\.asStoreKey)))
  }

  /// Creates a new store that is renamed to its path after `use` has written into it: no other process sees it before,
  /// and if `use` throws nothing is left.
  ///
  /// - Parameter begin: called when all keys are known and before anything is written.
  /// - Throws: as ``create(at:keys:creation:options:)``, and errors of `begin` and `use`. `alreadyExists` also at the
  ///   end, if another file took the path meanwhile.
  package static func create<R>(
    at url: URL, keys: [NewKey], creation: CreateOptions, options: OpenOptions, begin: () throws -> Void,
    use: (DocumentStore) throws -> R
  ) throws -> R {
    let maker = StoreMaker(path: url.path, creation: creation, wait: options.wait)
    return try maker.make(
      keys, options: options, allowsTestKeys: options.allowsTestKeys, begin: begin,
      use: { engine in try use(DocumentStore(engine, .created)) }
    ).result
  }

  static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions, options: OpenOptions, openedWith key: StoreKey
  ) throws(StoreError) -> DocumentStore {
    let maker = StoreMaker(path: url.path, creation: creation, wait: options.wait)
    let (unlocked, session) = try maker.make(keys, allowsTestKeys: options.allowsTestKeys)
    let file = try StoreFile(at: url.path, wait: options.wait, cacheBytes: options.pageCacheBytes)
    return DocumentStore(
      try StoreEngine(
        file, at: url.path, unlocked: unlocked, keys: session, key: key, options: options, verb: "created"), .created)
  }
}
