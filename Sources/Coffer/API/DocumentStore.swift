internal import CofferRecords
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
  let engine: StoreEngine

  init(_ engine: StoreEngine, _ opening: Opening) {
    self.engine = engine
    self.opening = opening
  }

  public var isReadOnly: Bool { engine.isReadOnly }

  /// 32 hex digits, the same for the store's whole life and in every copy of it.
  public var storeID: String { Hexadecimal.text(engine.session.header.storeID) }

  /// What a recipient compares before believing a store: changes with every rekey.
  public var pin: String { engine.session.header.pin }

  public var titles: TitleMode { TitleMode(rawValue: engine.session.header.titles)! }

  /// Whether its keys are published ones.
  public var isTest: Bool { engine.session.header.isTest }

  /// A handle to a collection by name; nothing is read or made.
  public func collection(_ name: String) -> DocumentCollection {
    DocumentCollection(name)
  }

  /// Closes the file once running transactions have ended, and wipes the keys. Later calls throw `closed`.
  ///
  /// A store that is no longer referenced closes by itself.
  public func close() throws(StoreError) {
    try engine.connections.close()
  }
}

// MARK: - Opening

extension DocumentStore {
  /// Opens the store at `url`.
  ///
  /// Checks come in the order of FORMAT, "Opening": nothing in the file is believed before the key has proved it, and no
  /// key is derived before the bounds of every slot are checked. With a key file no scrypt runs.
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
    try StoreEngine.requireSoundCipher()
    let engine: StoreEngine
    do throws(StoreError) {
      engine = try StoreEngine(at: url.path, key: key, options: options)
    } catch {
      guard error.code == .noSuchFile, creatingIfMissing, !options.isReadOnly else { throw error }
      return try create(at: url, keys: key.newKeys, creation: options.creation, options: options, openedWith: key)
    }
    if startingAfresh {
      try engine.writing { transaction throws(StoreError) in
        try transaction.writer.deleteEverything()
        try transaction.commit()
      }
    }
    return DocumentStore(engine, startingAfresh ? .reset : .opened)
  }

  /// Unlocks the store again after a transaction threw `keyChanged`: with another key, or with the same.
  ///
  /// A store does this by itself where the key that it was opened with is a passphrase or a key file that still opens:
  /// it is asked for again, on the thread of the transaction. Not so through a slot of a recipient or a provider, which
  /// anyone may be able to make, nor where a pin was expected, which every such change changes.
  ///
  /// - Parameter pin: the store must be the one of this pin.
  /// - Throws: `cannotUnlock`, `pinMismatch`, `rolledBack`, what asking for the key throws; the store is then as it was.
  public func unlock(with key: StoreKey, expectingPin pin: String? = nil) throws(StoreError) {
    try engine.unlock(with: key, expectingPin: pin)
  }
}
