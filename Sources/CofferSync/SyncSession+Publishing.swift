internal import CofferCopies
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

extension SyncSession {
  // MARK: Publishing

  func publishChanges() throws(StoreError) {
    guard memory.last.sequence > 0 else { return }
    try settleDebts()
    let isCurrent = try engine.reading { transaction throws(StoreError) in
      transaction.start.generation == memory.generation && memory.owed.isEmpty
    }
    let asks = !memory.wanted.isSubset(of: memory.asked)
    if !isCurrent || asks { try publish(.changes, even: asks) }
  }

  /// Removes attachments that have arrived, and attachments that this store can't provide.
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

  func publishSnapshot() throws(StoreError) { try publish(.snapshot) }

  /// The numbers of a device's files, and their bytes, that make a snapshot worthwhile.
  private static let snapshotFiles = 64
  private static let snapshotBytes = 1 << 20

  func needsSnapshot() throws(StoreError) -> Bool {
    guard memory.last.sequence > 0, !isFolderBehind, !memory.owesSnapshot else { return true }
    guard report.publishedBytes > 0 else { return false }
    let last = memory.last.sequence
    // A carrier can bring back files that a snapshot includes.
    let included = max(min(memory.own.covered, last - 1), last - min(last, 2 * UInt64(Self.snapshotFiles)))
    var known: Set<String> = []
    for sequence in (included + 1)...last { known.insert(try keys.beginning(sequence, of: memory.device)) }
    var (count, bytes) = (0, 0)
    for entry in try directory.files(in: try keys.subfolder(of: memory.device))
    where SyncKeys.isName(entry.name) && known.contains(String(entry.name.prefix(32))) {
      // Nobody else's files cause snapshots.
      guard let file = try listing.open(entry.name, of: memory.device) else { continue }
      (count, bytes) = (count + 1, bytes + file.header.fileCount)
      guard count <= Self.snapshotFiles else { return true }
    }
    let size = try engine.reading { transaction throws(StoreError) in try transaction.fileByteCount() }
    return bytes > max(Self.snapshotBytes, 2 * size)
  }

  /// Publishes a file.
  ///
  /// - Parameter isForced: Whether to publish even without changes, to make this device visible to other devices.
  func publish(_ kind: SyncFileHeader.Kind, even isForced: Bool = false) throws(StoreError) {
    let sequence = memory.last.sequence + 1
    let subfolder = try keys.subfolder(of: memory.device)
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
      // A new device's first file is a snapshot, but its changes aren't a repetition.
      var documents = kind == .changes ? writer.documentCount : 0
      if kind == .snapshot, report.isNewDevice, sequence == 1 {
        let origin = ChangesetOrigin(replicas: replicas, base: memory.base(of: replicas))
        documents = try ChangesetWriter(transaction, origin, since: memory.generation, owed: memory.owed).documentCount
      }
      // A device that made the same migrations can't take this device's earlier files.
      let collections = try transaction.storedCollections()
      let hasMigrated =
        memory.generation > 0 && collections.contains { $0.holdsMigrations && $0.revision > memory.generation }
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
          documents: documents, hasMigrated: hasMigrated,
          file: SyncMemory.File(sequence: sequence, hash: hash))
      } catch {
        file.discard()
        throw error
      }
    }
    memory.generation = written.generation
    memory.owed = []
    if let file = written.file {
      memory.asked = memory.wanted
      if written.hasMigrated { memory.owesSnapshot = true }
      memory.own.append(file, counter: written.replicas.ownReplica.counter)
      memory.own.date = header.date
      memory.share(written.replicas.entries, in: written.replicas)
      if kind == .snapshot {
        memory.owesSnapshot = false
        for name in memory.others { memory.lines[name]!.covered = memory.lines[name]!.file.sequence }
        memory.own.covered = sequence - 1
      }
    }
    try saveMemory()
    guard let file = written.file else { return }
    try publish(file, as: try keys.name(of: file, of: memory.device), in: subfolder)
    report.publishedBytes += written.byteCount
    report.publishedDocuments += written.documents
  }

  /// Gives a complete file its final name.
  func publish(_ file: SyncMemory.File, as name: String, in subfolder: String) throws(StoreError) {
    guard try directory.publish(SyncFileHeader.pendingName(file.hash), as: name, in: subfolder) else {
      throw StoreError(
        .locked, "\(directory.path)/\(subfolder)/\(name): another run has published or removed the file",
        hint: "sync again")
    }
  }

  /// What a publication read and wrote.
  private struct Written {
    let generation: UInt64
    let replicas: Replicas
    /// The open file, which keeps other runs from removing it.
    var output: (any SyncNewFile)?
    var byteCount = 0
    var documents = 0
    /// Whether the store has made migrations since the last file.
    var hasMigrated = false
    /// The complete file, or `nil` without changes to publish.
    var file: SyncMemory.File?
  }

  /// Removes this device's files that a snapshot in the folder includes, also files that it wrote as a copy. Keeps the
  /// last file, which shows that the folder isn't an older state.
  func removeCovered() throws(StoreError) {
    guard report.publishedBytes > 0 || hasTaken else { return }
    let device = memory.device
    let subfolder = try keys.subfolder(of: device)
    try directory.removeUnfinished(except: SyncFileHeader.pendingName(memory.last.hash), in: subfolder)
    let beginning = try keys.beginning(memory.last.sequence, of: device)
    var names: [String: [String]] = [:]
    for file in try directory.files(in: subfolder) where SyncKeys.isName(file.name) {
      names[String(file.name.prefix(beginning.count)), default: []].append(file.name)
    }
    names[beginning] = nil
    var sequence = min(memory.own.covered, memory.last.sequence)
    while sequence > 0, !names.isEmpty {
      for name in names.removeValue(forKey: try keys.beginning(sequence, of: device)) ?? [] {
        try directory.remove(name, in: subfolder)
      }
      sequence -= 1
    }
    guard !memory.owesSnapshot else { return }
    for line in memory.lines.values where line.isFormer {
      let subfolder = try keys.subfolder(of: line.device)
      for publication in line.publications.dropFirst() {
        try directory.remove(try keys.name(of: publication.file, of: line.device), in: subfolder)
      }
    }
  }
}

extension StoreTransaction {
  /// Returns the store file's length.
  fileprivate func fileByteCount() throws(StoreError) -> Int {
    Int(clamping: try translatingErrors { () throws(SQLiteError) in try database.connection.fileSize() })
  }

  /// Returns the replicas at the start of the transaction, with their own counter.
  func ownReplicas() throws(StoreError) -> Replicas {
    var replicas = try replicasOfStart()
    replicas.syncMemory = nil
    return replicas
  }
}
