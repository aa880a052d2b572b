internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Makes a new store with one slot for each key, and opens it.
  ///
  /// The file is made whole beside its place (mode 0600) and then given its name: a failed or killed one leaves
  /// nothing at `url`. A test key, recipient or identity implies the TEST mark.
  ///
  /// The store that is returned holds the root key, whoever the slots are for: with recipients only, this is the last
  /// time that it opens here.
  ///
  /// - Throws: `alreadyExists`, the path untouched; `keyNeeded` without any key; `testKeyRefused` where test and real
  ///   keys mix or are not allowed.
  public static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions = CreateOptions(), options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try create(
      at: url, keys: keys, creation: creation, options: options, openedWith: .anyOf(keys.compactMap(\.asStoreKey)))
  }

  static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions, options: OpenOptions, openedWith key: StoreKey
  ) throws(StoreError) -> DocumentStore {
    let maker = StoreMaker(path: url.path, creation: creation, wait: options.wait)
    let (unlocked, session) = try maker.make(keys, allowsTestKeys: options.allowsTestKeys)
    let file = try StoreFile(at: url.path, wait: options.wait, cacheBytes: ConnectionPool.readerCache)
    return try DocumentStore(
      file, unlocked: unlocked, keys: session, key: key, options: options, opening: .created)
  }
}

extension KeySlotRecord {
  static func checkLabel(_ label: String) throws(StoreError) {
    guard label.utf8.count <= maximumLabel else {
      throw StoreError(.tooLarge, "a label has at most \(maximumLabel) bytes")
    }
  }
}
