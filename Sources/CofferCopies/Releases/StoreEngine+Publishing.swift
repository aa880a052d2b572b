internal import CofferDocuments
package import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A report about the files that a publication wrote to a release folder.
public struct PublicationReport: Sendable, Hashable {
  /// The newest release.
  public let release: Int64
  /// The new files, without key files.
  public internal(set) var files: [File] = []
  /// The number of documents in the file that leads from the folder's previous release, or `nil` without such a file. A
  /// release after a rekey or a restore doesn't have this file.
  public internal(set) var changedDocuments: Int?

  /// A written file.
  public struct File: Sendable, Hashable {
    /// The file's name in the folder.
    public let name: String
    /// The file's size in bytes.
    public let byteCount: Int
  }
}

extension StoreEngine {
  /// Writes the files that lead to this store's newest release to a folder for static hosting (FORMAT, "Release
  /// folders").
  ///
  /// - Parameters:
  ///   - path: The folder, which is created if it doesn't exist.
  ///   - customers: The customers that can read the release.
  ///   - key: The key that signed the release.
  /// - Throws: `notAsReleased` if the store doesn't have a release, or if it was edited after the release.
  ///   `invalidArgument` if another key signed the release, if another store made it or this store made it before a
  ///   rekey, if this store lacks the folder's newest release, or if two customers have the same name.
  package func publishRelease(
    to path: String, for customers: [ReleaseCustomer], signedBy key: SigningKey, progress: ProgressHandler?
  ) throws -> PublicationReport {
    guard Set(customers.map(\.name)).count == customers.count else {
      throw StoreError(.invalidArgument, "two customers have one name", hint: "give each a name of its own")
    }
    return try read { transaction in
      let folder = ReleaseFolder(path)
      let source = try PublishedStore(transaction, signedBy: key, progress)
      return try folder.locked {
        var publication = Publication(source, folder, progress)
        return try publication.run(for: customers, signedBy: key, isTest: session.header.isTest)
      }
    }
  }
}

/// A store to publish as its newest release.
private struct PublishedStore {
  let transaction: StoreTransaction
  let releases: [SignedRelease]
  let secret: ReleaseSecret

  var newest: SignedRelease { releases.last! }

  init(_ transaction: StoreTransaction, signedBy key: SigningKey, _ progress: ProgressHandler?) throws(StoreError) {
    self.transaction = transaction
    releases = try transaction.signedReleases()
    guard let last = releases.last else {
      throw StoreError(.notAsReleased, "the store has no release", hint: "make one with 'release make'")
    }
    guard try last.isSigned(by: key.publisher) else {
      throw StoreError(
        .invalidArgument, "release \(last.release.number) is signed by another key",
        hint: "publish it with the key that signed it")
    }
    guard let secret = try transaction.secret(of: last) else {
      throw StoreError(
        .invalidArgument, "release \(last.release.number) was made by another store, or before a rekey of this one",
        hint: "make the next release here, and publish that")
    }
    self.secret = secret
    do throws(StoreError) {
      try transaction.requireContents(of: last.release, progress: progress)
    } catch {
      guard error.code == .notAsReleased else { throw error }
      throw .notAsReleased(
        "the store was edited after release \(last.release.number)", hint: "make the next release with 'release make'")
    }
  }
}

/// A publication to a folder.
private struct Publication {
  private let store: PublishedStore
  private let folder: ReleaseFolder
  private let progress: ProgressHandler?
  private var report: PublicationReport
  /// The maximum number of files that lead from one release to the next. Each has a line in the index.
  private static let maximumDeltas = 1000

  init(_ store: PublishedStore, _ folder: ReleaseFolder, _ progress: ProgressHandler?) {
    (self.store, self.folder, self.progress) = (store, folder, progress)
    report = PublicationReport(release: store.newest.release.number)
  }

  mutating func run(for customers: [ReleaseCustomer], signedBy key: SigningKey, isTest: Bool) throws
    -> PublicationReport
  {
    let index = try folder.index()
    // If another key signed the index, its lines can't be verified here, so don't keep its files.
    let isContinued = try index?.isContinued(by: store.releases, signedBy: key) ?? false
    let updates = try updates(after: index, isContinued: isContinued)
    var names: Set<String> = Set(updates.map(\.name))
    let release = store.newest.release
    for customer in customers {
      let name = try ReleaseCustomer.keyName(customer.name, of: release.number)
      names.insert(name)
      // Keep valid key files, so a revocation doesn't change the other customers' files.
      if isContinued, index?.newest == store.newest, try folder.hasKey(name, for: customer.recipient, isTest: isTest) {
        continue
      }
      try folder.write(
        name, text: try ReleaseKeyFile(store.secret.key, of: release, for: customer.recipient, isTest: isTest).text)
    }
    // Write the index last, so a reader always finds every file that the index lists.
    try folder.write(ReleaseIndex.name, text: try ReleaseIndex(store.releases, updates, signedBy: key).text)
    for name in try folder.names() where !names.contains(name) { try folder.remove(name) }
    return report
  }

  /// Writes the new files, and returns all files that lead to the newest release.
  private mutating func updates(after index: ReleaseIndex?, isContinued: Bool) throws -> [ReleaseUpdate] {
    let number = store.newest.release.number
    guard let index else {
      try folder.requireUnused()
      return [try write(from: nil)]
    }
    // Omit files that somebody removed, so new files replace them.
    var updates = isContinued ? index.updates.filter { folder.has($0) } : []
    let last = index.newest
    if last.release.number == number, updates == index.updates { return updates }
    let whole = updates.first { $0.from == 0 }
    let isLong: Bool
    if let secret = try store.transaction.secret(of: last), last.release.number < number {
      let delta = try write(from: (last, secret))
      let later = updates.filter { $0.from >= whole?.to ?? 1 }
      let byteCount = later.reduce(delta.byteCount) { $0 + $1.byteCount }
      updates.append(delta)
      // Limit the path from the whole file to the newest release to one and a half times the whole file's size. A new
      // copy can't take a file with other migrations.
      isLong =
        try hasMigrated(since: secret) || later.count >= Self.maximumDeltas
        || whole.map { byteCount > $0.byteCount / 2 } ?? true
    } else {
      isLong = true
    }
    if isLong {
      updates.removeAll { $0.from == 0 }
      updates.append(try write(from: nil))
    }
    updates.sort { ($0.from, $0.to) < ($1.from, $1.to) }
    let useful = ReleaseIndex.useful(
      ReleaseIndex.newest(updates, deltas: Self.maximumDeltas), to: number)
    report.files.removeAll { file in !useful.contains { $0.name == file.name } }
    return useful
  }

  /// Writes the file that leads to the newest release.
  ///
  /// - Parameter base: The release that the file starts from, or `nil` for a file with all documents.
  private mutating func write(from base: (release: SignedRelease, secret: ReleaseSecret)?) throws -> ReleaseUpdate {
    let (transaction, release) = (store.transaction, store.newest.release)
    let origin = try origin(since: base?.secret)
    guard zip(origin.base, origin.replicas.entries).allSatisfy({ $0 <= $1.counter }) else {
      throw StoreError(.setMismatch, "release \(base!.release.release.number) has changes that the store lacks")
    }
    let changes = try ChangesetWriter(transaction, origin, since: nil)
    var update = ReleaseUpdate(
      from: base?.release.release.number ?? 0, to: release.number,
      identity: try translatingErrors { () throws(SealingError) in try UniqueID.random() }, payloadCount: 0,
      commitment: try ReleaseKeyFile.commitment(store.secret.key, of: release), earlier: nil, byteCount: 0, digest: [])
    let parts = try translatingErrors { () throws(SealingError) in
      if let base { update.earlier = try update.seal(earlier: base.secret.key, under: store.secret.key) }
      return SealedParts(
        try update.partsKey(under: store.secret.key), label: "coffer3/update", identity: update.identity)
    }
    let (byteCount, digest) = try folder.write(update.name) { append in
      let output = SealedPartsWriter(parts) { sealed, _ throws(StoreError) in
        try sealed.withBytes { sealed throws(StoreError) in try append(sealed) }
      }
      if base == nil { try UpdatePreamble.write(transaction, update, under: store.secret.key, to: output) }
      try changes.write(to: output) { done throws(StoreError) in
        try WorkProgress(done: done, total: changes.documentCount)
          .tell(progress, stopped: "publishing was stopped; the folder has its earlier release")
      }
      update.payloadCount = output.count
      try output.finish()
    }
    (update.byteCount, update.digest) = (byteCount, digest)
    report.files.append(PublicationReport.File(name: update.name, byteCount: byteCount))
    if base != nil { report.changedDocuments = changes.documentCount }
    return update
  }
}

extension Publication {
  private func origin(since secret: ReleaseSecret?) throws(StoreError) -> ChangesetOrigin {
    var replicas = try store.transaction.replicasOfStart()
    replicas.syncMemory = nil
    return ChangesetOrigin(replicas: replicas, base: replicas.entries.map { secret?.counters[$0.identity] ?? 0 })
  }

  private func hasMigrated(since secret: ReleaseSecret) throws(StoreError) -> Bool {
    let origin = try origin(since: secret)
    for record in try store.transaction.storedCollections() where record.holdsMigrations {
      if try !origin.isInBase(record.dots.stamp) { return true }
    }
    return false
  }
}

/// The preamble before the changeset in a file with all documents. It contains the family key and the settings that a
/// new store shares with the publisher's store.
struct UpdatePreamble {
  static let byteCount = ReleaseUpdate.sealedFamilyByteCount + 2

  let family: Secret
  let creation: CreateOptions

  /// Writes the preamble. Seals the family key separately, because the payload passes through memory that isn't locked.
  fileprivate static func write(
    _ transaction: StoreTransaction, _ update: ReleaseUpdate, under release: Secret, to target: SealedPartsWriter
  ) throws(StoreError) {
    let session = transaction.keys.session
    let family = try translatingErrors { () throws(SealingError) in
      try update.seal(family: session.keyring.family, under: release)
    }
    try target.write(family)
    try target.write([UInt8(session.header.titles), session.header.isPadded ? 1 : 0])
  }

  /// - Throws: `damaged`.
  init(_ source: SealedPartsReader, _ update: ReleaseUpdate, under release: Secret) throws(StoreError) {
    let bytes = try source.read(Self.byteCount)
    let flags = bytes.suffix(2)
    guard let titles = CreateOptions.Titles(rawValue: UInt32(flags.first!)), flags.last! <= 1 else {
      throw StoreError(.damaged, "the beginning of the documents is invalid")
    }
    family = try update.family(Array(bytes.dropLast(flags.count)), openedWith: release)
    var creation = CreateOptions()
    creation.titles = titles
    creation.isPadded = flags.last! == 1
    self.creation = creation
  }
}
