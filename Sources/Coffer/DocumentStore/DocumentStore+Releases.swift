public import CofferCopies
public import CofferDocuments
public import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import CofferSealing

// MARK: - Releases

extension DocumentStore {
  /// Verifies the store in full, and signs its contents as its next release.
  ///
  /// Whoever opens a copy of the store with ``OpenOptions/publisher`` then knows that these are the documents that the
  /// owner of the signing key released, whatever keys and IDs the copy has. Editing the store doesn't change its
  /// releases; it's no longer as released until the next one.
  ///
  /// - Parameters:
  ///   - key: The signing key.
  ///   - time: The time of the release, which is after the previous release.
  ///   - expires: The time after which readers should expect a newer release, or `nil`.
  ///   - next: The publisher of the following releases if the signing key changes.
  ///   - progress: Called after each batch. Throwing from it leaves the store unchanged.
  /// - Throws: The error of ``Verdict/error`` if the store isn't sound. `invalidArgument` for another key than readers
  ///   expect, a time that isn't later, or documents of which two copies could read differently. `testKeyRefused` for a
  ///   test key of a store that isn't a TEST store. `misuse` if the store changes meanwhile.
  @discardableResult
  public func makeRelease(
    signedBy key: SigningKey, at time: Timestamp = Timestamp(Date()), expires: Timestamp? = nil,
    next: Publisher? = nil, progress: ProgressHandler? = nil
  ) throws(StoreError) -> Release {
    let verdict = try verify(.full, progress: progress)
    if let error = verdict.error { throw error }
    guard let state = verdict.verifiedState else { preconditionFailure("internal error: a sound store has a state") }
    return try engine.addRelease(of: state, signedBy: key, at: time, expires: expires, next: next, progress: progress)
  }

  /// Writes the files that lead to this store's newest release to a folder for static hosting.
  ///
  /// The folder has a file with all documents, and files with what changed from one release to the next. They're sealed
  /// under a key of the release, which a small file for each customer wraps. To revoke a customer, leave the customer out.
  /// The signed index is written last, and files that no reader needs are removed.
  ///
  /// - Parameters:
  ///   - url: The folder, which is made if it's missing.
  ///   - customers: Who may read the release.
  ///   - key: The key that signed the newest release.
  ///   - progress: Called for the documents. Throwing from it leaves the folder with its earlier release.
  /// - Throws: `notAsReleased` if the store was edited after its release. `invalidArgument` for another key than the one
  ///   that signed it, a release that another store made, or a folder of releases that this store lacks. `alreadyExists`
  ///   for a folder with other files. `locked` while another program publishes to the folder.
  @discardableResult
  public func publishRelease(
    to url: URL, for customers: [ReleaseCustomer], signedBy key: SigningKey, progress: ProgressHandler? = nil
  ) throws -> PublicationReport {
    try engine.publishRelease(to: url.path, for: customers, signedBy: key, progress: progress)
  }

  /// Returns the files that an update from a folder would read, in their order, and proves the index.
  ///
  /// - Parameter source: The folder, and whose releases it has.
  /// - Throws: Like ``update(from:policy:progress:)``.
  public func planUpdate(from source: ReleaseSource) throws(StoreError) -> UpdatePlan {
    try engine.planUpdate(from: source)
  }

  /// Updates this copy of a release to the newest release of a folder.
  ///
  /// Takes the files with the fewest bytes that lead there, each in one transaction, so an update that was stopped goes on
  /// at the release that it reached. Nothing in a file is read before its signature and its SHA-256 are proved. Merges as
  /// `merge(_:base:policy:options:progress:)` does, so documents that the copy's user edited keep the edits.
  ///
  /// - Parameters:
  ///   - source: The folder, and whose releases it has.
  ///   - policy: Resolves conflicts with edits in this copy.
  ///   - progress: Called for the documents. Throwing from it undoes the file that is being merged.
  /// - Throws: `notAsReleased` if the folder isn't the publisher's, or a file was changed. `rolledBack` for an older or
  ///   expired release. `keyNeeded` without a key file for the customer, or `cannotUnlock` for another customer's.
  ///   `noSuchFile` for a missing file. The store has the last release that it reached then.
  @discardableResult
  public func update(
    from source: ReleaseSource, policy: MergePolicy = .mine, progress: ProgressHandler? = nil
  ) throws -> UpdateReport {
    try engine.update(from: source, policy, progress: progress)
  }

  /// Returns the files that making a store from a folder would read, in their order, and proves the index.
  ///
  /// - Parameter source: The folder, and whose releases it has.
  /// - Throws: Like ``update(from:policy:progress:)``.
  public static func planStore(from source: ReleaseSource) throws(StoreError) -> UpdatePlan {
    try StoreEngine.planStore(from: source)
  }

  /// Makes an editable copy of the newest release of a folder.
  ///
  /// - Parameters:
  ///   - url: The new store.
  ///   - source: The folder, and whose releases it has.
  ///   - keys: The new store's keys.
  ///   - recipients: The new store's recipients.
  ///   - options: The options of the new store, which is closed afterwards.
  ///   - progress: Called for the documents. Throwing from it leaves no file.
  /// - Throws: Like ``update(from:policy:progress:)``, and `alreadyExists`. No file is left then.
  @discardableResult
  public static func create(
    at url: URL, from source: ReleaseSource, keys: [StoreKey], recipients: [Recipient] = [],
    options: OpenOptions = OpenOptions(), progress: ProgressHandler? = nil
  ) throws -> UpdateReport {
    try StoreEngine.make(
      at: url.path, from: source, slots: NewSlot.slots(for: keys, recipients), options: options,
      progress: progress)
  }

  /// Returns what this copy's user changed since the release that the copy is based on, and proves that release.
  ///
  /// Makes the release from the folder in a temporary store of its own, requires its contents to be those that the
  /// publisher signed, and compares the copy with them. This takes as long as making the copy again, and as much room in
  /// `TMPDIR`. The temporary store is sealed under a key that nobody has, and is gone afterwards.
  ///
  /// - Parameters:
  ///   - source: A folder with the copy's release as its newest one, and with the files to make it.
  ///   - progress: Called for the documents, first of the release and then of the comparison.
  /// - Returns: The documents that differ from the release to this copy. It's empty if nobody edited the copy.
  /// - Throws: Like ``update(from:policy:progress:)``, and `invalidArgument` if the copy doesn't have the folder's
  ///   newest release.
  public func changes(
    sinceReleaseOf source: ReleaseSource, progress: ProgressHandler? = nil
  ) throws -> StoreDifferences {
    try engine.connections.during {
      try engine.requireNewestRelease(of: source)
      let folder = try PrivateFolder()
      let line = try StoreKey.generateLine(isTest: source.publisher.isTest)
      let key = StoreKey.keyLine { line }
      defer { key.forget() }
      let url = URL(filePath: folder.path(of: "release.coffer"))
      var options = OpenOptions()
      options.allowsTestKeys = engine.options.allowsTestKeys
      try Self.create(at: url, from: source, keys: [key], options: options, progress: progress)
      options.publisher = source.publisher
      let released = try Self.open(at: url, key: key, options: options)
      let differences = try released.differences(to: self, progress: progress)
      try released.close()
      return differences
    }
  }

  /// The release that the store was opened as, or `nil` without ``OpenOptions/publisher``.
  public var release: Release? { engine.release }

  /// Returns the releases of the store at `url`, without a key and without checking signatures.
  ///
  /// - Throws: Like ``info(at:wait:)``. `damaged` for a release that isn't one.
  public static func releases(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> [Release] {
    try StoreEngine.releases(at: url.path, wait: wait)
  }
}

extension ReleaseSource {
  /// Names a folder, and how a customer reads it.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - publisher: Who signs the releases.
  ///   - customer: The customer's name in the publisher's list.
  ///   - key: The identity of the customer's recipient.
  ///   - time: The present time, with which the expiry of a release is compared.
  ///   - allowsOlder: Whether to accept releases that are older than a store's, which change nothing, and expired ones.
  public init(
    at url: URL, by publisher: Publisher, as customer: String, key: StoreKey, time: Timestamp = .now(),
    allowsOlder: Bool = false
  ) {
    self.init(url.path, by: publisher, as: customer, key: key, at: time, allowsOlder: allowsOlder)
  }
}
