internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Copies every readable document of a damaged store into a new store with another store id, and lists the rest.
  ///
  /// Each document is verified as in any read, so it is one that was written there. Without a sound state, or if the
  /// set of documents does not match, it may be an older version, and others may be missing: the report says so.
  ///
  /// Salvage works without state, indexes and names of collections, with other slots damaged, past pages that SQLite
  /// can't read and in a file that was cut short; if the first page, or pages that lead to others, are lost, it
  /// searches every page for rows. It needs the header or its spare copy, one slot that opens and the keyring. During
  /// an unfinished rekey, it reads documents under old and new keys.
  ///
  /// The damaged store is only read. The new one is completed beside its path and then renamed.
  ///
  /// - Parameters:
  ///   - url: the damaged store's file.
  ///   - key: opens the damaged store.
  ///   - new: the new store's file, which must not exist.
  ///   - keys: the keys of the new store, one slot for each.
  ///   - options: options of opening the damaged store, such as the pin and the use of test keys.
  ///   - change: changes the options of the new store; the defaults are those of the old one, in rollback journal mode.
  ///   - progress: called once the keys are known, then after each batch of documents or of searched pages; if it
  ///     throws, the work ends.
  /// - Returns: the number of salvaged documents, those that are lost as far as known, and the new store's id and pin.
  /// - Throws: `cannotUnlock`, `damaged` if header and spare copy, the keyring or every slot are damaged;
  ///   `otherFormat`, `notAStore`, `testKeyRefused`, `pinMismatch`, `locked`, `alreadyExists`, and errors of
  ///   `progress`. Nothing is left at `new` then.
  public static func salvage(
    at url: URL, key: StoreKey, to new: URL, keys: [NewKey], options: OpenOptions = OpenOptions(),
    creation change: ((inout CreateOptions) throws -> Void)? = nil, progress: ProgressHandler? = nil
  ) throws -> SalvageReport {
    try Salvage(source: url.path, key: key, target: new.path, keys: keys, options: options).run(
      creation: change, progress: progress)
  }
}
