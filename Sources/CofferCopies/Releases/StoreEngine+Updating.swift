package import CofferDocuments
public import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A folder from which a customer gets a publisher's releases.
public struct ReleaseSource: Sendable {
  let folder: ReleaseFolder
  /// The publisher who signs the releases.
  public let publisher: Publisher
  let customer: String
  package let key: StoreKey
  let time: Timestamp
  let allowsOlder: Bool

  package init(
    _ path: String, by publisher: Publisher, as customer: String, key: StoreKey, at time: Timestamp, allowsOlder: Bool
  ) {
    folder = ReleaseFolder(path)
    (self.publisher, self.customer, self.key) = (publisher, customer, key)
    (self.time, self.allowsOlder) = (time, allowsOlder)
  }
}

/// The files that update a store to a release.
public struct UpdatePlan: Sendable, Hashable {
  /// The store's release, or 0 for a new store.
  public let from: Int64
  /// The newest release in the folder, or the store's release if that's newer.
  public let to: Int64
  /// The files in reading order, starting with the customer's key file, which is followed by the files with the
  /// documents. Empty if the store has the newest release.
  public let files: [File]

  /// A file that an update would read.
  public struct File: Sendable, Hashable {
    /// The name in the folder.
    public let name: String
    /// The size in bytes.
    public let byteCount: Int
    /// A Boolean value that indicates whether the folder has a file with this name and size.
    public let isThere: Bool
  }
}

/// The outcome of an update.
public struct UpdateReport: Sendable, Hashable {
  /// The release before the update, or 0 for a new store.
  public let from: Int64
  /// The release after the update.
  public let to: Int64
  /// The changes, and the conflicts with edits in this copy.
  public let merge: MergeReport
}

extension StoreEngine {
  /// Returns the files that an update would read, without requiring a key. The index is proved, but the files aren't.
  package func planUpdate(from source: ReleaseSource) throws(StoreError) -> UpdatePlan {
    let (index, number) = try provedIndex(of: source)
    return try source.plan(index, from: number, try source.way(index, from: number))
  }

  /// Requires this store's release to be the newest release in a folder, with the publisher's signature. The documents
  /// can differ.
  package func requireNewestRelease(of source: ReleaseSource) throws(StoreError) {
    let (index, number) = try provedIndex(of: source)
    guard number == index.newest.release.number else {
      throw StoreError(
        .invalidArgument, "the store has release \(number), and the folder leads to \(index.newest.release.number)",
        hint: number < index.newest.release.number ? "update the store first" : "name a folder with the store's release"
      )
    }
  }

  private func provedIndex(of source: ReleaseSource) throws(StoreError) -> (ReleaseIndex, Int64) {
    let index = try source.index()
    let number = try reading { transaction throws(StoreError) in
      try transaction.require(index, by: source.publisher, at: source.time, allowsOlder: source.allowsOlder)
    }
    return (index, number)
  }

  /// Updates this store to the newest release in a folder, with one transaction for each file.
  ///
  /// - Throws: `notAsReleased` if the folder isn't the publisher's, or a file was changed. `rolledBack` if the release
  ///   is older or has expired. `keyNeeded` if the customer's key file is missing, or `cannotUnlock` if it's for
  ///   another customer.
  package func update(
    from source: ReleaseSource, _ policy: MergePolicy, progress: ProgressHandler?
  ) throws -> UpdateReport {
    let (index, number) = try provedIndex(of: source)
    let way = try source.way(index, from: number)
    guard !way.isEmpty else { return UpdateReport(from: number, to: number, merge: MergeReport(isMerged: true)) }
    let keys = try source.keys(index, isTest: session.header.isTest, allowsTestKeys: options.allowsTestKeys)
    var entries: [MergeReport.Entry] = []
    var reached = number
    for update in way {
      let report = try take(update, of: index, source, keys, policy, progress)
      entries += report.entries
      guard report.isMerged else {
        return UpdateReport(from: number, to: reached, merge: MergeReport(entries: entries, isMerged: false))
      }
      reached = update.to
    }
    return UpdateReport(
      from: number, to: index.newest.release.number, merge: MergeReport(entries: entries, isMerged: true))
  }

  /// Applies one file, so this store includes the file's release.
  fileprivate func take(
    _ update: ReleaseUpdate, of index: ReleaseIndex, _ source: ReleaseSource, _ keys: [Int64: Secret],
    _ policy: MergePolicy, _ progress: ProgressHandler?
  ) throws -> MergeReport {
    let payload = try source.open(update, keys, in: StagedFile.folder(of: path))
    if update.from == 0 { payload.move(to: UpdatePreamble.byteCount) }
    let changeset = try ChangesetReader(payload)
    let isApplicable = try reading { transaction throws(StoreError) in
      changeset.origin.isApplicable(to: try transaction.replicasOfStart())
    }
    guard isApplicable else {
      throw StoreError(
        .invalidArgument, "the store lacks changes that release \(update.from) has",
        hint: "make a new copy from the folder")
    }
    return try take(changeset, named: source.folder.place(update.name), isRenamed: false, policy, progress) {
      transaction, debts throws(StoreError) in
      guard debts.wanted.isEmpty else {
        throw StoreError(
          .invalidArgument,
          "the update would keep an attachment that this store deleted, and the file lacks its content",
          hint: "decide for this store's side, or make a new copy from the folder")
      }
      // Check the index again, because another process can have updated the store since the first check.
      _ = try transaction.require(index, by: source.publisher, at: source.time, allowsOlder: source.allowsOlder)
      try transaction.addReleases(of: index, through: update.to)
    }
  }

  /// Creates a store with the newest release in a folder.
  ///
  /// - Parameter slots: The new store's keys.
  /// - Throws: The errors of ``update(from:_:progress:)``, or `notAsReleased` if the documents don't match the release.
  ///   After an error, the new file is removed.
  package static func make(
    at path: String, from source: ReleaseSource, slots: [NewSlot], options: OpenOptions, progress: ProgressHandler?
  ) throws -> UpdateReport {
    let index = try source.index()
    let isTest = index.isTest(source.publisher)
    try index.require(
      source.publisher, isTest: isTest, dataSet: nil, at: source.time, allowsOlder: source.allowsOlder)
    let way = try source.way(index, from: 0)
    let keys = try source.keys(index, isTest: isTest, allowsTestKeys: options.allowsTestKeys)
    let payload = try source.open(way[0], keys, in: StagedFile.folder(of: path))
    let preamble = try UpdatePreamble(payload, way[0], under: keys[way[0].to]!)
    guard try Release.dataSet(of: preamble.family) == index.newest.release.dataSet else {
      throw StoreError.notAsReleased("the documents aren't those of the data set")
    }
    var creation = preamble.creation
    creation.isTest = isTest
    let changeset = try ChangesetReader(payload)
    let replicas = changeset.origin.replicas
    let maker = StoreMaker(
      path: path, creation: creation, wait: options.wait,
      heritage: StoreHeritage(
        family: preamble.family, replicas: replicas.withoutCommits,
        counter: replicas.entries.map(\.counter).max() ?? 0, hasOwnRange: true))
    var opening = options
    opening.publisher = nil
    return try maker.make(slots, options: opening, allowsTestKeys: options.allowsTestKeys, begin: {}) { engine in
      var report = try engine.fill(with: changeset, named: source.folder.place(way[0].name), progress) {
        transaction, _ throws(StoreError) in
        try transaction.addReleases(of: index, through: way[0].to)
      }
      for update in way.dropFirst() {
        report = MergeReport(
          entries: report.entries + (try engine.take(update, of: index, source, keys, .mine, progress).entries),
          isMerged: true)
      }
      try engine.reading { transaction throws(StoreError) in
        try transaction.requireContents(of: index.newest.release, progress: progress)
      }
      return UpdateReport(from: 0, to: index.newest.release.number, merge: report)
    }.result
  }

  /// Returns the files that creating a store would read, without requiring a key. The index is proved, but the files
  /// aren't.
  package static func planStore(from source: ReleaseSource) throws(StoreError) -> UpdatePlan {
    let index = try source.index()
    try index.require(
      source.publisher, isTest: index.isTest(source.publisher), dataSet: nil, at: source.time,
      allowsOlder: source.allowsOlder)
    return try source.plan(index, from: 0, try source.way(index, from: 0))
  }
}

extension ReleaseIndex {
  /// Returns whether a new store is a TEST store, which is the case for a test publisher.
  fileprivate func isTest(_ publisher: Publisher) -> Bool { publisher.isTest }
}

extension ReleaseSource {
  fileprivate func index() throws(StoreError) -> ReleaseIndex {
    guard let index = try folder.index() else {
      throw StoreError(
        .noSuchFile, "\(folder.place(ReleaseIndex.name)) is missing, so there are no releases",
        hint: "name the folder of 'release publish', or a copy of it")
    }
    return index
  }

  /// Returns the files to read, or an empty array if the store has the newest release.
  fileprivate func way(_ index: ReleaseIndex, from number: Int64) throws(StoreError) -> [ReleaseUpdate] {
    guard number < index.newest.release.number else { return [] }
    guard let way = index.way(from: number) else {
      throw .notAsReleased("the index has no files that lead to release \(index.newest.release.number)")
    }
    return way
  }

  fileprivate func plan(
    _ index: ReleaseIndex, from number: Int64, _ way: [ReleaseUpdate]
  ) throws(StoreError) -> UpdatePlan {
    guard let last = way.last else { return UpdatePlan(from: number, to: number, files: []) }
    let name = try ReleaseCustomer.keyName(customer, of: last.to)
    let size = ReleaseKeyFile.byteCount
    let keyFile = UpdatePlan.File(name: name, byteCount: size, isThere: folder.has(name, byteCount: size))
    return UpdatePlan(
      from: number, to: last.to,
      files: [keyFile] + way.map { UpdatePlan.File(name: $0.name, byteCount: $0.byteCount, isThere: folder.has($0)) })
  }

  /// Returns the releases' keys by release number.
  fileprivate func keys(
    _ index: ReleaseIndex, isTest: Bool, allowsTestKeys: Bool
  ) throws(StoreError) -> [Int64: Secret] {
    let release = index.newest.release
    let name = try ReleaseCustomer.keyName(customer, of: release.number)
    guard let bytes = try folder.contents(name, limit: ReleaseKeyFile.maximumByteCount) else {
      throw StoreError(
        .keyNeeded, "\(folder.place(name)): release \(release.number) has no key file for the customer",
        hint: "get it with the other files; if there is none, ask the publisher")
    }
    guard let text = String(validating: bytes, as: UTF8.self), let file = ReleaseKeyFile(text) else {
      throw StoreError(.keyFileInvalid, "\(folder.place(name)) isn't the key file of a release", hint: "get it again")
    }
    guard let update = index.updates.first(where: { $0.to == release.number }) else {
      throw .notAsReleased("the index has no files that lead to release \(release.number)")
    }
    do throws(StoreError) {
      return try index.keys(
        try file.open(
          with: key, of: release, commitment: update.commitment, isTest: isTest, allowsTestKeys: allowsTestKeys))
    } catch {
      guard error.code == .cannotUnlock else { throw error }
      throw StoreError(
        .cannotUnlock, "the given keys don't open \(folder.place(name))",
        hint: "give the identity whose recipient the publisher has, besides a key of the store")
    }
  }

  /// Proves a file, and returns its payload.
  fileprivate func open(
    _ update: ReleaseUpdate, _ keys: [Int64: Secret], in scratch: String
  ) throws(StoreError) -> SealedPartsReader {
    guard let release = keys[update.to] else {
      throw .notAsReleased("the index lacks the key of release \(update.to)")
    }
    let copy = try folder.copy(update, in: scratch)
    let key = try translatingErrors { () throws(SealingError) in try update.partsKey(under: release) }
    return SealedPartsReader(
      SealedParts(key, label: "coffer3/update", identity: update.identity), payloadCount: update.payloadCount,
      damage: StoreError(.damaged, "\(folder.place(update.name)): the file can't be opened with its release's key"),
      from: { count, offset throws(StoreError) in try copy.read(count, at: offset) })
  }
}
