internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

/// What was salvaged, and what was not.
public struct SalvageReport: Sendable {
  /// Documents in the new store.
  public internal(set) var documents = 0
  /// How many there were when the store was last written; nil where no state is left to tell.
  public internal(set) var expected: Int?
  /// Documents that stayed behind, as far as their numbers can still be found, by rising number.
  public internal(set) var left: [DamagedDocument] = []
  /// Collections whose name is lost: in the new store they are named by their number.
  public internal(set) var namedByNumber: [CollectionID] = []
  /// Whether what was found is exactly what was written; nil where no state is left to tell.
  public internal(set) var setMatches: Bool?
  /// What else is wrong with the store.
  public internal(set) var problems: [String] = []
  /// The new store's.
  public internal(set) var storeID = ""
  public internal(set) var pin = ""
  /// Whether the new store's keys may be published ones.
  public internal(set) var isTest = false

  /// Whether everything that was written is in the new store, names of collections included.
  public var isComplete: Bool { left.isEmpty && namedByNumber.isEmpty && setMatches == true }
}

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
    try requireSoundCipher()
    let source = try SalvageSource(at: url.path, key: key, options: options)
    var creation = source.creation
    try change?(&creation)
    let maker = StoreMaker(path: new.path, creation: creation, wait: options.wait, source: url.path)
    let walk = try SalvageWalk(source)
    var refused: [DamagedDocument] = []
    var report = SalvageReport()
    report.expected = source.state.map { Int($0.count) }
    let expected = report.expected ?? 0
    func tell() throws {
      try progress?(WorkProgress(done: report.documents, total: max(report.documents, expected)))
    }
    let made = try maker.make(
      keys, allowsTestKeys: options.allowsTestKeys,
      begin: tell,
      fill: { writer in
        let transaction = writer.transaction
        let copier = try RowCopier(into: transaction)
        for collection in try walk.readCollections() {
          try transaction.writer.insertCollection(copier.add(collection))
        }
        if let state = source.state {
          try transaction.setOrigin(source.keys.storeID, generation: state.generation)
        }
        var sealed = 0
        try transaction.insert(
          sealedBy: { try walk.fill($0, with: copier) },
          refused: { row, error in
            // A store never holds a key twice; one that was put back to an older row may.
            guard error.code == .duplicateKey else { throw error }
            let other = error.documentID.map { "document \($0)" } ?? "another document"
            let damage = StoreError.damagedDocument(row.fields.id, "\(other) has its key")
            refused.append(DamagedDocument(id: DocumentID(row.fields.id), reason: damage.message))
          },
          inserted: { batch in
            sealed += batch.rows.count
            report.documents = sealed - refused.count
            try tell()
          })
        // Ids that were given are never given again, those of parents that are gone included.
        try transaction.writer.reserveIDs(through: max(source.state?.nextID ?? 1, walk.firstUnusedNumber) - 1)
        try walk.findLost(tell)
      })
    walk.conclude(&report)
    report.left = (report.left + refused).sorted { $0.id < $1.id }
    report.storeID = hex(made.storeID)
    report.pin = made.header.pin
    report.isTest = made.header.isTest
    StoreLog(logger: options.logger).info("salvaged \(report.documents) documents, \(report.left.count) left")
    return report
  }
}
