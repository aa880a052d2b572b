internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

extension DocumentStore {
  /// Brings every readable document of a damaged store into a new store of its own identity, and lists the rest.
  ///
  /// Each document is proved as on any reading, so it is one that was written there; without a sound state, or where
  /// the set of documents does not match, it may be an older one, and others may be missing: the report says so. Goes
  /// on without state, indexes and names of collections, with other slots damaged, past pages that SQLite can't read
  /// and in a file that was cut short; where pages that lead to others are lost, every page is looked at for rows. Needs
  /// the header, one slot that opens and the keyring. While a rekey is unfinished, documents under old and new keys are
  /// read.
  ///
  /// The damaged store is only read. The new one is made beside its place and then given its name.
  ///
  /// - Parameters:
  ///   - creation: changes what the new store is like, which otherwise is as the old one, in the rollback journal.
  ///   - progress: called once the keys are known, then after each batch of documents or of pages that were looked at;
  ///     throwing from it ends the work.
  /// - Throws: `cannotUnlock`, `damaged` where the header, the keyring or every slot is; `newerFormat`, `notAStore`,
  ///   `testKeyRefused`, `pinMismatch`, `locked`, `alreadyExists`, and what `progress` throws.
  public static func salvage(
    at url: URL, key: StoreKey, to new: URL, keys: [NewKey], options: OpenOptions = OpenOptions(),
    creation change: ((inout CreateOptions) throws -> Void)? = nil, progress: ((WorkProgress) throws -> Void)? = nil
  ) throws -> SalvageReport {
    try Salvage(source: url.path, key: key, target: new.path, keys: keys, options: options).run(
      creation: change, progress: progress)
  }
}
