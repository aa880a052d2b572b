package import CofferCopies
package import CofferDocuments
package import CofferEngine
package import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// One exchange of a store with its folder: takes what other devices published, and then publishes its own changes.
///
/// Every step is complete in itself. The store's commit names a file before the file has its name in the folder, and
/// names another device's file in the commit that takes it, so a killed run is continued by the next one.
package final class SyncSession {
  let engine: StoreEngine
  let directory: any SyncDirectory
  private let now: () -> Timestamp
  private let policy: MergePolicy
  private let progress: ProgressHandler?
  let keys: SyncKeys
  private(set) var memory: SyncMemory
  private(set) var report = FolderSyncReport()
  /// The memory as the store has it.
  private var stored: SyncMemory
  private var isMemoryChanged: Bool { memory != stored }
  private var hasTaken = false

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
    keys = try SyncKeys(family: found.1, folder: memory.folder)
    guard try directory.subfolders() != nil else {
      throw StoreError(
        .noSuchFile, "\(directory.path): the folder is gone",
        hint: "mount it or let the carrier make it again, and sync again")
    }
  }

  /// Takes and publishes.
  package func run() throws -> FolderSyncReport {
    try settleIdentity()
    try takeAll()
    try publishChanges()
    if try needsSnapshot() { try publishSnapshot() }
    try saveMemory()
    try removeCovered()
    try removeForkedFiles()
    return report
  }

  /// Takes a snapshot into a new store, and then everything else.
  func run(
    joiningWith snapshot: (changeset: ChangesetReader, preamble: SyncPreamble, file: SyncFile)
  ) throws -> FolderSyncReport {
    change { $0.peers[snapshot.file.header.device] = SyncMemory.Peer() }
    _ = try take(snapshot.changeset, snapshot.preamble, snapshot.file)
    try takeAll()
    try publish(.changes, even: true)
    return report
  }

  /// Looks at the folder without changing the store or the folder.
  package func status() throws(StoreError) -> FolderSyncStatus {
    let stored = memory
    try findDevices()
    for device in memory.peers.keys.sorted() { try findMissingFiles(of: device) }
    try findLostFiles()
    let hasChanges = try engine.reading { transaction throws(StoreError) in
      transaction.start.generation != stored.generation
    }
    var devices = [
      SyncDevice(
        id: SyncDevice.ID(uid: memory.device), label: memory.label, isThisStore: true,
        lastDate: try file(memory.last.sequence, of: memory.device)?.header.date, fileCount: memory.last.sequence)
    ]
    for (device, peer) in memory.peers.sorted(by: { $0.key < $1.key }) {
      devices.append(
        SyncDevice(
          id: SyncDevice.ID(uid: device), label: peer.label, isThisStore: false,
          lastDate: peer.date.millisecondsSince1970 == 0 ? nil : peer.date, fileCount: peer.file.sequence))
    }
    memory = stored
    return FolderSyncStatus(devices: devices, problems: report.problems, hasUnpublishedChanges: hasChanges)
  }

  /// Notes a file of a device that isn't there, although a later one is.
  private func findMissingFiles(of device: UniqueID) throws(StoreError) {
    let last = memory.peers[device]!.file
    guard let next = try file(last.sequence + 1, of: device) else {
      return try noteGap(before: try laterFiles(of: device).first, of: device)
    }
    if next.header.previous != last.hash { try noteFork(of: device, next.header.sequence) }
  }

  private func noteGap(before later: SyncFile?, of device: UniqueID) throws(StoreError) {
    guard let later, later.header.kind != .snapshot else { return }
    try note(
      .waiting, device, memory.peers[device]!.file.sequence + 1,
      "a later file of the device is there (number \(later.header.sequence)): let the carrier bring this one, too")
  }

  private func noteFork(of device: UniqueID, _ sequence: UInt64) throws(StoreError) {
    try note(
      .forked, device, sequence,
      "the device's history is another one than before: sync on that device, which then goes on under a new name")
  }

  // MARK: Memory

  func change(_ change: (inout SyncMemory) -> Void) { change(&memory) }

  /// Saves the memory in a commit of its own, if it changed.
  private func saveMemory() throws(StoreError) {
    guard isMemoryChanged else { return }
    try engine.writing { transaction throws(StoreError) in
      // If nobody else has committed since the last publication, there's nothing to publish after this commit either.
      if memory.generation == transaction.start.generation {
        memory.generation = try transaction.writer.revision
      }
      try save(in: transaction)
      try transaction.commit()
    }
  }

  /// Saves the memory in a transaction.
  ///
  /// - Throws: `locked` if another session saved one since.
  private func save(in transaction: StoreTransaction) throws(StoreError) {
    guard try transaction.syncMemory() == stored else {
      throw StoreError(
        .locked, "\(engine.path): another process syncs the store at the same time",
        hint: "wait until it's done, and sync again")
    }
    try transaction.setSyncMemory(memory)
    stored = memory
  }

  // MARK: This device

  /// Takes a new identity if the store's file was restored or copied since it last synced.
  private func settleIdentity() throws(StoreError) {
    let (own, isRestored) = try engine.reading { transaction throws(StoreError) in
      (try transaction.replicas.ownReplica.identity, try transaction.isRestored)
    }
    if isRestored || own != memory.device {
      try become(after: nil, memory.publications.last!)
    } else if let last = try lastCommonPublication() {
      try become(after: last.counter, last)
    }
  }

  /// Returns this device's last publication that the folder confirms, or `nil` if the folder has no other files of this
  /// device than the store knows.
  private func lastCommonPublication() throws(StoreError) -> SyncMemory.Publication? {
    let last = memory.last
    if let common = try lastBeforeContradiction(memory.publications, of: memory.device) { return common }
    if let later = try file(last.sequence + 1, of: memory.device) {
      if later.header.previous == last.hash { return memory.publications.last }
      // The files between were removed.
      return memory.publications.first
    }
    // A run that was stopped has left the file under its temporary name.
    if last.sequence > 0, try file(last.sequence, of: memory.device) == nil {
      _ = try directory.publish(
        SyncFileHeader.pendingName(last.hash), as: try keys.file(last.sequence, of: memory.device),
        in: try keys.subfolder(of: memory.device))
    }
    return nil
  }

  /// Returns the last of a device's files before the first one that the folder has another file for, or `nil` if there is
  /// none.
  private func lastBeforeContradiction(
    _ history: [SyncMemory.Publication], of device: UniqueID
  ) throws(StoreError) -> SyncMemory.Publication? {
    for (index, publication) in history.enumerated() where publication.file.sequence > 0 {
      guard let found = try file(publication.file.sequence, of: device), found.hash != publication.file.hash else {
        continue
      }
      return history[max(index - 1, 0)]
    }
    return nil
  }

  /// Goes on as another device, which publishes all commits since a counter under its own name.
  private func become(after counter: UInt64?, _ last: SyncMemory.Publication) throws(StoreError) {
    let old = memory.device
    let files = memory.publications.map(\.file).filter { $0.sequence > last.file.sequence }
    let fork = files.isEmpty ? nil : SyncMemory.Fork(device: old, common: last, files: files)
    let published = memory.publishedCounter
    try engine.writing { transaction throws(StoreError) in
      let generation = transaction.start.generation
      _ = try transaction.writer.upcomingDot()
      if try transaction.replicas.ownReplica.identity == old {
        try transaction.renewIdentity(after: counter, published: published)
      }
      let replicas = try transaction.replicas
      memory.become(replicas.ownReplica.identity, counter: try transaction.writer.dot.counter, after: last)
      if let counter {
        memory.generation = min(memory.generation, generation)
        memory.unshare(old, after: counter, in: replicas)
        memory.hasRenamed = true
      }
      if let fork { memory.forks = Array((memory.forks + [fork]).suffix(SyncMemory.maximumForks)) }
      try save(in: transaction)
      try transaction.commit()
    }
    report.isNewDevice = true
  }

  /// Removes files that this device published under a former name, which nobody can take after those of its copy.
  private func removeForkedFiles() throws(StoreError) {
    for fork in memory.forks {
      let subfolder = try keys.subfolder(of: fork.device)
      for published in fork.files {
        guard let file = try file(published.sequence, of: fork.device), file.hash == published.hash else { continue }
        try directory.remove(try keys.file(published.sequence, of: fork.device), in: subfolder)
      }
    }
  }

  /// Returns whether the folder doesn't have a device's file, or has another one under its name.
  private func hasLost(_ known: SyncMemory.File, of device: UniqueID) throws(StoreError) -> Bool {
    guard known.sequence > 0 else { return false }
    return try file(known.sequence, of: device)?.hash != known.hash
  }

  /// Takes another device's files again after the last one that the folder and this store have in common, because the
  /// store has files of a copy of the device.
  private func settleFork(of device: UniqueID) throws(StoreError) -> Bool {
    let peer = memory.peers[device]!
    guard let common = try lastBeforeContradiction(peer.history, of: device) else { return false }
    let files = peer.history.map(\.file).filter { $0.sequence > common.file.sequence }
    guard !files.isEmpty else { return false }
    try settle(SyncMemory.Fork(device: device, common: common, files: files))
    return true
  }

  /// Gives the commits of a copied device, which now goes on under another name, that name.
  private func settle(_ fork: SyncMemory.Fork) throws(StoreError) {
    try engine.writing { transaction throws(StoreError) in
      try transaction.splitCommits(of: fork.device, after: fork.common.counter)
      let replicas = try transaction.replicas
      memory.peers[fork.device]!.file = fork.common.file
      memory.peers[fork.device]!.history.removeAll { $0.file.sequence > fork.common.file.sequence }
      memory.unshare(fork.device, after: fork.common.counter, in: replicas)
      memory.generation = min(memory.generation, transaction.start.generation)
      (memory.hasRenamed, memory.owesSnapshot) = (true, true)
      try save(in: transaction)
      try transaction.commit()
    }
    try note(
      .forked, fork.device, fork.files[0].sequence,
      "the device was copied or put back, and both copies went on: both copies' changes are here")
  }

  /// Gives this store's commits of a copied device other names, if the sender of a changeset has other commits of it.
  ///
  /// - Returns: Whether the changeset can be taken now.
  private func settleFork(against origin: ChangesetOrigin) throws(StoreError) -> Bool {
    let own = memory.device
    if let number = origin.replicas.number(of: own), origin.replicas[number].counter > memory.publishedCounter,
      !report.isNewDevice
    {
      // Others have commits of this device that were never published from here, so this file is an older copy.
      try become(after: memory.publishedCounter, memory.publications.last!)
      return true
    }
    let fork = try engine.reading { transaction throws(StoreError) in try transaction.forkedReplica(against: origin) }
    guard let fork else { return false }
    guard fork.isMineRenamed else {
      // The others can go on with a snapshot, which builds on no commit of theirs.
      if memory.covered + 1 < memory.last.sequence { memory.owesSnapshot = true }
      return false
    }
    if fork.identity == own {
      guard !report.isNewDevice else { return false }
      let last = memory.publications.last { $0.counter <= fork.common } ?? memory.publications[0]
      try become(after: fork.common, last)
      return true
    }
    try engine.writing { transaction throws(StoreError) in
      try transaction.splitCommits(of: fork.identity, after: fork.common)
      memory.unshare(fork.identity, after: fork.common, in: try transaction.replicas)
      memory.generation = min(memory.generation, transaction.start.generation)
      (memory.hasRenamed, memory.owesSnapshot) = (true, true)
      try save(in: transaction)
      try transaction.commit()
    }
    return true
  }

  /// Settles the forks that another device reports of itself, if this store has one of the files.
  private func settleForks(of preamble: SyncPreamble) throws(StoreError) {
    for fork in preamble.forks {
      guard let known = memory.peers[fork.device]?.file, fork.files.contains(known) else { continue }
      try settle(fork)
    }
  }

  // MARK: Files

  /// Opens a device's file, or returns `nil` if the folder doesn't have it, or has something else under its name.
  func file(_ sequence: UInt64, of device: UniqueID) throws(StoreError) -> SyncFile? {
    let file = try SyncFile(
      try keys.file(sequence, of: device), in: try keys.subfolder(of: device), of: directory, keys)
    guard let file, file.header.device == device, file.header.sequence == sequence else { return nil }
    return file
  }

  private func path(_ sequence: UInt64, of device: UniqueID) throws(StoreError) -> String {
    "\(directory.path)/\(try keys.subfolder(of: device))/\(try keys.file(sequence, of: device))"
  }

  private func note(
    _ kind: FolderSyncReport.Problem.Kind, _ device: UniqueID, _ sequence: UInt64, _ advice: String
  ) throws(StoreError) {
    let problem = FolderSyncReport.Problem(
      kind: kind, device: SyncDevice.ID(uid: device), label: memory.peers[device]?.label ?? "",
      number: sequence, path: try path(sequence, of: device), advice: advice)
    if !report.problems.contains(problem) { report.problems.append(problem) }
  }

  // MARK: Taking

  private func takeAll() throws {
    try findDevices()
    var goesOn = true
    var blocked: Set<UniqueID> = []
    while goesOn {
      goesOn = false
      // What was waited for may have come.
      report.problems.removeAll { $0.kind == .waiting }
      for device in memory.peers.keys.sorted() where !blocked.contains(device) {
        while true {
          let outcome = try takeNext(of: device)
          if outcome == .taken { goesOn = true }
          if outcome == .stuck { blocked.insert(device) }
          if outcome != .taken { break }
        }
      }
    }
    try findLostFiles()
  }

  private enum Outcome { case taken, nothing, stuck }

  /// Adds the devices whose subfolders are new here.
  private func findDevices() throws(StoreError) {
    var known: Set<String> = [try keys.subfolder(of: memory.device)]
    for device in memory.peers.keys { known.insert(try keys.subfolder(of: device)) }
    for subfolder in try directory.subfolders() ?? [] where !known.contains(subfolder) {
      // Some files may be a carrier's, or incomplete.
      for entry in try directory.files(in: subfolder).prefix(Self.maximumUnknownFiles) {
        guard let file = try SyncFile(entry.name, in: subfolder, of: directory, keys),
          try keys.subfolder(of: file.header.device) == subfolder, memory.peers.count < SyncMemory.maximumPeers
        else { continue }
        change { $0.peers[file.header.device] = SyncMemory.Peer() }
        break
      }
    }
  }

  private static let maximumUnknownFiles = 64

  /// Takes the next file of a device.
  private func takeNext(of device: UniqueID) throws -> Outcome {
    let last = memory.peers[device]!.file
    if try hasLost(last, of: device), try settleFork(of: device) { return .taken }
    guard let file = try file(last.sequence + 1, of: device) else {
      return try takeSnapshot(for: device)
    }
    guard file.header.previous == last.hash else {
      // The carrier has files of two histories, one of which it gives up sooner or later.
      if try takeSnapshot(of: device) == .taken { return .taken }
      try noteFork(of: device, file.header.sequence)
      return .stuck
    }
    return try take(file)
  }

  /// Takes a file, whose place in its device's history is known.
  private func take(_ file: SyncFile) throws -> Outcome {
    do {
      let preamble = try SyncPreamble(file)
      let changeset = try ChangesetReader(file)
      try settleForks(of: preamble)
      let own = try engine.reading { transaction throws(StoreError) in try transaction.ownReplicas() }
      try findForks(preamble)
      guard changeset.origin.isApplicable(to: own) else {
        try noteMissing(preamble, for: file)
        return try takeSnapshot(of: file.header.device)
      }
      guard changeset.origin.isIncluded(in: own) else { return try take(changeset, preamble, file) }
      note(file, preamble, changeset.origin, own)
      return .taken
    } catch let error as StoreError where error.code == .damaged {
      try note(.damaged, file.header.device, file.header.sequence, error.description)
      return .stuck
    }
  }

  private func take(_ changeset: ChangesetReader, _ preamble: SyncPreamble, _ file: SyncFile) throws(StoreError)
    -> Outcome
  {
    do {
      let report = try engine.take(
        changeset, named: file.name, isRenamed: preamble.hasRenamed || memory.hasRenamed, policy, progress
      ) {
        transaction, debts throws(StoreError) in
        self.note(file, preamble, changeset.origin, try transaction.replicas)
        self.memory.owed.formUnion(debts.owed)
        self.memory.wanted.formUnion(debts.wanted)
        try self.save(in: transaction)
      }
      hasTaken = true
      self.report.taken.append(
        FolderSyncReport.Taken(
          device: SyncDevice.ID(uid: file.header.device), label: preamble.label, report: report))
      return .taken
    } catch let error as StoreError {
      guard error.code == .anchorMismatch else { throw error }
      if try settleFork(against: changeset.origin) { return .taken }
      try note(
        .forked, file.header.device, file.header.sequence,
        "two devices made changes under one name, because one is a copy of the other: sync on both, and then here again"
      )
      return .stuck
    } catch {
      throw StoreError(.cancelled, "the sync was stopped; what was taken is complete")
    }
  }

  /// Remembers a file that this store includes now.
  private func note(_ file: SyncFile, _ preamble: SyncPreamble, _ origin: ChangesetOrigin, _ own: Replicas) {
    let header = file.header
    change { memory in
      var peer = memory.peers[header.device] ?? SyncMemory.Peer()
      peer.file = SyncMemory.File(sequence: header.sequence, hash: file.hash)
      peer.history.append(
        SyncMemory.Publication(file: peer.file, counter: origin.replicas.ownReplica.counter))
      peer.history.removeFirst(max(0, peer.history.count - SyncMemory.maximumHistory))
      peer.date = header.date
      peer.label = preamble.label
      memory.owed.formUnion(preamble.wanted.subtracting(memory.wanted))
      memory.share(origin.replicas.entries, in: own)
      if header.kind == .snapshot {
        peer.covered = header.sequence
        memory.peers[header.device] = peer
        for (device, head) in preamble.heads {
          if device == memory.device {
            memory.covered = max(memory.covered, head.sequence)
          } else {
            var other = memory.peers[device] ?? SyncMemory.Peer()
            other.covered = max(other.covered, head.sequence)
            if other.file.sequence < head.sequence {
              other.file = head
              other.history =
                origin.replicas.number(of: device).map {
                  [SyncMemory.Publication(file: head, counter: origin.replicas[$0].counter)]
                } ?? []
            }
            memory.peers[device] = other
          }
        }
      }
      memory.peers[header.device] = peer
    }
  }

  /// Takes a later snapshot of a device whose next file builds on commits that this store lacks.
  private func takeSnapshot(of device: UniqueID) throws -> Outcome {
    let next = memory.peers[device]!.file.sequence + 1
    let later = try laterFiles(of: device).last { $0.header.kind == .snapshot && $0.header.sequence > next }
    guard let later, let file = try file(later.header.sequence, of: device) else { return .nothing }
    return try take(file)
  }

  /// Takes another device's snapshot, or the device's own, if it leads beyond files that the folder doesn't have anymore.
  private func takeSnapshot(for device: UniqueID) throws -> Outcome {
    let last = memory.peers[device]!.file.sequence
    let own = try laterFiles(of: device)
    for other in [device] + memory.peers.keys.sorted().filter({ $0 != device }) {
      let files = other == device ? own : try laterFiles(of: other)
      guard let file = files.last(where: { $0.header.kind == .snapshot }) else { continue }
      let leads: Bool
      if other == device {
        leads = file.header.sequence > last
      } else {
        do throws(StoreError) {
          leads = try SyncPreamble(file).heads[device].map { $0.sequence > last } ?? false
        } catch {
          guard error.code == .damaged else { throw error }
          continue
        }
      }
      guard leads, let again = try self.file(file.header.sequence, of: other) else { continue }
      return try take(again)
    }
    try noteGap(before: own.first, of: device)
    return .nothing
  }

  /// Returns the files of a device after the last one that this store has, in ascending order.
  private func laterFiles(of device: UniqueID) throws(StoreError) -> [SyncFile] {
    let last = memory.peers[device]!.file.sequence
    let subfolder = try keys.subfolder(of: device)
    let entries = try directory.files(in: subfolder)
    // Usually the folder has no other file than the last one.
    if entries.isEmpty { return [] }
    if entries.count == 1, entries[0].name == (try keys.file(last, of: device)) { return [] }
    var files: [SyncFile] = []
    for entry in entries {
      guard let file = try SyncFile(entry.name, in: subfolder, of: directory, keys), file.header.device == device,
        file.header.sequence > last, try keys.file(file.header.sequence, of: device) == entry.name
      else { continue }
      files.append(file)
    }
    return files.sorted { $0.header.sequence < $1.header.sequence }
  }

  // MARK: Problems

  /// Notes devices of which another device has another history.
  private func findForks(_ preamble: SyncPreamble) throws(StoreError) {
    for (device, head) in preamble.heads {
      let known =
        device == memory.device
        ? memory.publications.first { $0.file.sequence == head.sequence }?.file : memory.peers[device]?.file
      guard let known, known.sequence == head.sequence, known.hash != head.hash else { continue }
      try note(
        .forked, device, head.sequence,
        "another device has another file of this number: sync on the device, which then goes on under a new name")
    }
  }

  /// Notes the files that a file builds on and that aren't here.
  private func noteMissing(_ preamble: SyncPreamble, for file: SyncFile) throws(StoreError) {
    for (device, head) in preamble.heads.sorted(by: { $0.key < $1.key }) where device != memory.device {
      let known = memory.peers[device]?.file.sequence ?? 0
      guard head.sequence > known, try self.file(known + 1, of: device) == nil else { continue }
      if memory.peers[device] == nil { change { $0.peers[device] = SyncMemory.Peer() } }
      try note(
        .waiting, device, known + 1,
        "another device has it already: let the carrier bring it here, or sync on the device that made it")
    }
  }

  /// Notes files that were here and aren't anymore.
  private func findLostFiles() throws(StoreError) {
    for (device, peer) in memory.peers.sorted(by: { $0.key < $1.key }) where peer.file.sequence > 0 {
      guard try file(peer.file.sequence, of: device) == nil, peer.covered < peer.file.sequence else { continue }
      try note(
        .rolledBack, device, peer.file.sequence,
        "the device's last file was here and is gone, so the folder is an older one: let the carrier copy it again from "
          + "the device")
    }
    let last = memory.last
    if last.sequence > 0, try file(last.sequence, of: memory.device) == nil {
      try note(
        .rolledBack, memory.device, last.sequence,
        "this device's last file is gone from the folder, so the folder is an older one; this run publishes the store again"
      )
      isFolderBehind = true
    }
  }

  /// Whether the folder lost files of this device, so that others need a snapshot.
  private var isFolderBehind = false

  // MARK: Publishing

  private func publishChanges() throws(StoreError) {
    guard memory.last.sequence > 0 else { return }
    try settleDebts()
    let isCurrent = try engine.reading { transaction throws(StoreError) in
      transaction.start.generation == memory.generation && memory.owed.isEmpty
    }
    let asks = !memory.wanted.isSubset(of: memory.asked)
    if !isCurrent || asks { try publish(.changes, even: asks) }
  }

  /// Forgets the attachments that came meanwhile, and those that this store can't give.
  private func settleDebts() throws(StoreError) {
    guard !memory.wanted.isEmpty || !memory.owed.isEmpty else { return }
    var present: Set<UniqueID> = []
    try engine.reading { transaction throws(StoreError) in
      try transaction.forEachAttachmentRow { row throws(StoreError) in
        present.insert(try AttachmentRecord(row, transaction.keys).uid)
      }
    }
    memory.wanted.subtract(present)
    memory.owed.formIntersection(present)
    if memory.wanted.isEmpty { memory.asked = [] }
  }

  private func publishSnapshot() throws(StoreError) { try publish(.snapshot) }

  /// The numbers of a device's files, and their bytes, that make a snapshot worthwhile.
  private static let snapshotFiles = 64
  private static let snapshotBytes = 1 << 20

  private func needsSnapshot() throws(StoreError) -> Bool {
    guard memory.last.sequence > 0, !isFolderBehind, !memory.owesSnapshot else { return true }
    guard report.publishedBytes > 0 else { return false }
    let files = try directory.files(in: try keys.subfolder(of: memory.device))
    guard files.count <= Self.snapshotFiles else { return true }
    let bytes = files.reduce(0) { $0 + $1.byteCount }
    let size = try engine.reading { transaction throws(StoreError) in try transaction.fileByteCount() }
    return bytes > max(Self.snapshotBytes, 2 * size)
  }

  /// Publishes a file.
  ///
  /// - Parameter isForced: Whether to publish changes even if there are none, so that other devices see this one.
  private func publish(_ kind: SyncFileHeader.Kind, even isForced: Bool = false) throws(StoreError) {
    let sequence = memory.last.sequence + 1
    let (name, subfolder) = (
      try keys.file(sequence, of: memory.device), try keys.subfolder(of: memory.device)
    )
    let header = SyncFileHeader(
      kind: kind, device: memory.device, sequence: sequence, previous: memory.last.hash,
      identity: try translatingErrors { () throws(SealingError) in try UniqueID.random() }, date: now())
    let written = try engine.reading { transaction throws(StoreError) in
      let replicas = try transaction.ownReplicas()
      let base =
        kind == .snapshot ? [UInt64](repeating: 0, count: replicas.entries.count) : memory.base(of: replicas)
      let writer = try ChangesetWriter(
        transaction, ChangesetOrigin(replicas: replicas, base: base),
        since: kind == .snapshot ? nil : memory.generation, owed: memory.owed)
      if kind == .changes, writer.isEmpty, !isForced {
        return Written(generation: transaction.start.generation, replicas: replicas)
      }
      let file = try directory.create(in: subfolder)
      do throws(StoreError) {
        let output = SyncFileWriter(header, keys, file)
        try SyncPreamble(memory).write(to: output)
        try writer.write(to: output) { done throws(StoreError) in
          try WorkProgress(done: done, total: writer.documentCount)
            .tell(progress, stopped: "the sync was stopped; nothing was published")
        }
        let (hash, byteCount) = try output.finish()
        return Written(
          generation: transaction.start.generation, replicas: replicas, output: file, byteCount: byteCount,
          documents: writer.documentCount, file: SyncMemory.File(sequence: sequence, hash: hash))
      } catch {
        file.discard()
        throw error
      }
    }
    change { memory in
      memory.generation = written.generation
      memory.owed = []
      if let file = written.file {
        memory.asked = memory.wanted
        memory.published(file, counter: written.replicas.ownReplica.counter)
        memory.share(written.replicas.entries, in: written.replicas)
        if kind == .snapshot {
          (memory.covered, memory.owesSnapshot) = (sequence - 1, false)
          for device in Array(memory.peers.keys) { memory.peers[device]!.covered = memory.peers[device]!.file.sequence }
        }
      }
    }
    try saveMemory()
    guard let file = written.file else { return }
    guard try directory.publish(SyncFileHeader.pendingName(file.hash), as: name, in: subfolder) else {
      throw StoreError(
        .alreadyExists, "\(directory.path)/\(subfolder)/\(name): another copy of this device wrote the file",
        hint: "sync again: this device then goes on under a new name")
    }
    report.publishedBytes += written.byteCount
    if kind == .changes { report.publishedDocuments += written.documents }
  }

  /// What a publication read and wrote.
  private struct Written {
    let generation: UInt64
    let replicas: Replicas
    /// The open file, which keeps other runs from removing it.
    var output: (any SyncNewFile)?
    var byteCount = 0
    var documents = 0
    /// The complete file, or `nil` if there was nothing to publish.
    var file: SyncMemory.File?
  }

  /// Removes this device's files that a snapshot in the folder includes, except the last one, which shows that the folder
  /// isn't an older one.
  private func removeCovered() throws(StoreError) {
    guard report.publishedBytes > 0 || hasTaken else { return }
    let subfolder = try keys.subfolder(of: memory.device)
    try directory.removeUnfinished(except: SyncFileHeader.pendingName(memory.last.hash), in: subfolder)
    var names = Set(try directory.files(in: subfolder).map(\.name))
    var sequence = min(memory.covered, memory.last.sequence - min(memory.last.sequence, 1))
    while sequence > 0, names.count > 1 {
      let name = try keys.file(sequence, of: memory.device)
      if names.remove(name) != nil { try directory.remove(name, in: subfolder) }
      sequence -= 1
    }
  }
}

extension StoreTransaction {
  /// The length of the store's file.
  fileprivate func fileByteCount() throws(StoreError) -> Int {
    Int(clamping: try translatingErrors { () throws(SQLiteError) in try database.connection.fileSize() })
  }

  /// The replicas at the start of the transaction, with their own counter.
  fileprivate func ownReplicas() throws(StoreError) -> Replicas {
    var replicas = try replicasOfStart()
    replicas.syncMemory = nil
    return replicas
  }
}
