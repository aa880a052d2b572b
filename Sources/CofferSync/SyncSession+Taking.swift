internal import CofferCopies
internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

extension SyncSession {
  // MARK: Taking

  func takeAll() throws {
    try findDevices()
    var goesOn = true
    var blocked: Set<UniqueID> = []
    while goesOn {
      goesOn = false
      // What was waited for may have come.
      report.problems.removeAll { $0.kind == .waiting }
      // Process new secrets first, so the order of devices doesn't affect which of a removed device's files are merged.
      for name in memory.others where !blocked.contains(name) {
        guard let line = memory.lines[name], !line.isForked, try !learnForks(of: line.device) else { continue }
        if try takeSecret(of: name) { goesOn = true }
        if isHeld { return }
      }
      for name in memory.others where !blocked.contains(name) {
        var outcome = Outcome.taken
        while outcome == .taken {
          outcome = try takeNext(of: name)
          if outcome == .taken { goesOn = true }
        }
        if outcome == .stuck { blocked.insert(name) }
      }
    }
    if memory.hasRefused, !hasRefused { memory.owesSnapshot = true }
    memory.hasRefused = hasRefused
    try learnRecipients()
    try findLostFiles()
    try findLostSecrets()
    try findFilesOfRemoved()
    try noteUnreadableFiles()
  }

  /// Notes the files and subfolders that this run couldn't read.
  func noteUnreadableFiles() throws(StoreError) {
    for (path, file) in listing.unreadable.sorted(by: { $0.key < $1.key }) {
      try note(
        .waiting, file.device ?? UniqueID(high: 0, low: 0), 0, "\(file.error.message): let this user read it",
        at: "\(directory.path)/\(path)")
    }
  }

  enum Outcome { case taken, nothing, stuck }

  /// Adds the devices whose subfolders are new here.
  func findDevices() throws(StoreError) {
    var known: Set<String> = []
    for line in memory.lines.values { known.insert(try keys.subfolder(of: line.device)) }
    for subfolder in try directory.subfolders() ?? []
    where SyncKeys.isSubfolder(subfolder) && !known.contains(subfolder) {
      for name in try listing.names(in: subfolder) ?? [] {
        guard let file = try listing.open(name, in: subfolder, keys),
          case let device = file.header.device, try keys.subfolder(of: device) == subfolder
        else { continue }
        guard memory.lines.count < SyncMemory.maximumLines else {
          try note(
            .refused, device, file.header.sequence, hash: file.file.hash,
            "the folder has more than \(SyncMemory.maximumLines) devices: begin anew in another folder")
          break
        }
        memory.lines[device] = SyncMemory.Line(device)
        break
      }
    }
  }

  /// Takes the next file of a line.
  private func takeNext(of name: UniqueID) throws -> Outcome {
    guard let line = memory.lines[name], !line.isForked else { return .nothing }
    if try learnForks(of: line.device) { return .taken }
    if try takeSecret(of: name) { return .taken }
    let next = try laterFiles(of: name).filter { $0.file.sequence == line.file.sequence + 1 && $0.kind != .secret }
    let following = next.filter { $0.previous == line.file && line.first ?? $0.file.hash == $0.file.hash }
    guard following.count < 2 else {
      try fork(name)
      for entry in following { try addCopy(of: name, beginningWith: entry.file) }
      return .taken
    }
    if let entry = following.first {
      guard let file = try open(entry, of: line.device) else { return .nothing }
      return try take(file, of: name)
    }
    if try takeSnapshot(for: name) == .taken { return .taken }
    if line.first == nil, let other = next.first { try noteFork(of: name, other.file) }
    return .nothing
  }

  func open(_ entry: SyncListing.Entry, of device: UniqueID) throws(StoreError) -> SyncFile? {
    let file = try SyncFile(entry.name, in: try keys.subfolder(of: device), of: directory, keys)
    return file?.file == entry.file ? file : nil
  }

  /// Takes a file of a line, or a snapshot of it.
  private func take(_ file: SyncFile, of name: UniqueID) throws -> Outcome {
    guard !refused.contains(file.file) else { return .stuck }
    do {
      let preamble = try SyncPreamble(file)
      let changeset = try ChangesetReader(file)
      let before = memory.lines
      try learnForks(from: preamble)
      // The file may belong to another line now, or to a former name of this device.
      if memory.lines != before { return .taken }
      guard let home = try translate(changeset, preamble, file) else {
        // A snapshot that the device made after it learned of the copies needs no translation.
        if file.header.kind != .snapshot, try takeSnapshot(of: name) == .taken { return .taken }
        try noteFork(of: name, file.file)
        return .stuck
      }
      guard home == name else { return .nothing }
      let own = try engine.reading { transaction throws(StoreError) in try transaction.ownReplicas() }
      guard changeset.origin.isApplicable(to: own) else {
        try noteMissing(preamble, for: name)
        return file.header.kind == .snapshot ? .nothing : try takeSnapshot(of: name)
      }
      // The sender can have decided before it knew the names of commits, so its documents are compared in any case.
      let isCompared = file.header.kind == .snapshot && (preamble.hasRenamed || memory.hasRenamed)
      guard changeset.origin.isIncluded(in: own), !isCompared else {
        return try take(changeset, preamble, file, as: name)
      }
      try note(file, preamble, changeset.origin, own, as: name)
      return .taken
    } catch let error as StoreError where error.code == .damaged {
      try note(.damaged, name, file.header.sequence, hash: file.file.hash, error.description)
      return .stuck
    } catch let error as StoreError {
      switch error.code {
      // The apps' versions differ, a document or the memory would be too large, there would be too many replicas, a key
      // can't be folded, or a rekey isn't finished.
      case .otherFormat, .tooLarge, .noNumberLeft, .invalidArgument, .rekeyUnfinished:
        let outcome = try refuse(file, of: name, error.description)
        if outcome == .stuck { hasRefused = true }
        return outcome
      default: throw error
      }
    }
  }

  private func take(
    _ changeset: ChangesetReader, _ preamble: SyncPreamble, _ file: SyncFile, as name: UniqueID
  ) throws -> Outcome {
    let before = (memory, stored)
    do {
      let report = try engine.take(
        changeset, named: file.name, isRenamed: preamble.hasRenamed || memory.hasRenamed, policy, progress
      ) { transaction, debts throws(StoreError) in
        try self.note(file, preamble, changeset.origin, debts, in: transaction, as: name)
      }
      note(report, preamble, as: name)
      guard !report.isMerged else { return .taken }
      return try refuse(file, of: name, "it has conflicts, which the policy leaves to a person")
    } catch let error as StoreError {
      // The transaction that remembered the file was rolled back.
      (memory, stored) = before
      switch error.code {
      case .anchorMismatch:
        try noteFork(of: name, file.file)
        return .stuck
      // A device with the folder's secret wrote rows that contradict each other.
      case .setMismatch:
        try note(.damaged, name, file.header.sequence, hash: file.file.hash, error.description)
        return .stuck
      default: throw error
      }
    }
  }

  /// Merges a later snapshot instead of a file that can't be merged, or records the refused file.
  private func refuse(_ file: SyncFile, of name: UniqueID, _ reason: String) throws -> Outcome {
    refused.insert(file.file)
    if file.header.kind != .snapshot, try takeSnapshot(of: name) == .taken { return .taken }
    try note(.refused, name, file.header.sequence, hash: file.file.hash, reason)
    return .stuck
  }

  /// Fills a new store with a snapshot.
  func take(
    joining snapshot: (changeset: ChangesetReader, preamble: SyncPreamble, file: SyncFile)
  ) throws {
    let (changeset, preamble, file) = snapshot
    let device = file.header.device
    memory.lines[device] = SyncMemory.Line(device)
    let report = try engine.fill(with: changeset, named: file.name, progress) {
      transaction, debts throws(StoreError) in
      try self.note(file, preamble, changeset.origin, debts, in: transaction, as: device)
    }
    note(report, preamble, as: device)
  }

  /// Records a file in the transaction that merges it.
  private func note(
    _ file: SyncFile, _ preamble: SyncPreamble, _ origin: ChangesetOrigin, _ debts: AttachmentDebts,
    in transaction: StoreTransaction, as name: UniqueID
  ) throws(StoreError) {
    try note(file, preamble, origin, try transaction.replicas, as: name)
    owe(debts.owed)
    memory.wanted.formUnion(debts.wanted)
    guard memory.wanted.count <= SyncMemory.maximumDebts else {
      throw StoreError(
        .tooLarge, "the file keeps more than \(SyncMemory.maximumDebts) attachments that this store has deleted")
    }
    try save(in: transaction)
  }

  /// Records attachments that another device lacks, or if there are too many, that a full snapshot is owed.
  private func owe(_ attachments: Set<UniqueID>) {
    memory.owed.formUnion(attachments)
    if memory.owed.count > SyncMemory.maximumDebts { (memory.owed, memory.owesSnapshot) = ([], true) }
  }

  private func note(_ report: MergeReport, _ preamble: SyncPreamble, as name: UniqueID) {
    hasTaken = true
    self.report.taken.append(
      FolderSyncReport.Taken(device: SyncDevice.ID(uid: name), label: preamble.label, report: report))
  }

  /// Records a file that this store now includes.
  private func note(
    _ file: SyncFile, _ preamble: SyncPreamble, _ origin: ChangesetOrigin, _ own: Replicas, as name: UniqueID
  ) throws(StoreError) {
    var line = memory.lines[name]!
    line.append(file.file, counter: origin.ownCounter)
    (line.date, line.label) = (file.header.date, preamble.label)
    line.recipient = memory.recipient(of: line.device) ?? preamble.lines[line.device]?.recipient ?? line.recipient
    owe(preamble.wanted.subtracting(memory.wanted))
    memory.share(origin.replicas.entries, in: own)
    // A document's birth may have other names in the stores that take this store's files.
    if preamble.hasRenamed { memory.hasRenamed = true }
    if file.header.kind == .snapshot {
      line.covered = file.file.sequence
      try cover(preamble.lines)
    }
    memory.lines[name] = line
  }

  /// Records that a snapshot includes the files in these lines.
  private func cover(_ lines: [UniqueID: SyncMemory.Line]) throws(StoreError) {
    for (name, theirs) in lines.sorted(by: { $0.key < $1.key }) {
      for (name, publications) in try segments(of: theirs.publications, named: name) ?? [] {
        guard let last = publications.last?.file.sequence else { continue }
        var mine = memory.lines[name] ?? SyncMemory.Line(theirs.device)
        // A line's device never changes, so a dishonest device made this one.
        guard mine.device == theirs.device else { continue }
        mine.covered = max(mine.covered, last)
        if name != memory.device, !mine.isForked, mine.file.sequence < last {
          mine.begin(with: publications)
          mine.first = nil
          (mine.label, mine.date) = (theirs.label, theirs.date)
        }
        if theirs.isForked, mine.file == theirs.file, name != memory.device { mine.isForked = true }
        if theirs.isRemoved { mine.isRemoved = true }
        if memory.lines[name] != nil || memory.lines.count < SyncMemory.maximumLines { memory.lines[name] = mine }
      }
    }
  }

  /// Learns the recipients of the devices that this store knows only from snapshots, from the devices' last files.
  private func learnRecipients() throws(StoreError) {
    for name in memory.others {
      let line = memory.lines[name]!
      guard memory.recipient(of: line.device) == nil, let preamble = try lastPreamble(of: line) else { continue }
      memory.lines[name]!.recipient = preamble.lines[line.device]?.recipient ?? line.recipient
    }
  }

  /// Returns the preamble of a line's last file, or `nil` if the folder doesn't have it whole.
  func lastPreamble(of line: SyncMemory.Line) throws(StoreError) -> SyncPreamble? {
    let file = try listing.open(try keys.name(of: line.file, of: line.device), of: line.device)
    return file.flatMap { try? SyncPreamble($0) }
  }

  // MARK: Snapshots

  /// Takes a later snapshot of a line whose next file builds on commits that this store lacks.
  private func takeSnapshot(of name: UniqueID) throws -> Outcome {
    let line = memory.lines[name]!
    let later = try laterFiles(of: name).last {
      $0.kind == .snapshot && $0.file.sequence > line.file.sequence + 1
    }
    guard let later, let file = try open(later, of: line.device) else { return .nothing }
    return try take(file, of: name)
  }

  /// Takes another line's snapshot, or the line's own, if it leads beyond files that the folder doesn't have anymore.
  private func takeSnapshot(for name: UniqueID) throws -> Outcome {
    let last = memory.lines[name]!.file.sequence
    let later = try laterFiles(of: name)
    for other in [name] + memory.others.filter({ $0 != name && !memory.lines[$0]!.isForked }) {
      let files = other == name ? later : try laterFiles(of: other)
      guard let entry = files.last(where: { $0.kind == .snapshot }),
        let file = try open(entry, of: memory.lines[other]!.device)
      else { continue }
      if other != name {
        do throws(StoreError) {
          guard let head = try SyncPreamble(file).lines[name]?.file, head.sequence > last else { continue }
        } catch {
          guard error.code == .damaged else { throw error }
          continue
        }
        guard let again = try open(entry, of: memory.lines[other]!.device) else { continue }
        if try take(again, of: other) == .taken { return .taken }
      } else if try take(file, of: name) == .taken {
        return .taken
      }
    }
    try noteGap(before: later.first, of: name)
    return .nothing
  }

  /// Returns the files after a line's last file, in ascending order.
  func laterFiles(of name: UniqueID) throws(StoreError) -> [SyncListing.Entry] {
    let line = memory.lines[name]!
    let last = line.file.sequence
    return try listing.newFiles(of: line.device, beyond: lines(of: line.device)).filter { $0.file.sequence > last }
  }

  // MARK: Problems

  /// Notes the files that a file builds on and that aren't here.
  private func noteMissing(_ preamble: SyncPreamble, for name: UniqueID) throws(StoreError) {
    for (other, theirs) in preamble.lines.sorted(by: { $0.key < $1.key })
    where other != memory.device && other != name && !theirs.isForked {
      let mine = memory.lines[other]
      let known = mine?.file.sequence ?? 0
      guard mine?.isForked != true, theirs.file.sequence > known else { continue }
      if mine == nil {
        guard memory.lines.count < SyncMemory.maximumLines else { continue }
        memory.lines[other] = SyncMemory.Line(theirs.device)
      }
      let isHere = try laterFiles(of: other).contains { $0.file.sequence == known + 1 }
      guard !isHere else { continue }
      try note(
        .waiting, other, known + 1,
        "another device has it already: let the carrier bring it here, or sync on the device that made it")
    }
  }

  func noteFork(of name: UniqueID, _ file: SyncMemory.File) throws(StoreError) {
    try note(
      .forked, name, file.sequence, hash: file.hash,
      "the device was copied or put back, and this file belongs to the other history: sync on all devices, and then here "
        + "again")
  }
}
