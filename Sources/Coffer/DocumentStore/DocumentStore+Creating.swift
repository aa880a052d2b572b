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
  /// The returned store is open even if this process can't open any slot, for example if you only pass recipients. In
  /// that case, you can't reopen the store here.
  ///
  /// - Throws: `alreadyExists` if a file exists, which is unchanged. `keyNeeded` without any key or recipient.
  ///   `testKeyRefused` if test keys aren't allowed or are mixed with real keys. Errors of ``OpenOptions/migrations``,
  ///   after which the new store remains without them.
  public static func create(
    at url: URL, keys: [StoreKey], recipients: [Recipient] = [], creation: CreateOptions = CreateOptions(),
    options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try create(at: url.path, keys: keys, recipients: recipients, creation: creation, options: options)
  }

  private static func create(
    at path: String, keys: [StoreKey], recipients: [Recipient] = [], creation: CreateOptions, options: OpenOptions,
    in folder: PrivateFolder? = nil
  ) throws(StoreError) -> DocumentStore {
    let maker = StoreMaker(path: path, creation: creation, wait: options.wait)
    let slots = NewSlot.slots(for: keys, recipients)
    let (unlocked, session) = try maker.make(slots, allowsTestKeys: options.allowsTestKeys)
    let file = try StoreFile(at: path, wait: options.wait, cacheBytes: options.pageCacheBytes)
    let engine = try StoreEngine(
      file, at: path, unlocked: unlocked, keys: session, key: .anyOf(keys), options: options, verb: "created",
      folder: folder)
    try engine.migrate()
    return DocumentStore(engine, .created)
  }

  /// Creates a temporary store with a random key, for a test or preview.
  ///
  /// ```swift
  /// let store = try DocumentStore.temporary { tx in
  ///   try tx.insert(Document(title: "Plans", text: "Sail at dawn."), into: "notes")
  /// }
  /// ```
  ///
  /// The store is an encrypted file in its own directory in `TMPDIR`, so it has the same calls, limits and locks as
  /// other stores. Closing the store, or releasing it, removes the directory. If the process is killed, the next
  /// temporary store removes it, and nobody has its key.
  ///
  /// - Parameters:
  ///   - options: The store's options, of which `creation` determines its titles, padding and journal.
  ///   - fill: Writes the first documents in one transaction.
  /// - Throws: Errors of `fill`, `diskFull`, `ioFailure`, and errors of ``OpenOptions/migrations``.
  public static func temporary(
    options: OpenOptions = OpenOptions(), _ fill: (inout WriteTransaction) throws -> Void = { _ in }
  ) throws -> DocumentStore {
    let folder = try PrivateFolder()
    let isTest = options.creation.isTest
    let line = try StoreKey.generateLine(isTest: isTest)
    let store = try create(
      at: folder.path(of: "temporary.coffer"), keys: [.keyMaterial { line }], creation: options.creation,
      options: options, in: folder)
    try store.write(fill)
    return store
  }

  /// Creates a new store, and renames it to its path after `use` has filled it. Other processes can't see the store
  /// before the rename. If `use` throws, the file is removed.
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
