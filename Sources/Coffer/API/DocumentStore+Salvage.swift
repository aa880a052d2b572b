internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Copies every readable document of a damaged store into a new store with another store id, and lists the rest.
  ///
  /// Each document is verified as in any read, so it is one that was written there. Without a sound state, or if the
  /// set of documents does not match, it may be an older version, and others may be missing: the report says so.
  /// Salvage works without state, indexes and names of collections, with other slots damaged, past pages that SQLite
  /// can't read and in a file that was cut short; if the first page, or pages that lead to others, are lost, it searches
  /// every page for rows. It needs the header or its spare copy, one slot that opens and the keyring. During an
  /// unfinished rekey, it reads documents under old and new keys.
  ///
  /// The damaged store is only read. The new one is completed beside its path and then renamed.
  ///
  /// - Parameters:
  ///   - creation: changes the options of the new store; the defaults are those of the old one, in rollback journal
  ///     mode.
  ///   - progress: called once the keys are known, then after each batch of documents or of searched pages; if it
  ///     throws, the work ends.
  /// - Throws: `cannotUnlock`, `damaged` if header and spare copy, the keyring or every slot are damaged; `otherFormat`,
  ///   `notAStore`, `testKeyRefused`, `pinMismatch`, `locked`, `alreadyExists`, and errors of `progress`.
  public static func salvage(
    at url: URL, key: StoreKey, to new: URL, keys: [NewKey], options: OpenOptions = OpenOptions(),
    creation change: ((inout CreateOptions) throws -> Void)? = nil, progress: ProgressHandler? = nil
  ) throws -> SalvageReport {
    try Salvage(source: url.path, key: key, target: new.path, keys: keys, options: options).run(
      creation: change, progress: progress)
  }
}
