internal import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import CofferSealing

extension DocumentStore {
  /// Creates a new store with one slot for each key and recipient, and opens it.
  ///
  /// The file is completed in the same folder (mode 0600) and then renamed, so a failed or killed creation doesn't
  /// leave a file at `url`. A test key, recipient or identity makes the store a TEST store.
  ///
  /// The returned store is open even if this process can't open any slot, for example if you only pass recipients. You
  /// can't reopen the store here then.
  ///
  /// - Throws: `alreadyExists` if a file exists, which is unchanged. `keyNeeded` without any key or recipient.
  ///   `testKeyRefused` if test keys aren't allowed or are mixed with real keys.
  public static func create(
    at url: URL, keys: [StoreKey], recipients: [Recipient] = [], creation: CreateOptions = CreateOptions(),
    options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    let maker = StoreMaker(path: url.path, creation: creation, wait: options.wait)
    let slots = NewSlot.slots(for: keys, recipients)
    let (unlocked, session) = try maker.make(slots, allowsTestKeys: options.allowsTestKeys)
    let file = try StoreFile(at: url.path, wait: options.wait, cacheBytes: options.pageCacheBytes)
    return DocumentStore(
      try StoreEngine(
        file, at: url.path, unlocked: unlocked, keys: session, key: .anyOf(keys), options: options, verb: "created"),
      .created)
  }

  /// Creates a new store, and renames it to its path after `use` has filled it. Other processes can't see the store
  /// before the rename. If `use` throws, no file is left.
  ///
  /// - Parameter begin: Called when all keys are known, before the first write.
  /// - Throws: The errors of ``create(at:keys:recipients:creation:options:)``, `begin` and `use`. `alreadyExists` can
  ///   also occur at the end, if another process created a file at the path.
  package static func create<R>(
    at url: URL, keys: [StoreKey], recipients: [Recipient], creation: CreateOptions, options: OpenOptions,
    begin: () throws -> Void, use: (DocumentStore) throws -> R
  ) throws -> R {
    let maker = StoreMaker(path: url.path, creation: creation, wait: options.wait)
    return try maker.make(
      NewSlot.slots(for: keys, recipients), options: options, allowsTestKeys: options.allowsTestKeys, begin: begin,
      use: { engine in try use(DocumentStore(engine, .created)) }
    ).result
  }
}
