internal import CofferCopies
package import CofferDocuments
package import CofferEngine
package import CofferRecords
package import CofferSealing

/// The functions that begin, join and end syncing through a folder.
package enum SyncSetup {
  /// The invitation's file name. Other devices join through the invitation, which is an empty store that shares the
  /// family key, in the subfolder of the device that created it.
  static let invitationName = "join.coffer"

  // MARK: Beginning

  /// Begins syncing a store through a folder that doesn't exist or is empty.
  ///
  /// - Parameters:
  ///   - slots: The keys that open the invitation, which other devices use to join.
  ///   - label: This device's name, as people call it.
  /// - Returns: The invitation's path and pin.
  /// - Throws: `alreadyExists` if the folder isn't empty, `invalidArgument` if the store already syncs, or `tooLarge`
  ///   if the label is too long.
  package static func begin(
    _ engine: StoreEngine, in directory: SystemDirectory, slots: [NewSlot], label: String
  ) throws -> (path: String, pin: StorePin) {
    try check(label)
    try requireNoFolder(engine)
    try directory.requireEmpty()
    let slots = try asked(slots, for: engine, directory)
    try directory.make()
    let memory = try begin(engine, label: label)
    do {
      return try invite(engine, to: directory, memory, slots)
    } catch {
      Cancellation.ignoring { try? end(engine) }
      throw error
    }
  }

  /// Asks for the invitation's keys. Call this function before changing the store or the folder.
  private static func asked(
    _ slots: [NewSlot], for engine: StoreEngine, _ directory: SystemDirectory
  ) throws(StoreError) -> [NewSlot] {
    try StoreMaker(
      path: directory.path + "/" + invitationName, creation: engine.creationOptions, wait: engine.options.wait,
      replacesExisting: true
    ).asked(slots, allowsTestKeys: engine.options.allowsTestKeys)
  }

  /// Creates another invitation, for example if the folder lost it.
  ///
  /// - Throws: `invalidArgument` if the store doesn't sync, or if this device was removed.
  package static func invite(
    _ engine: StoreEngine, to directory: SystemDirectory, slots: [NewSlot]
  ) throws -> (path: String, pin: StorePin) {
    let session = try SyncSession(engine, with: directory)
    try session.requireFiles()
    guard !session.memory.own.isRemoved else {
      throw StoreError(.invalidArgument, "\(directory.path): this device was removed from the folder")
    }
    return try invite(engine, to: directory, session.memory, try asked(slots, for: engine, directory))
  }

  /// Creates an invitation in this device's subfolder.
  ///
  /// - Parameter slots: The keys, which have already been asked for.
  private static func invite(
    _ engine: StoreEngine, to directory: SystemDirectory, _ memory: SyncMemory, _ slots: [NewSlot]
  ) throws -> (path: String, pin: StorePin) {
    let (keys, family, replicas, counter) = try engine.reading { transaction throws(StoreError) in
      let family = transaction.keys.session.keyring.family
      return (
        try SyncKeys(family: family, folder: memory.folder, secret: memory.secret), family,
        try transaction.replicas.withoutCommits, transaction.start.counter
      )
    }
    let subfolder = try keys.subfolder(of: memory.device)
    let path = try directory.makeSubfolder(subfolder) + "/" + invitationName
    let maker = StoreMaker(
      path: path, creation: engine.creationOptions, wait: engine.options.wait, replacesExisting: true,
      heritage: StoreHeritage(family: family, replicas: replicas, counter: counter, hasOwnRange: true))
    do {
      let pin = try maker.make(slots, allowsTestKeys: engine.options.allowsTestKeys, begin: {}) { transaction in
        // Joining devices only need the folder and its secret.
        try transaction.setSyncMemory(
          SyncMemory(folder: memory.folder, secret: memory.secret, device: memory.device, label: "", counter: 0))
        return StorePin(transaction.keys.session.header)
      }
      return (path, pin)
    } catch {
      directory.removeIfEmpty(subfolder)
      throw error
    }
  }

  /// Adds the memory of a new folder to a store.
  package static func begin(_ engine: StoreEngine, label: String) throws(StoreError) -> SyncMemory {
    try check(label)
    try requireNoFolder(engine)
    let folder = try translatingErrors { () throws(SealingError) in try UniqueID.random() }
    return try engine.writing { transaction throws(StoreError) in
      _ = try transaction.writer.upcomingDot()
      let memory = try SyncMemory(
        folder: folder, secret: nil, device: try transaction.replicas.ownReplica.identity, label: label,
        counter: try transaction.writer.dot.counter)
      try transaction.setSyncMemory(memory)
      try transaction.commit()
      return memory
    }
  }

  private static func requireNoFolder(_ engine: StoreEngine) throws(StoreError) {
    let memory = try engine.reading { transaction throws(StoreError) in try transaction.syncMemory() }
    guard memory == nil else {
      throw StoreError(
        .invalidArgument, "\(engine.path): the store syncs by a folder already",
        hint: "sync with it and invite devices with \(.syncInvite), or end it with \(.syncLeave) for another folder")
    }
  }

  private static func check(_ label: String) throws(StoreError) {
    guard SyncMemory.labels.contains(label.utf8.count) else {
      throw StoreError(.tooLarge, "the name of a device has at most \(SyncMemory.labels.upperBound) bytes")
    }
  }

  // MARK: Joining

  /// Creates a store with a folder's documents, and begins syncing the store through the folder.
  ///
  /// - Parameters:
  ///   - path: The path of the new store.
  ///   - key: The key that opens the invitation.
  ///   - pin: The invitation's pin, or `nil` to accept any pin that the key opens.
  ///   - slots: The new store's keys.
  /// - Throws: `noSuchFile` if the invitation or the snapshot is missing, `notAStore` if the invitation doesn't contain
  ///   a folder, or an error from opening them.
  package static func join(
    _ directory: SystemDirectory, at path: String, key: StoreKey, pin: StorePin?, slots: [NewSlot], label: String,
    journal: CreateOptions.Journal, options: OpenOptions, progress: ProgressHandler?
  ) throws -> FolderSyncReport {
    try check(label)
    var opening = options
    opening.isReadOnly = true
    opening.pin = pin
    opening.migrations = nil
    let invitation = try StoreEngine(at: try directory.invitation(), key: key, options: opening)
    defer { try? invitation.connections.close() }
    let (family, memory) = try invitation.reading { transaction throws(StoreError) in
      (transaction.keys.session.keyring.family, try transaction.syncMemory())
    }
    guard let memory else {
      throw StoreError(.notAStore, "\(invitation.path): the store invites to no folder")
    }
    var creation = invitation.creationOptions
    creation.journal = journal
    return try join(
      directory, Invitation(family: family, memory, creation: creation), at: path, slots: slots,
      label: label, options: options, progress: progress)
  }

  /// The data that a device needs to join a folder.
  package struct Invitation {
    let family: Secret
    let folder: UniqueID
    let secret: [UInt8]
    let creation: CreateOptions

    package init(family: Secret, _ memory: SyncMemory, creation: CreateOptions) {
      (self.family, self.creation, folder, secret) = (family, creation, memory.folder, memory.secret)
    }
  }

  /// Creates a store with a folder's documents.
  package static func join(
    _ directory: any SyncDirectory, _ invitation: Invitation, at path: String, slots: [NewSlot], label: String,
    options: OpenOptions, now: @escaping () -> Timestamp = { .now() }, progress: ProgressHandler? = nil
  ) throws -> FolderSyncReport {
    let keys = try SyncKeys(family: invitation.family, folder: invitation.folder, secret: invitation.secret)
    let snapshot = try newestSnapshot(in: directory, keys)
    let preamble = try SyncPreamble(snapshot)
    let changeset = try ChangesetReader(snapshot)
    let replicas = changeset.origin.replicas
    let maker = StoreMaker(
      path: path, creation: invitation.creation, wait: options.wait,
      heritage: StoreHeritage(
        family: invitation.family, replicas: replicas.withoutCommits, counter: replicas.greatestCounter,
        hasOwnRange: true))
    return try maker.make(slots, options: options, allowsTestKeys: options.allowsTestKeys, begin: {}) { engine in
      try engine.writing { transaction throws(StoreError) in
        try transaction.setSyncMemory(
          SyncMemory(
            folder: invitation.folder, secret: invitation.secret, device: try transaction.replicas.ownReplica.identity,
            label: label,
            counter: try transaction.writer.dot.counter))
        try transaction.commit()
      }
      let session = try SyncSession(engine, with: directory, now: now, progress: progress)
      return try session.run(joiningWith: (changeset, preamble, snapshot))
    }.result
  }

  private static func newestSnapshot(in directory: any SyncDirectory, _ keys: SyncKeys) throws(StoreError) -> SyncFile {
    let listing = SyncListing(directory, keys)
    var newest: SyncFile?
    for subfolder in try directory.subfolders() ?? [] where SyncKeys.isSubfolder(subfolder) {
      for name in try listing.names(in: subfolder) ?? [] {
        guard let file = try listing.open(name, in: subfolder, keys), file.header.kind == .snapshot,
          newest.map({ $0.header.date < file.header.date }) ?? true
        else { continue }
        newest = file
      }
    }
    guard let newest else {
      if let file = listing.unreadable.min(by: { $0.key < $1.key }) { throw file.value.error }
      throw StoreError(
        .noSuchFile, "\(directory.path): the folder has no snapshot yet",
        hint: "let the carrier bring a device's files; if they have no snapshot, \(.syncAgain) there publishes one")
    }
    return newest
  }

  // MARK: Removing

  /// Removes a device from a folder, which restarts with a secret that the device doesn't get.
  ///
  /// - Parameters:
  ///   - slots: The keys that open the new invitation. Keys that the removed device has would let it rejoin.
  /// - Returns: The new invitation's path and pin, and the sync report.
  /// - Throws: `invalidArgument` if the device is this device or isn't in the folder, if this device was removed, or if
  ///   the folder already has several new secrets.
  package static func remove(
    _ device: SyncDevice.ID, from directory: SystemDirectory, _ engine: StoreEngine, slots: [NewSlot],
    progress: ProgressHandler? = nil
  ) throws -> (path: String, pin: StorePin, report: FolderSyncReport) {
    let slots = try asked(slots, for: engine, directory)
    let session = try SyncSession(engine, with: directory, progress: progress)
    try session.requireFiles()
    let report = try session.remove(device)
    let (path, pin) = try invite(engine, to: directory, session.memory, slots)
    return (path, pin, report)
  }

  // MARK: Ending

  /// Removes a store's memory of its folder. The folder's files remain.
  package static func end(_ engine: StoreEngine) throws(StoreError) {
    try engine.writing { transaction throws(StoreError) in
      try transaction.setSyncMemory(nil)
      try transaction.commit()
    }
  }
}

extension SystemDirectory {
  /// Requires the folder to be empty if it exists.
  fileprivate func requireEmpty() throws(StoreError) {
    guard try subfolders() == nil || isEmpty else {
      throw StoreError(
        .alreadyExists, "\(path): the folder isn't empty", hint: "name another folder, or join this one")
    }
  }

  /// Returns the path of the newest invitation, because devices that didn't sync recently can have left an older
  /// invitation.
  func invitation() throws(StoreError) -> String {
    var newest: (path: String, date: FileDate)?
    for subfolder in try subfolders() ?? [] where SyncKeys.isSubfolder(subfolder) {
      let path = "\(path)/\(subfolder)/\(SyncSetup.invitationName)"
      guard let date = dateOfReadableFile(path) else { continue }
      if newest.map({ $0.date < date }) ?? true { newest = (path, date) }
    }
    if let newest { return newest.path }
    throw StoreError(
      .noSuchFile, "\(path): the folder has no invitation",
      hint: "make one with \(.syncInvite) on another device, and let the carrier bring it here")
  }
}

extension Replicas {
  /// The greatest counter of all replicas.
  fileprivate var greatestCounter: UInt64 { entries.map(\.counter).max() ?? 0 }
}
