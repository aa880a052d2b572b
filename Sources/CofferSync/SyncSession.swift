package import CofferCopies
package import CofferDocuments
package import CofferEngine
package import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// An exchange between a store and its folder. It takes the changes that other devices published, and then publishes
/// the store's own changes.
///
/// Each step is complete in itself. A commit records the store's own file before the file gets its name in the folder,
/// and the commit that takes another device's file also records the file. A new run can therefore continue after a
/// killed run.
package final class SyncSession {
  let engine: StoreEngine
  let directory: any SyncDirectory
  let now: () -> Timestamp
  let policy: MergePolicy
  let progress: ProgressHandler?
  private(set) var keys: SyncKeys
  private(set) var listing: SyncListing
  let family: Secret
  var memory: SyncMemory
  var report = FolderSyncReport()
  /// The memory in the store.
  var stored: SyncMemory
  private var isMemoryChanged: Bool { memory != stored }
  var hasTaken = false
  /// The files that this run couldn't merge, and whether the reason wasn't a conflict.
  var refused: Set<SyncMemory.File> = []
  var hasRefused = false
  /// Whether the folder lost this device's files, so other devices need a snapshot.
  package var isFolderBehind = false
  /// Whether the folder has several new secrets, so this run doesn't take or publish files.
  var isHeld = false

  /// - Parameters:
  ///   - now: Returns the date for new files, which no decision depends on.
  ///   - policy: How to merge concurrent changes.
  /// - Throws: `invalidArgument` if the store doesn't sync, or `noSuchFile` if the folder is gone.
  package init(
    _ engine: StoreEngine, with directory: any SyncDirectory, policy: MergePolicy = .both,
    now: @escaping () -> Timestamp = { .now() }, progress: ProgressHandler? = nil
  ) throws(StoreError) {
    (self.engine, self.directory, self.policy, self.now, self.progress) = (engine, directory, policy, now, progress)
    let found = try engine.reading { transaction throws(StoreError) in
      (try transaction.syncMemory(), transaction.keys.session.keyring.family)
    }
    guard let memory = found.0 else {
      throw StoreError(
        .invalidArgument, "\(engine.path): the store doesn't sync by any folder",
        hint: "begin with \(.syncInit), or make a store that joins a folder with \(.syncJoin)")
    }
    self.memory = memory
    stored = memory
    family = found.1
    keys = try SyncKeys(family: family, folder: memory.folder, secret: memory.secret)
    listing = SyncListing(directory, keys)
    guard try directory.subfolders() != nil else {
      throw StoreError(
        .noSuchFile, "\(directory.path): the folder is gone",
        hint: "mount it or let the carrier make it again, and sync again")
    }
  }

  /// Switches to the folder's next secret.
  func useNewSecret() throws(StoreError) {
    keys = try SyncKeys(family: family, folder: memory.folder, secret: memory.secret)
    listing = SyncListing(directory, keys)
  }

  /// Requires the subfolder of at least one known device, because a folder without one usually isn't mounted.
  ///
  /// - Throws: `noSuchFile`.
  package func requireFiles() throws(StoreError) {
    let present = Set(try directory.subfolders() ?? [])
    var known = try memory.lines.values.map { line throws(StoreError) in try keys.subfolder(of: line.device) }
    for former in memory.formers {
      let old = try SyncKeys(family: family, folder: memory.folder, secret: former.secret)
      known += try memory.lines.values.map { line throws(StoreError) in try old.subfolder(of: line.device) }
    }
    guard present.isDisjoint(with: known) else { return }
    throw StoreError(
      .noSuchFile, "\(directory.path): the folder has none of the files that this store syncs by",
      hint: "mount it, or name the right folder; if all its files are lost, \(.syncAgain) publishes the store again")
  }

  /// Takes and publishes changes.
  package func run() throws -> FolderSyncReport {
    try completeNotices()
    try settleIdentity()
    try takeAll()
    guard !memory.own.isRemoved, !isHeld else {
      try saveMemory()
      return report
    }
    try publishChanges()
    if try needsSnapshot() { try publishSnapshot() }
    try saveMemory()
    try removeCovered()
    try removeFormerFiles()
    return report
  }

  /// Takes a snapshot into a new store, and then all other files. Then publishes a file, even without changes, to make
  /// the device visible.
  func run(
    joiningWith snapshot: (changeset: ChangesetReader, preamble: SyncPreamble, file: SyncFile)
  ) throws -> FolderSyncReport {
    try take(joining: snapshot)
    try takeAll()
    if !isHeld { try publish(.changes, even: true) }
    return report
  }

  // MARK: Status

  /// Returns the folder's status without changing the store or the folder.
  package func status() throws(StoreError) -> FolderSyncStatus {
    let stored = memory
    try findDevices()
    if try !hasSeveralSecrets() {
      for name in memory.others where !memory.lines[name]!.isForked { try findMissingFiles(of: name) }
    }
    try findLostFiles()
    try findLostSecrets()
    try findFilesOfRemoved()
    try noteUnreadableFiles()
    let (hasChanges, versions) = try engine.reading { transaction throws(StoreError) in
      (transaction.start.generation != stored.generation, try transaction.otherVersions())
    }
    var devices: [SyncDevice] = []
    for name in [memory.device] + memory.listed {
      let line = memory.lines[name]!
      devices.append(
        SyncDevice(
          id: SyncDevice.ID(uid: name), label: line.label, isThisStore: name == memory.device,
          lastDate: line.date.millisecondsSince1970 == 0 ? nil : line.date, fileCount: line.file.sequence,
          isRemoved: line.isRemoved))
    }
    memory = stored
    return FolderSyncStatus(
      devices: devices, problems: report.problems, otherVersions: versions, hasUnpublishedChanges: hasChanges)
  }

  /// Notes a device's next file if it's incomplete, belongs to another history, or is missing although a later file of
  /// changes exists.
  private func findMissingFiles(of name: UniqueID) throws(StoreError) {
    let last = memory.lines[name]!.file
    let later = try laterFiles(of: name)
    guard let next = later.first(where: { $0.file.sequence == last.sequence + 1 }) else {
      return try noteGap(before: later.first, of: name)
    }
    if next.previous != last { try noteFork(of: name, next.file) }
  }

  func noteGap(before later: SyncListing.Entry?, of name: UniqueID) throws(StoreError) {
    let line = memory.lines[name]!
    let beginning = try keys.beginning(line.file.sequence + 1, of: line.device)
    let whole = Set(try laterFiles(of: name).map(\.name))
    let parts = try listing.names(of: line.device).filter { $0.hasPrefix(beginning) && !whole.contains($0) }
    // The files of a copied device's lines can have the same numbers.
    guard parts.isEmpty || lines(of: line.device).count > 1 else {
      return try note(
        .waiting, name, line.file.sequence + 1,
        "the file isn't whole: let the carrier finish it; if it stays like this, delete it, and let the carrier bring it again"
      )
    }
    guard let later, later.kind == .changes else { return }
    try note(
      .waiting, name, memory.lines[name]!.file.sequence + 1,
      "a later file of the device is there (number \(later.file.sequence)): let the carrier bring this one, too")
  }

  // MARK: Memory

  /// Saves the memory in a separate commit, if the memory changed.
  func saveMemory() throws(StoreError) {
    guard isMemoryChanged else { return }
    try engine.writing { transaction throws(StoreError) in
      // If the store hasn't changed since the last publication, it also doesn't have unpublished changes after this
      // commit.
      if memory.generation == transaction.start.generation {
        memory.generation = try transaction.writer.revision
      }
      try save(in: transaction)
      try transaction.commit()
    }
  }

  /// Saves the memory in a transaction.
  ///
  /// - Throws: `locked` if another session has saved the memory since this session read or saved it.
  func save(in transaction: StoreTransaction) throws(StoreError) {
    guard try transaction.syncMemory() == stored else {
      throw StoreError(
        .locked, "\(engine.path): another process syncs the store at the same time",
        hint: "wait until it's done, and sync again")
    }
    guard memory.lines.count <= SyncMemory.maximumLines else {
      throw StoreError(
        .tooLarge, "\(engine.path): the folder has more than \(SyncMemory.maximumLines) devices, with their copies",
        hint: "begin with \(.syncInit) in another folder, and let the devices join it")
    }
    try transaction.setSyncMemory(memory)
    stored = memory
  }

  // MARK: Problems

  /// Returns the lines of a device and its copies.
  func lines(of device: UniqueID) -> [SyncMemory.Line] { memory.lines.values.filter { $0.device == device } }

  /// Notes a problem with a line's file.
  func note(
    _ kind: FolderSyncReport.Problem.Kind, _ name: UniqueID, _ sequence: UInt64, hash: [UInt8]? = nil, _ advice: String,
    at path: String? = nil
  ) throws(StoreError) {
    let line = memory.lines[name] ?? SyncMemory.Line(name)
    let file =
      if let hash {
        try keys.name(of: SyncMemory.File(sequence: sequence, hash: hash), of: line.device)
      } else { try keys.beginning(sequence, of: line.device) + "*" }
    let place =
      if let path { path } else { "\(directory.path)/\(try keys.subfolder(of: line.device))/\(file)" }
    let problem = FolderSyncReport.Problem(
      kind: kind, device: SyncDevice.ID(uid: name), label: line.label, number: sequence, path: place, advice: advice)
    if !report.problems.contains(problem) { report.problems.append(problem) }
  }

  /// Notes each device's last file if it has disappeared from the folder.
  func findLostFiles() throws(StoreError) {
    guard !memory.own.isRemoved else { return }
    for name in memory.others {
      let line = memory.lines[name]!
      guard !line.isForked, line.first == nil, line.file.sequence > line.covered,
        try !listing.contains(line.file, of: line.device),
        // A device removes the files that its later snapshot includes, which can be a snapshot to be taken later.
        try !laterFiles(of: name).contains(where: { $0.kind == .snapshot })
      else { continue }
      try note(
        .rolledBack, name, line.file.sequence, hash: line.file.hash,
        "the device's last file was here and is gone, so the folder is an older one: let the carrier copy it again from "
          + "the device")
    }
    let last = memory.last
    if last.sequence > (memory.formers.isEmpty ? 0 : memory.own.covered), try !listing.contains(last, of: memory.device)
    {
      try note(
        .rolledBack, memory.device, last.sequence, hash: last.hash,
        "this device's last file is gone from the folder, so the folder is an older one; this run publishes the store again"
      )
      isFolderBehind = true
    }
  }
}
