internal import CofferRecords
internal import CofferSealing

/// The result of a salvage.
public struct SalvageReport: Sendable {
  /// Documents in the new store.
  public internal(set) var documents = 0
  /// The number of documents when the store was last written; nil if no state is left.
  public internal(set) var expected: Int?
  /// Documents that were not salvaged, as far as their ids can be found, sorted by id.
  public internal(set) var left: [DamagedDocument] = []
  /// Collections whose name is lost: in the new store they are named by their number.
  public internal(set) var namedByNumber: [CollectionID] = []
  /// Whether the found rows are exactly those that were written; nil if no state is left.
  public internal(set) var setMatches: Bool?
  /// Other problems of the store.
  public internal(set) var problems: [String] = []
  /// The new store's id.
  public internal(set) var storeID = ""
  /// The new store's pin, for its recipient to compare before trusting it.
  public internal(set) var pin = ""
  /// Whether the new store's keys may be published ones.
  public internal(set) var isTest = false

  /// Whether everything that was written is in the new store, including names of collections.
  public var isComplete: Bool { left.isEmpty && namedByNumber.isEmpty && setMatches == true }
}

/// One salvage: reads a damaged store into a new one.
struct Salvage {
  let sourcePath: String
  let key: StoreKey
  let target: String
  let keys: [NewKey]
  let options: OpenOptions

  init(source: String, key: StoreKey, target: String, keys: [NewKey], options: OpenOptions) {
    sourcePath = source
    self.key = key
    self.target = target
    self.keys = keys
    self.options = options
  }

  /// - Parameters:
  ///   - change: changes the options of the new store; the defaults are those of the old one.
  ///   - progress: called once the keys are known, then after each batch.
  func run(
    creation change: ((inout CreateOptions) throws -> Void)?, progress: ProgressHandler?
  ) throws -> SalvageReport {
    try StoreEngine.requireSoundCipher()
    let source = try SalvageSource(at: sourcePath, key: key, options: options)
    var creation = source.creation
    try change?(&creation)
    let maker = StoreMaker(path: target, creation: creation, wait: options.wait, source: sourcePath)
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
      fill: { transaction in
        let copier = try RowCopier(into: transaction)
        for collection in try walk.readCollections() {
          try transaction.writer.insertCollection(copier.add(collection))
        }
        if let state = source.state {
          try transaction.setOrigin(try source.origin(of: state))
        }
        var sealed = 0
        try transaction.insert(
          readBy: { _ in () }, sealedBy: { batch, _ in try walk.fill(batch, with: copier) },
          refused: { row, error in
            guard error.code == .duplicateKey else { throw error }
            refused.append(DamagedDocument(id: DocumentID(row.fields.id), reason: row.refusal(error).message))
          },
          inserted: { batch in
            sealed += batch.rows.count
            report.documents = sealed - refused.count
            try tell()
          })
        // Ids that were given out are never given out again, including those of deleted parents.
        try transaction.writer.reserveIDs(through: max(source.state?.nextID ?? 1, walk.firstUnusedNumber) - 1)
        try walk.findLost(tell)
        try transaction.copyIndexes(of: source.indexDeclaration)
      })
    walk.conclude(&report)
    report.left = (report.left + refused).sorted { $0.id < $1.id }
    report.storeID = Hexadecimal.text(made.storeID)
    report.pin = StorePin(made.header).line
    report.isTest = made.header.isTest
    StoreLog(logger: options.logger).info("salvaged \(report.documents) documents, \(report.left.count) left")
    return report
  }
}
