internal import CofferCopies
internal import CofferEngine
public import CofferFoundation

extension DocumentStore {
  /// Copies the readable documents of a damaged store to a new store, and lists the other documents.
  ///
  /// Each copied document is verified as in any read, so it was written in this store. If the store's state is lost, or
  /// the documents don't match it, documents may be older versions or missing, which the report indicates.
  ///
  /// A salvage needs the header or its spare copy, one slot that opens, and the keyring. It works without the state,
  /// indexes and collection names, with other slots damaged, around pages that SQLite can't read, and with a truncated
  /// file. If the first page or inner pages are lost, it searches every page for rows. During an unfinished rekey, it
  /// reads documents under old and new keys. A collection whose name is lost is named `collection` and its number
  /// (``CopyReport/namedByNumber``).
  ///
  /// The damaged store is only read. The new store is completed in the same folder and then renamed, so a failed or
  /// killed salvage doesn't leave a file at `new`.
  ///
  /// - Parameters:
  ///   - url: The damaged store's file.
  ///   - key: Opens the damaged store.
  ///   - new: The new store's file, which must not exist.
  ///   - keys: The keys that open the new store. Without keys and recipients, `key` opens it.
  ///   - recipients: The recipients that may open the new store.
  ///   - creation: The new store's options, or `nil` to use the damaged store's titles and padding with a rollback
  ///     journal.
  ///   - options: The options for opening the damaged store, such as the pin and the use of test keys.
  ///   - progress: Called when the keys are known, then after each batch of documents or searched pages. Throwing from
  ///     it stops the salvage.
  /// - Returns: The number of copied documents, the documents known to be lost, and the new store's ID and pin.
  /// - Throws: `cannotUnlock`. `damaged` if the header and its spare copy, the keyring or every slot are damaged.
  ///   `otherFormat`, `notAStore`, `testKeyRefused`, `pinMismatch`, `locked`, `alreadyExists`, and errors of
  ///   `progress`.
  public static func salvage(
    at url: URL, key: StoreKey, to new: URL, keys: [StoreKey] = [], recipients: [Recipient] = [],
    creation: CreateOptions? = nil, options: OpenOptions = OpenOptions(), progress: ProgressHandler? = nil
  ) throws -> CopyReport {
    let keepsKey = keys.isEmpty && recipients.isEmpty
    // Ask for a passphrase once.
    let key = keepsKey ? key.remembering() : key
    return try salvage(
      at: url, key: key, to: new, keys: keepsKey ? [key] : keys, recipients: recipients,
      changing: { if let creation { $0 = creation } }, options: options, progress: progress)
  }

  /// Salvages a store like `salvage(at:key:to:keys:recipients:creation:options:progress:)`.
  ///
  /// - Parameter change: Changes the new store's options, which default to the damaged store's titles and padding.
  package static func salvage(
    at url: URL, key: StoreKey, to new: URL, keys: [StoreKey], recipients: [Recipient],
    changing change: (inout CreateOptions) throws -> Void, options: OpenOptions = OpenOptions(),
    progress: ProgressHandler? = nil
  ) throws -> CopyReport {
    let slots = NewSlot.slots(for: keys, recipients)
    return try Salvage(source: url.path, key: key, target: new.path, slots: slots, options: options).run(
      changing: change, progress: progress)
  }
}
