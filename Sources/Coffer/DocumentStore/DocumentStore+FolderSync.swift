public import CofferCopies
public import CofferEngine
public import CofferFoundation
public import CofferSync

// MARK: - Syncing through a folder

extension DocumentStore {
  /// Begins to sync this store through a folder, which doesn't exist yet or is empty.
  ///
  /// ```swift
  /// let folder = SyncFolder(at: URL(filePath: "/home/eva/Sync/notes"))
  /// try store.startSyncing(by: folder, keys: [.passphrase { try ask() }], label: "laptop")
  /// try store.exchange(with: folder)
  /// ```
  ///
  /// The folder gets an invitation, an empty store by which other devices join. The store itself never lies in the
  /// folder.
  ///
  /// - Parameters:
  ///   - folder: The folder, which something carries to the other devices.
  ///   - keys: The keys that open the invitation.
  ///   - recipients: The recipients whose identities open it.
  ///   - label: What people call this device, up to 64 bytes. Other devices see it.
  /// - Returns: The invitation. Compare its pin on a device that joins with an identity, because whoever knows the
  ///   recipient can make an invitation for it.
  /// - Throws: `alreadyExists` if the folder isn't empty. `invalidArgument` if the store syncs already. `keyNeeded`
  ///   without a key or recipient. `tooLarge`, `readOnly`, `diskFull` or `ioFailure`. The store doesn't sync then.
  @discardableResult
  public func startSyncing(
    by folder: SyncFolder, keys: [StoreKey], recipients: [Recipient] = [], label: String
  ) throws -> SyncInvitation {
    let (path, pin) = try engine.connections.during {
      try SyncSetup.begin(
        engine, in: SystemDirectory(folder.url.path), slots: NewSlot.slots(for: keys, recipients), label: label)
    }
    return SyncInvitation(url: URL(filePath: path), pin: pin)
  }

  /// Makes a store with the documents of a folder, which syncs by it from then on.
  ///
  /// The store is a replica of its own, and gives new documents IDs of a range of its own. It has the newest snapshot of
  /// the folder and everything after it.
  ///
  /// - Parameters:
  ///   - folder: The folder with the other devices' files.
  ///   - url: The new store's file.
  ///   - key: The key that opens the folder's invitation.
  ///   - pin: The invitation's pin, from ``startSyncing(by:keys:recipients:label:)`` on the other device, or `nil` to
  ///     accept any invitation that the key opens.
  ///   - keys: The new store's keys.
  ///   - recipients: The new store's recipients.
  ///   - label: What people call this device, up to 64 bytes.
  ///   - options: The new store's options, of which `creation` determines the journal. Titles and padding are as in the
  ///     store that began.
  ///   - progress: Called with the number of merged documents. Throwing from it leaves no file.
  /// - Throws: `noSuchFile` if the folder has no invitation or no snapshot. `cannotUnlock` or `pinMismatch` for the
  ///   invitation. `alreadyExists` if there is a file at `url`. `damaged`, `diskFull` or `ioFailure`. No store is left
  ///   then.
  @discardableResult
  public static func join(
    _ folder: SyncFolder, at url: URL, key: StoreKey, pin: StorePin? = nil, keys: [StoreKey],
    recipients: [Recipient] = [], label: String, options: OpenOptions = OpenOptions(), progress: ProgressHandler? = nil
  ) throws -> FolderSyncReport {
    try SyncSetup.join(
      SystemDirectory(folder.url.path), at: url.path, key: key, pin: pin,
      slots: NewSlot.slots(for: keys, recipients), label: label, journal: options.creation.journal, options: options,
      progress: progress)
  }

  /// Takes what other devices published into the folder, and publishes this store's changes.
  ///
  /// Concurrent changes are merged by the policy. With ``MergePolicy/both``, nothing is asked and nothing is lost: of two
  /// texts, the later one stays and the other becomes a document beside it, the same one on every device. An edited
  /// document isn't deleted.
  ///
  /// Each file of another device is taken in one transaction. A run that fails or is killed is continued by the next
  /// one. Costs a look at the folder's names if there is nothing to do.
  ///
  /// - Parameters:
  ///   - folder: The folder that the store syncs by.
  ///   - policy: How to merge concurrent changes.
  ///   - acceptsEmpty: Whether to publish the store again into a folder that has none of the known files.
  ///   - progress: Called during work on documents. Throwing from it ends the run.
  /// - Throws: `invalidArgument` if the store doesn't sync. `noSuchFile` if the folder is gone or empty. `locked` if another
  ///   process syncs the store. `otherFormat` if another device made a migration that this one hasn't. `diskFull`,
  ///   `readOnly` or `ioFailure` of the folder. Errors of `policy` and `progress`. What was taken before stays.
  public func exchange(
    with folder: SyncFolder, policy: MergePolicy = .both, acceptingEmptyFolder acceptsEmpty: Bool = false,
    progress: ProgressHandler? = nil
  ) throws -> FolderSyncReport {
    try engine.connections.during {
      let session = try SyncSession(
        engine, with: SystemDirectory(folder.url.path), policy: policy, progress: progress)
      if !acceptsEmpty { try session.requireFiles() }
      return try session.run()
    }
  }

  /// Makes another invitation to a folder, for other keys, or if the folder lost the invitation.
  ///
  /// The invitation replaces an earlier one of this device. Whoever has a copy of that can still join with its keys.
  ///
  /// - Parameters:
  ///   - folder: The folder that the store syncs through.
  ///   - keys: The keys that open the invitation.
  ///   - recipients: The recipients whose identities open it.
  /// - Returns: The invitation, whose pin a device compares when it joins.
  /// - Throws: `invalidArgument` if the store doesn't sync, or if this device was removed. `noSuchFile` if the folder is gone
  ///   or lost its files. `keyNeeded` without a key or recipient. `readOnly`, `diskFull` or `ioFailure`.
  public func makeInvitation(
    to folder: SyncFolder, keys: [StoreKey], recipients: [Recipient] = []
  ) throws -> SyncInvitation {
    let (path, pin) = try engine.connections.during {
      try SyncSetup.invite(
        engine, to: SystemDirectory(folder.url.path), slots: NewSlot.slots(for: keys, recipients))
    }
    return SyncInvitation(url: URL(filePath: path), pin: pin)
  }

  /// Removes a device from a folder, which begins again with a secret that the device doesn't get.
  ///
  /// The other devices go on with their next exchange. The removed device keeps the documents that it has, and can read
  /// the files that were in the folder until now. What it publishes later is never taken, and
  /// ``syncStatus(of:)`` reports it. Devices that haven't seen the removal yet still take its files. If two devices remove
  /// others at the same time, the rest neither take nor publish anything until only one of both files with the folder's new
  /// secret is left, because the removed device can make such a file, too.
  ///
  /// - Parameters:
  ///   - device: The device, from ``syncStatus(of:)``.
  ///   - folder: The folder that the store syncs by.
  ///   - keys: The keys that open the new invitation. Don't give a key that the removed device has, because it could join
  ///     again with it.
  ///   - recipients: The recipients whose identities open it.
  ///   - progress: Called during work on documents. Throwing from it ends the run.
  /// - Returns: The new invitation, and what the exchange did.
  /// - Throws: `invalidArgument` if the folder has no such device, and the errors of
  ///   ``exchange(with:policy:acceptingEmptyFolder:progress:)``.
  public func removeDevice(
    _ device: SyncDevice.ID, from folder: SyncFolder, keys: [StoreKey], recipients: [Recipient] = [],
    progress: ProgressHandler? = nil
  ) throws -> (invitation: SyncInvitation, report: FolderSyncReport) {
    let (path, pin, report) = try engine.connections.during {
      try SyncSetup.remove(
        device, from: SystemDirectory(folder.url.path), engine, slots: NewSlot.slots(for: keys, recipients),
        progress: progress)
    }
    return (SyncInvitation(url: URL(filePath: path), pin: pin), report)
  }

  /// Syncs through a folder as long as the sequence is iterated.
  ///
  /// ```swift
  /// for try await report in store.sync(with: folder) { show(report) }
  /// ```
  ///
  /// - Parameters:
  ///   - folder: The folder that the store syncs by.
  ///   - policy: How to merge concurrent changes.
  ///   - interval: The time between two looks at the folder.
  /// - Returns: The reports of all exchanges that changed something or found other problems than the one before, after
  ///   the report of the first one.
  public func sync(
    with folder: SyncFolder, policy: MergePolicy = .both, every interval: Duration = .seconds(5)
  ) -> FolderSyncReports {
    FolderSyncReports(store: self, folder: folder, policy: policy, interval: interval)
  }

  /// Returns the devices of the folder that the store syncs by, and its problems, without changing anything.
  ///
  /// Reads the beginnings of files only: damage behind them is found by the exchange that takes the file.
  ///
  /// - Throws: `invalidArgument` if the store doesn't sync. `noSuchFile` if the folder is gone or empty. `ioFailure`.
  public func syncStatus(of folder: SyncFolder) throws(StoreError) -> FolderSyncStatus {
    let session = try SyncSession(engine, with: SystemDirectory(folder.url.path))
    try session.requireFiles()
    return try session.status()
  }

  /// Makes the store forget its folder. The folder's files and the other devices stay as they are.
  ///
  /// - Throws: `readOnly`, or errors of the commit.
  public func stopSyncing() throws(StoreError) {
    try SyncSetup.end(engine)
  }
}

/// A folder through which stores on several devices sync. Anything can carry it from place to place.
public struct SyncFolder: Sendable, Hashable {
  /// The folder's URL.
  public let url: URL

  /// Creates a value for a folder without reading it.
  public init(at url: URL) {
    self.url = url
  }
}

/// An empty store in a folder, by which other devices join.
public struct SyncInvitation: Sendable, Hashable {
  /// The file in the folder.
  public let url: URL
  /// The pin to compare on a device that joins.
  public let pin: StorePin
}

/// The reports of a store's sync through a folder. See ``DocumentStore/sync(with:policy:every:)``.
public struct FolderSyncReports: AsyncSequence, Sendable {
  let store: DocumentStore
  let folder: SyncFolder
  let policy: MergePolicy
  let interval: Duration

  /// Returns an iterator, which begins with an exchange.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reports: self) }

  /// An iterator over the reports.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let reports: FolderSyncReports
    private var last: FolderSyncReport?

    init(reports: FolderSyncReports) {
      self.reports = reports
    }

    /// Exchanges until there is something to report.
    ///
    /// - Throws: Errors of ``DocumentStore/exchange(with:policy:acceptingEmptyFolder:progress:)``, or `CancellationError`.
    public mutating func next() async throws -> FolderSyncReport? {
      while true {
        if last != nil { try await Task.sleep(for: reports.interval) }
        let (folder, policy) = (reports.folder, reports.policy)
        let report: FolderSyncReport
        do {
          report = try await reports.store.perform { try $0.exchange(with: folder, policy: policy) }
        } catch let error as StoreError where error.code == .suspended && last != nil {
          continue
        }
        let isNew =
          last.map { last in
            !report.taken.isEmpty || report.publishedBytes > 0 || report.isNewDevice
              || report.problems != last.problems
          } ?? true
        last = report
        if isNew { return report }
      }
    }
  }
}
