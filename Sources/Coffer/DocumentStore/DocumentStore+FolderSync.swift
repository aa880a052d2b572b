public import CofferCopies
public import CofferEngine
public import CofferFoundation
public import CofferSync

// MARK: - Syncing through a folder

extension DocumentStore {
  /// Starts syncing this store through a new or empty folder.
  ///
  /// ```swift
  /// let folder = SyncFolder(at: URL(filePath: "/home/eva/Sync/notes"))
  /// try store.startSyncing(by: folder, keys: [.passphrase { try ask() }], label: "laptop")
  /// let report = try store.exchange(with: folder)  // publishes the snapshot that other devices join by
  /// ```
  ///
  /// Adds an invitation to the folder, which is an empty store that other devices use to join. The folder never
  /// contains the store itself.
  ///
  /// - Parameters:
  ///   - folder: The folder, which another program copies to the other devices.
  ///   - keys: The keys that open the invitation.
  ///   - recipients: The recipients whose identities open it.
  ///   - label: The device's name, up to 64 bytes, which other devices display.
  /// - Returns: The invitation. Compare its pin on a device that joins with an identity, because anyone with the public
  ///   recipient can make an invitation for it.
  /// - Throws: `alreadyExists` if the folder isn't empty. `invalidArgument` if the store syncs already. `keyNeeded`
  ///   without a key or recipient. `tooLarge`, `readOnly`, `diskFull` or `ioFailure`. After an error, the store doesn't
  ///   sync.
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

  /// Creates a store with a folder's documents, and starts syncing it through the folder.
  ///
  /// The store contains the folder's newest snapshot and all later changes. It's a separate replica with its own range
  /// of document IDs.
  ///
  /// - Parameters:
  ///   - folder: The folder with the other devices' files.
  ///   - url: The new store's file.
  ///   - key: The key that opens the folder's invitation.
  ///   - pin: The invitation's pin, from ``startSyncing(by:keys:recipients:label:)`` on the other device, or `nil` to
  ///     accept any invitation that the key opens.
  ///   - keys: The new store's keys.
  ///   - recipients: The new store's recipients.
  ///   - label: The device's name, up to 64 bytes.
  ///   - options: The new store's options. `creation` determines the journal. The invitation determines titles and
  ///     padding. Of `migrations`, `join` runs those that the documents already have in the still empty store, and keeps
  ///     only the indexes that they declare. Without `migrations`, the store has no indexes.
  ///   - progress: Called with the number of merged documents. Throw an error to stop and delete the new file.
  /// - Throws: `noSuchFile` if the folder doesn't contain an invitation and a snapshot. `cannotUnlock` or `pinMismatch`
  ///   for the invitation. `alreadyExists` if there is a file at `url`. `otherFormat` if the documents have a migration
  ///   that `options` lacks. Errors of migrations. `damaged`, `diskFull` or `ioFailure`. An error deletes the new file.
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

  /// Merges the changes that other devices published in the folder, and publishes this store's changes.
  ///
  /// The policy decides conflicts. ``MergePolicy/both`` keeps the later text, and adds the other text as a new document
  /// with the same content on every device. It also keeps a document that one device edited and another device deleted.
  ///
  /// Merges each file in its own transaction. A file that can't be merged, for example because the other device's app
  /// has a newer migration, is a ``FolderSyncReport/Problem/Kind/refused`` problem. The exchange continues with the
  /// other files, and the next exchange tries the file again. After an error or a kill, the next exchange continues.
  /// Without changes or such problems, an exchange only lists the folder.
  ///
  /// - Parameters:
  ///   - folder: The folder that the store syncs through.
  ///   - policy: The policy for concurrent changes.
  ///   - acceptsEmpty: A Boolean value that indicates whether to republish the store because the folder lost files,
  ///     such as all known files or the only snapshot.
  ///   - progress: Called during work on documents. Throw an error to stop.
  /// - Throws: `invalidArgument` if the store doesn't sync. `noSuchFile` if the folder is missing or empty. `locked` if
  ///   another process syncs the store. `diskFull`, `readOnly` or `ioFailure` for the folder. Errors from `policy` and
  ///   `progress`. Files merged before the error remain merged.
  public func exchange(
    with folder: SyncFolder, policy: MergePolicy = .both, acceptingEmptyFolder acceptsEmpty: Bool = false,
    progress: ProgressHandler? = nil
  ) throws -> FolderSyncReport {
    try engine.connections.during {
      let session = try SyncSession(
        engine, with: SystemDirectory(folder.url.path), policy: policy, progress: progress)
      if acceptsEmpty { session.isFolderBehind = true } else { try session.requireFiles() }
      return try session.run()
    }
  }

  /// Creates a new invitation to a folder, for example to change its keys or replace a lost file.
  ///
  /// Replaces this device's earlier invitation. Anyone with a copy of the earlier invitation can still join with its
  /// keys.
  ///
  /// - Parameters:
  ///   - folder: The folder that the store syncs through.
  ///   - keys: The keys that open the invitation.
  ///   - recipients: The recipients whose identities open it.
  /// - Returns: The invitation. Compare its pin on the device that joins.
  /// - Throws: `invalidArgument` if the store doesn't sync, or if this device was removed. `noSuchFile` if the folder
  ///   is missing or lost its files. `keyNeeded` without a key or recipient. `readOnly`, `diskFull` or `ioFailure`.
  public func makeInvitation(
    to folder: SyncFolder, keys: [StoreKey], recipients: [Recipient] = []
  ) throws -> SyncInvitation {
    let (path, pin) = try engine.connections.during {
      try SyncSetup.invite(
        engine, to: SystemDirectory(folder.url.path), slots: NewSlot.slots(for: keys, recipients))
    }
    return SyncInvitation(url: URL(filePath: path), pin: pin)
  }

  /// Removes a device from a folder, and gives the folder a new secret that the device can't read.
  ///
  /// Compare ``syncStatus(of:)`` with your devices first, because a dishonest device can have added others.
  ///
  /// The other devices continue with their next exchange. The removed device keeps its documents, and can still read
  /// the folder's earlier files. Devices that have received the removal never merge its later files, and
  /// ``syncStatus(of:)`` reports them. If two devices remove others at the same time, the remaining devices stop
  /// merging and publishing until you delete one of the two files with a new secret, because the removed device could
  /// have made one of these files.
  ///
  /// - Parameters:
  ///   - device: The device, from ``syncStatus(of:)``.
  ///   - folder: The folder that the store syncs through.
  ///   - keys: The keys that open the new invitation. Don't reuse a key that the removed device has, because the device
  ///     could use the key to join again.
  ///   - recipients: The recipients whose identities open it.
  ///   - progress: Called during work on documents. Throw an error to stop.
  /// - Returns: The new invitation, and the report of the exchange.
  /// - Throws: `invalidArgument` if the folder doesn't list the device, and the errors of
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

  /// Returns a sequence that syncs through a folder while you iterate it.
  ///
  /// An exchange that fails because another process uses or syncs the store is repeated after the interval.
  ///
  /// ```swift
  /// for try await report in store.sync(with: folder) { show(report) }
  /// ```
  ///
  /// - Parameters:
  ///   - folder: The folder that the store syncs through.
  ///   - policy: The policy for concurrent changes.
  ///   - interval: The time between two exchanges.
  /// - Returns: The report of the first exchange, and then a report of each exchange that changed documents or files,
  ///   or found other problems than the previous exchange.
  public func sync(
    with folder: SyncFolder, policy: MergePolicy = .both, every interval: Duration = .seconds(5)
  ) -> FolderSyncReports {
    FolderSyncReports(store: self, folder: folder, policy: policy, interval: interval)
  }

  /// Returns the devices and problems of a sync folder without changing the store or the folder.
  ///
  /// Reads only the start of each file. An exchange detects damage in the rest of a file.
  ///
  /// - Throws: `invalidArgument` if the store doesn't sync. `noSuchFile` if the folder is missing or empty.
  ///   `ioFailure`.
  public func syncStatus(of folder: SyncFolder) throws(StoreError) -> FolderSyncStatus {
    let session = try SyncSession(engine, with: SystemDirectory(folder.url.path))
    try session.requireFiles()
    return try session.status()
  }

  /// Removes the connection between the store and its folder. Doesn't change the folder's files or other devices.
  ///
  /// - Throws: `readOnly`, or an error while committing.
  public func stopSyncing() throws(StoreError) {
    try SyncSetup.end(engine)
  }
}

/// A folder that several devices use to sync. Any program can copy the folder between devices.
public struct SyncFolder: Sendable, Hashable {
  /// The folder's URL.
  public let url: URL

  /// Creates a value for a folder without reading it.
  public init(at url: URL) {
    self.url = url
  }
}

/// An empty store in a sync folder that lets another device join.
public struct SyncInvitation: Sendable, Hashable {
  /// The file in the folder.
  public let url: URL
  /// The pin to compare on the joining device.
  public let pin: StorePin
}

/// The reports of a store's sync through a folder. See ``DocumentStore/sync(with:policy:every:)``.
public struct FolderSyncReports: AsyncSequence, Sendable {
  let store: DocumentStore
  let folder: SyncFolder
  let policy: MergePolicy
  let interval: Duration

  /// Returns an iterator that starts with an exchange.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reports: self) }

  /// An iterator over the reports.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let reports: FolderSyncReports
    private var last: FolderSyncReport?
    private var isFirst = true

    init(reports: FolderSyncReports) {
      self.reports = reports
    }

    /// Repeats exchanges until there is a report to return.
    ///
    /// - Throws: Errors from ``DocumentStore/exchange(with:policy:acceptingEmptyFolder:progress:)``, or
    ///   `CancellationError`.
    public mutating func next() async throws -> FolderSyncReport? {
      while true {
        if !isFirst { try await Task.sleep(for: reports.interval) }
        isFirst = false
        let (folder, policy) = (reports.folder, reports.policy)
        let report: FolderSyncReport
        do {
          report = try await reports.store.perform(writing: true) { try $0.exchange(with: folder, policy: policy) }
        } catch let error as StoreError where error.code == .locked || error.code == .suspended && last != nil {
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
