internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

/// Which documents leave a store.
public enum ExportSelection: Sendable {
  case everything
  case collections([DocumentCollection])
  /// With their collections, and no others.
  case documents([DocumentID])
}

/// How a store is made from another.
public struct ExportOptions: Sendable {
  /// What the new store is like; nil is titles and padding as here, and the rollback journal.
  public var creation: CreateOptions?
  /// Puts the new store in the place of a file that stands there, which nobody may have open.
  public var replacesExisting = false

  public init() {}
}

/// What went into a new store.
public struct ExportReport: Sendable {
  public internal(set) var documents = 0
  /// Documents whose parent stayed behind: they have none in the new store.
  public internal(set) var parentsDropped = 0
  /// The new store's.
  public internal(set) var storeID = ""
  /// What the new store's recipient compares before believing it.
  public internal(set) var pin = ""
  /// Whether the new store's keys may be published ones.
  public internal(set) var isTest = false
}

extension DocumentStore {
  /// Writes documents into a new store of its own identity, under keys of its own: the way to hand a part of a store
  /// to somebody, and the only way out of a TEST store.
  ///
  /// Numbers, positions, dates, keys, titles, attributes and collections with their settings come along; a parent only
  /// if it comes too. No key, nonce or sealed byte of this store does. The new store keeps, sealed, this one's id and
  /// generation.
  ///
  /// All of one moment: in the rollback journal, writers wait until it ends. Documents are sealed on another thread
  /// while this one writes; memory stays the same whatever the size, a single huge text excepted. The file is made
  /// beside its place (mode 0600) and then given its name: a failed or killed export leaves nothing at `url`.
  ///
  /// - Parameters:
  ///   - keys: who can open the new store; a test key makes it a TEST store, whatever this one is.
  ///   - progress: called once the keys are known, then after each batch; throwing from it ends the work.
  /// - Throws: `noSuchDocument`, `noSuchCollection`, `damaged` with the id at the first document that is,
  ///   `alreadyExists`, `testKeyRefused`, `keyNeeded`, `diskFull`, and what `progress` throws.
  @discardableResult
  public func export(
    _ selection: ExportSelection = .everything, to url: URL, keys: [NewKey], options: ExportOptions = ExportOptions(),
    progress: ((WorkProgress) throws -> Void)? = nil
  ) throws -> ExportReport {
    let maker = StoreMaker(
      path: url.path, creation: options.creation ?? creationOptions, wait: self.options.wait,
      replacesExisting: options.replacesExisting, source: path)
    return try read { reader in
      let source = reader.transaction
      // What is not there is said before anybody is asked for a key.
      let walk = try ExportWalk(source, selection)
      var report = ExportReport()
      let made = try maker.make(
        keys, allowsTestKeys: self.options.allowsTestKeys,
        begin: { try progress?(WorkProgress(done: 0, total: walk.expected)) },
        fill: { writer in
          let transaction = writer.transaction
          let copier = try RowCopier(into: transaction)
          for collection in walk.collections { try transaction.writer.insertCollection(copier.add(collection)) }
          try transaction.setOrigin(source.keys.session.storeID, generation: source.state.generation)
          try transaction.insert(
            sealedBy: { try walk.fill($0, with: copier) },
            inserted: { batch in
              report.documents += batch.rows.count
              try progress?(WorkProgress(done: report.documents, total: max(report.documents, walk.expected)))
            })
        })
      report.parentsDropped = walk.parentsDropped
      report.storeID = hex(made.storeID)
      report.pin = made.header.pin
      report.isTest = made.header.isTest
      log.info("exported \(report.documents) documents into store \(report.storeID)")
      return report
    }
  }

  /// Titles and padding as here: what a new store is like that is made from this one.
  public var creationOptions: CreateOptions {
    var creation = CreateOptions()
    creation.titles = titles
    creation.isPadded = session.header.isPadded
    return creation
  }
}
