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
  /// Opening a copy of the store with ``OpenOptions/publisher`` then proves that the owner of the signing key released
  /// these documents, regardless of the copy's keys and IDs. Editing the store doesn't change its releases, but the
  /// store no longer matches its newest release until you make another release.
  ///
  /// - Parameters:
  ///   - key: The signing key.
  ///   - time: The time of the release. Must be later than the time of the previous release.
  ///   - expires: The time after which readers should expect a newer release, or `nil`.
  ///   - next: The publisher of the following releases if the signing key changes.
  ///   - progress: Called after each batch. Throwing from it leaves the store unchanged.
  /// - Throws: ``Verdict/error`` if the store isn't sound. `invalidArgument` if readers expect another signing key, if
  ///   the time isn't later, if `expires` isn't after `time`, or if two copies of the store could read its contents
  ///   differently. `testKeyRefused` if the signing key or `next` is for tests and the store isn't, or the reverse.
  ///   `misuse` if the store changes during the call.
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
  /// The folder contains a file with all documents, and files with the changes from one release to the next. They're
  /// encrypted with a release key, which is wrapped in a small file for each customer. To revoke a customer, omit the
  /// customer. The method writes the signed index last, and removes unneeded files.
  ///
  /// - Parameters:
  ///   - url: The folder, which is created if it doesn't exist.
  ///   - customers: The customers that can read the release.
  ///   - key: The key that signed the newest release.
  ///   - progress: Called for the documents. Throwing from it leaves the folder with its earlier release.
  /// - Throws: `notAsReleased` if the store doesn't have a release, or if it was edited after the release.
  ///   `invalidArgument` if another key signed the release, if another store made it or this store made it before a
  ///   rekey, if this store lacks the folder's newest release, or if two customers have the same name. `alreadyExists`
  ///   if the folder contains other files. `locked` while another program publishes to the folder.
  @discardableResult
  public func publishRelease(
    to url: URL, for customers: [ReleaseCustomer], signedBy key: SigningKey, progress: ProgressHandler? = nil
  ) throws -> PublicationReport {
    try engine.publishRelease(to: url.path, for: customers, signedBy: key, progress: progress)
  }

  /// Returns the files that an update from a folder would read, in order, and verifies the index.
  ///
  /// - Parameter source: The folder, and the publisher of its releases.
  /// - Throws: Like ``update(from:policy:progress:)``.
  public func planUpdate(from source: ReleaseSource) throws(StoreError) -> UpdatePlan {
    try engine.planUpdate(from: source)
  }

  /// Updates this release copy to the newest release in a folder.
  ///
  /// Selects the files with the fewest bytes that lead there, and merges each file in a separate transaction. An
  /// interrupted update therefore continues from the last release it reached. The method verifies the index's signature
  /// and a file's SHA-256 before reading the file's contents. It merges like `merge(_:base:policy:options:progress:)`,
  /// so documents that the copy's user edited keep the edits.
  ///
  /// - Parameters:
  ///   - source: The folder, and the publisher of its releases.
  ///   - policy: Resolves conflicts with edits in this copy.
  ///   - progress: Called for the documents. Throwing from it undoes the current file's merge.
  /// - Throws: `notAsReleased` if the folder isn't the publisher's, or if a file was changed. `rolledBack` if the
  ///   folder's newest release is older than the copy's release, or expired. `keyNeeded` if the customer doesn't have a
  ///   key file, or `cannotUnlock` if the key file is for another customer. `noSuchFile` if a file is missing. After an
  ///   error, the store has the last release that it reached.
  @discardableResult
  public func update(
    from source: ReleaseSource, policy: MergePolicy = .mine, progress: ProgressHandler? = nil
  ) throws -> UpdateReport {
    try engine.update(from: source, policy, progress: progress)
  }

  /// Returns the files that creating a store from a folder would read, in order, and verifies the index.
  ///
  /// - Parameter source: The folder, and the publisher of its releases.
  /// - Throws: Like ``update(from:policy:progress:)``.
  public static func planStore(from source: ReleaseSource) throws(StoreError) -> UpdatePlan {
    try StoreEngine.planStore(from: source)
  }

  /// Creates an editable copy of a folder's newest release.
  ///
  /// - Parameters:
  ///   - url: The new store.
  ///   - source: The folder, and the publisher of its releases.
  ///   - keys: The new store's keys.
  ///   - recipients: The new store's recipients.
  ///   - options: The options for the new store, which the method closes before it returns.
  ///   - progress: Called for the documents. Throwing from it cancels the creation without leaving a file.
  /// - Throws: Like ``update(from:policy:progress:)``, and `alreadyExists`. The method doesn't leave a new file after
  ///   an error.
  @discardableResult
  public static func create(
    at url: URL, from source: ReleaseSource, keys: [StoreKey], recipients: [Recipient] = [],
    options: OpenOptions = OpenOptions(), progress: ProgressHandler? = nil
  ) throws -> UpdateReport {
    try StoreEngine.make(
      at: url.path, from: source, slots: NewSlot.slots(for: keys, recipients), options: options,
      progress: progress)
  }

  /// Returns the changes by this copy's user since the copy's release, and verifies that release.
  ///
  /// Creates the release from the folder in a temporary store, requires its contents to match the publisher's
  /// signature, and compares the copy with them. This takes as much time as creating the copy, and as much space in
  /// `TMPDIR`. The temporary store is encrypted with a random key that only exists during the call, and is deleted
  /// afterward.
  ///
  /// - Parameters:
  ///   - source: A folder whose newest release is the copy's release, with the files to create it.
  ///   - progress: Called for the documents, first of the release and then of the comparison.
  /// - Returns: The differences from the release to this copy. It's empty if the copy wasn't edited.
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

  /// Returns the releases of the store at `url`, without a key and without verifying signatures.
  ///
  /// - Throws: Like ``info(at:wait:)``. `damaged` if a release is invalid.
  public static func releases(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> [Release] {
    try StoreEngine.releases(at: url.path, wait: wait)
  }
}

extension ReleaseSource {
  /// Creates a source from a folder, and a customer's access to it.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - publisher: The publisher that signs the releases.
  ///   - customer: The customer's name in the publisher's list.
  ///   - key: The identity of the customer's recipient.
  ///   - time: The current time, to compare with a release's expiry.
  ///   - allowsOlder: A Boolean value that indicates whether to accept expired releases, and releases older than a
  ///     store's release. Older releases don't change the store.
  public init(
    at url: URL, by publisher: Publisher, as customer: String, key: StoreKey, time: Timestamp = .now(),
    allowsOlder: Bool = false
  ) {
    self.init(url.path, by: publisher, as: customer, key: key, at: time, allowsOlder: allowsOlder)
  }
}
