package import CofferDocuments
internal import CofferFoundation
internal import CofferRecords
internal import CofferSealing

extension StoreEngine {
  /// Signs a verified state's contents, and records the release in the store.
  ///
  /// - Parameters:
  ///   - state: The anchor of the verified state.
  ///   - expires: The time after which readers should expect a newer release, or `nil`.
  ///   - next: The following releases' publisher, or `nil` if it doesn't change.
  /// - Throws: `misuse` if the store has changed since. `invalidArgument` for a different key than the key that signs
  ///   the store's releases, or a time that isn't after the previous release.
  @discardableResult
  package func addRelease(
    of state: StoreAnchor, signedBy key: SigningKey, at time: Timestamp, expires: Timestamp?, next: Publisher?,
    progress: ProgressHandler?
  ) throws(StoreError) -> Release {
    let isTest = session.header.isTest
    guard key.publisher.isTest == isTest, next.map({ $0.isTest == isTest }) ?? true else {
      throw StoreError(
        .testKeyRefused,
        isTest ? "a TEST store takes only a test key for signing" : "a test key signs only releases of TEST stores",
        hint: "make another key with 'keygen --signing'\(isTest ? " --test" : "")")
    }
    guard time.isStorable, expires.map({ $0 > time && $0.isStorable }) ?? true else {
      throw StoreError(.invalidArgument, "a release can't expire before it's made")
    }
    return try writing { transaction throws(StoreError) in
      guard try transaction.anchor() == state else {
        throw StoreError(.misuse, "the store was changed while it was verified", hint: "make the release again")
      }
      let table = ReleaseTable(transaction.database)
      let last = try transaction.hasReleases ? try ReleaseChain(table).releases.last : nil
      if let last {
        let isAllowed =
          if let next = last.release.next { next == key.publisher } else { try last.isSigned(by: key.publisher) }
        guard isAllowed else {
          throw StoreError(
            .invalidArgument, "release \(last.release.number) doesn't allow this signing key for the next release",
            hint: last.release.next == nil
              ? "sign with the key of the last release, and name the new publisher with it"
              : "sign with the key of the publisher that the release names as the next one")
        }
        guard time > last.release.time else {
          throw StoreError(
            .invalidArgument, "release \(last.release.number) was made at \(last.release.time), which isn't earlier",
            hint: "set the clock")
        }
        guard last.release.number < min(Release.numbers.upperBound, Int64(ReleaseTable.maximumCount)) else {
          throw StoreError(.noNumberLeft, "the store has reached its last release")
        }
      }
      let contents = try ContentWalk.contents(of: transaction, progress: progress)
      if let ambiguity = contents.ambiguity {
        throw StoreError(
          .invalidArgument, "\(ambiguity), so the store can't be released as it is",
          hint: "give them different keys, names or parents")
      }
      let release = Release(
        number: (last?.release.number ?? 0) + 1, time: time, expires: expires, contents,
        dataSet: try transaction.dataSet(), previous: try last?.digest(), next: next == key.publisher ? nil : next)
      try transaction.writer.willWrite()
      let signed = SignedRelease(release: release, note: try key.sign(release.text))
      let secret = try ReleaseSecret(for: transaction).seal(transaction.keys.session, of: try signed.digest())
      try table.put(signed.note.description, number: release.number, private: secret)
      transaction.hasReleasesAfter = true
      try transaction.commit()
      log.info("made release \(release.number) of \(release.documents) documents")
      return release
    }
  }

  /// Requires the store to be the newest release of a publisher, and limits the session to its rows.
  ///
  /// - Throws: `notAsReleased`.
  func proveRelease(_ transaction: StoreTransaction, by publisher: Publisher) throws(StoreError) -> ProvedRelease {
    guard publisher.isTest == transaction.keys.session.header.isTest else {
      throw StoreError(
        .testKeyRefused,
        publisher.isTest
          ? "a test publisher signs only releases of TEST stores" : "the releases of a TEST store have a test publisher"
      )
    }
    guard try transaction.hasReleases else { throw .notAsReleased("the store has no release") }
    let release = try ReleaseChain(ReleaseTable(transaction.database)).newest(by: publisher)
    guard let memory = options.proofFile.map({ ProofMemory(path: $0.path) }) else {
      let contents = try ContentWalk.contents(of: transaction)
      try release.require(contents, in: transaction)
      return ProvedRelease(release: release, rows: contents.rows)
    }
    // The anchor names the store and its state, and the set hash in the state covers all rows.
    let subject = Array("\(publisher.line)\n\(try transaction.anchor())\n\(release.text)".utf8)
    if let rows = try memory.rows(of: subject) { return ProvedRelease(release: release, rows: rows) }
    let contents = try ContentWalk.contents(of: transaction)
    try release.require(contents, in: transaction)
    try memory.remember(contents.rows, of: subject)
    return ProvedRelease(release: release, rows: contents.rows)
  }

  /// Returns a file's releases, without a key and without verification.
  package static func releases(at path: String, wait: Duration?) throws(StoreError) -> [Release] {
    try StoreFile.reading(path, wait) { file throws(StoreError) in
      guard try file.readHeader().0.compatible & ReleaseTable.feature != 0 else { return [] }
      return try ReleaseChain(ReleaseTable(file.database)).releases.map(\.release)
    }
  }

  /// The release that the store was opened as, or `nil` without a publisher.
  package var release: Release? { session.proved?.release }
}

/// The release that a session was opened as.
struct ProvedRelease: Sendable {
  let release: Release
  let rows: RowProof
}

extension Release {
  /// Returns the data set's identity for stores with a family key (FORMAT, "Releases").
  package static func dataSet(of family: Secret) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      let identity = try hkdf(family, salt: [], info: Array("coffer3/data-set".utf8), byteCount: 16)
      return identity.withUnsafeBytes { Array($0) }
    }
  }

  /// Requires contents to match this release.
  ///
  /// - Throws: `notAsReleased`.
  func require(_ contents: ContentWalk.Contents, in transaction: StoreTransaction) throws(StoreError) {
    guard try dataSet == transaction.dataSet(), contents.documents == documents, contents.collections == collections,
      contents.digest == content
    else { throw .notAsReleased("the documents aren't those of release \(number)") }
    if let ambiguity = contents.ambiguity { throw .notAsReleased(ambiguity) }
  }
}

extension StoreTransaction {
  /// A Boolean value that indicates whether the store has releases, including a release from this transaction.
  package var hasReleases: Bool {
    get throws(StoreError) {
      if hasReleasesAfter == true { return true }
      guard keys.session.header.compatible & ReleaseTable.feature != 0 else { return false }
      return try ReleaseTable(database).exists()
    }
  }

  /// Returns the content hash, which stores with equal contents and one family key have in common.
  ///
  /// - Throws: `damaged`, or `otherFormat` for a row of a later version.
  package func contentHash() throws(StoreError) -> [UInt8] { try ContentWalk.contents(of: self).digest }

  /// Copies the releases of the original of this new editable copy.
  package func takeReleases(of original: StoreTransaction) throws(StoreError) {
    guard try original.hasReleases else { return }
    for (number, note) in try ReleaseTable(original.database).notes() {
      try ReleaseTable(database).put(note, number: number)
    }
    try writer.willWrite()
    hasReleasesAfter = true
  }
}
