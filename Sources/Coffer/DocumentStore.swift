internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials
internal import Synchronization

/// An encrypted document store in one SQLite file.
///
/// Every text is sealed with XAES-256-GCM before SQLite sees it, and bound to its place. Used from any number of
/// threads; one writes at a time, others read. Nothing is kept open between transactions but the file itself.
///
/// ```swift
/// let store = try DocumentStore.open(at: url, key: .keyFile(keyURL), creatingIfMissing: true)
/// let notes = store.collection("notes")
/// try store.write { tx in
///   try tx.insert(Document(title: "Plans", text: "Sail at dawn."), into: notes, at: .top)
/// }
/// let titles = try store.read { try $0.headers(in: notes).map(\.title) }
/// ```
public final class DocumentStore: Sendable {
  /// How the store came to be open.
  public enum Opening: Sendable, Hashable {
    case created, opened
    /// It was there, and was emptied because that was asked for.
    case reset
  }

  public let opening: Opening
  public let isReadOnly: Bool
  /// Absolute and without symbolic links.
  var path: String { connections.place.path }
  let options: OpenOptions
  let holder: Mutex<KeyHolder>
  /// Held by the thread that asks for a key again.
  let unlocking = Mutex<Void>(())
  let session: Session
  let connections: ConnectionPool
  let log: StoreLog

  init(
    _ file: StoreFile, unlocked: Unlocking.Unlocked, keys: SessionKeys, key: StoreKey, options: OpenOptions,
    opening: Opening
  ) throws(StoreError) {
    self.opening = opening
    self.options = options
    holder = Mutex(KeyHolder(key: key, slot: unlocked.slot))
    // Features that only readers may ignore, and a file that can't be written, leave reading.
    isReadOnly = options.isReadOnly || keys.header.readOnlyCompatible != 0 || file.database.isReadOnly
    session = Session(keys: keys, generation: 0, cacheBytes: options.textCacheBytes)
    log = StoreLog(logger: options.logger)
    connections = try ConnectionPool(file, session: session, options: options)
    // The state proves header and generation before anything else is believed.
    let generation = try reading { transaction throws(StoreError) in transaction.state.generation }
    log.info("\(opening == .created ? "created" : "opened") store \(storeID) at generation \(generation)")
  }

  /// 32 hex digits, the same for the store's whole life and in every copy of it.
  public var storeID: String { hex(session.header.storeID) }

  /// What a recipient compares before believing a store: changes with every rekey.
  public var pin: String { session.header.pin }

  public var titles: TitleMode { TitleMode(rawValue: session.header.titles)! }

  /// Whether its keys are published ones.
  public var isTest: Bool { session.header.isTest }

  /// A handle to a collection by name; nothing is read or made.
  public func collection(_ name: String) -> DocumentCollection {
    DocumentCollection(name)
  }

  /// Closes the file once running transactions have ended, and wipes the keys. Later calls throw `closed`.
  ///
  /// A store that is no longer referenced closes by itself.
  public func close() throws(StoreError) {
    try connections.close()
  }
}

// MARK: - Opening

extension DocumentStore {
  /// Opens the store at `url`.
  ///
  /// Checks come in the order of FORMAT, "Opening": nothing in the file is believed before the key has proved it, and
  /// no key is derived before the bounds of every slot are checked. With a key file no scrypt runs.
  ///
  /// - Parameters:
  ///   - creatingIfMissing: makes a store with one slot for each way of `key`.
  ///   - startingAfresh: empties a store that is there, in one transaction: its collections go with all documents, and
  ///     numbers begin at 1 again, whatever is damaged among them. It stays the same store with the same keys. For what can be had anew, such as a
  ///     cache whose form has changed; ``opening`` then says `reset`.
  /// - Throws: `noSuchFile`, `notAStore`, `newerFormat`, `cannotUnlock`, `testKeyRefused`, `pinMismatch`, `damaged`,
  ///   `rolledBack`, `parametersRefused`, `keyFileInvalid`, `locked`.
  public static func open(
    at url: URL, key: StoreKey, creatingIfMissing: Bool = false, startingAfresh: Bool = false,
    options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try requireSoundCipher()
    let opened: DocumentStore
    do throws(StoreError) {
      opened = try open(at: url.path, key: key, options: options, opening: startingAfresh ? .reset : .opened)
    } catch {
      guard error.code == .noSuchFile, creatingIfMissing, !options.isReadOnly else { throw error }
      return try create(at: url, keys: key.newKeys, creation: options.creation, options: options, openedWith: key)
    }
    if startingAfresh { try opened.startAfresh() }
    return opened
  }

  static func open(at path: String, key: StoreKey, options: OpenOptions, opening: Opening) throws(StoreError)
    -> DocumentStore
  {
    let file = try StoreFile(at: path, wait: options.wait, cacheBytes: ConnectionPool.readerCache)
    let (header, slots) = try file.readConsistently()
    if let pin = options.expectedPin { try header.requirePin(pin) }
    let unlocking = Unlocking(
      header: header, slots: slots, named: options.slot.map { UInt32(clamping: $0) },
      allowsTestKeys: options.allowsTestKeys)
    try unlocking.checkBounds()
    let unlocked = try unlocking.unlock(with: key)
    let keys = try SessionKeys(root: unlocked.root, header: header, slots: slots)
    return try DocumentStore(file, unlocked: unlocked, keys: keys, key: key, options: options, opening: opening)
  }

  private func startAfresh() throws(StoreError) {
    try writing { transaction throws(StoreError) in
      try transaction.deleteEverything()
      try transaction.commit()
    }
  }

  /// A cipher that does not give the published values must seal nothing.
  static func requireSoundCipher() throws(StoreError) {
    guard XAESKey.selfTestPassed else {
      throw StoreError(.systemFailure, "the self-test of XAES-256-GCM failed: this OpenSSL can't be trusted")
    }
  }
}

extension StoreFile {
  /// Header, slots and state of one moment, copied in one short transaction.
  func readConsistently() throws(StoreError) -> (StoreHeader, [KeySlotRecord]) {
    try storing { () throws(SQLiteError) in try database.begin(.deferred) }
    let result: Result<(StoreHeader, [KeySlotRecord]), StoreError> = Result { () throws(StoreError) in
      try checkSize()
      return try readHeader()
    }
    // It goes on being used: a transaction that stays open, for want of memory, must not.
    try storing { () throws(SQLiteError) in try database.rollback() }
    return try result.get()
  }
}
