internal import CofferCopies
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

// If two files of one device have the same predecessor, the device's store was copied or restored, and both copies
// continued. Both copies' commits then have the same names. Every device that detects this renames each copy's commits.
// The new name is derived from the copy's first file, so all devices use the same name.
extension SyncSession {
  /// Takes a new identity if the store's file was restored or copied since the last sync.
  func settleIdentity() throws(StoreError) {
    let (own, isRestored) = try engine.reading { transaction throws(StoreError) in
      (try transaction.replicas.ownReplica.identity, try transaction.isRestored)
    }
    guard !isRestored, own == memory.device else { return try become(after: memory.own.publications.last!) }
    // An interrupted run leaves the file under its temporary name.
    let last = memory.last
    if last.sequence > 0, try !listing.contains(last, of: own) {
      let isThere = try directory.publish(
        SyncFileHeader.pendingName(last.hash), as: try keys.name(of: last, of: own), in: try keys.subfolder(of: own))
      if isThere { listing.add(try keys.name(of: last, of: own), of: own) }
    }
    _ = try learnForks(of: own)
    let later = try listing.newFiles(of: own, beyond: lines(of: own)).last { $0.file.sequence > last.sequence }
    guard memory.device == own, let later else { return }
    try become(after: try lastCommonPublication(with: later))
  }

  /// Returns the last publication that this store shares with a later file of another copy.
  private func lastCommonPublication(with later: SyncListing.Entry) throws(StoreError) -> SyncMemory.Publication {
    let mine = memory.own.publications
    if let file = try open(later, of: memory.device), let preamble = try? SyncPreamble(file) {
      let theirs = Set(preamble.lines[memory.device]?.publications.map(\.file) ?? [])
      if let common = mine.last(where: { theirs.contains($0.file) }) { return common }
    }
    // The other copy's snapshot removed the files in between. Each of this copy's own later files is still there, because
    // only its author removes it.
    var common: SyncMemory.Publication?
    for publication in mine where try !listing.contains(publication.file, of: memory.device) { common = publication }
    return common ?? mine.last!
  }

  /// Continues as another device, because another store shares this device's history.
  ///
  /// - Parameters:
  ///   - common: The last common publication.
  ///   - copy: The name for this store's later publications, if there are any.
  private func become(after common: SyncMemory.Publication, as copy: UniqueID? = nil) throws(StoreError) {
    let (old, line) = (memory.device, memory.own)
    try writing { transaction throws(StoreError) in
      let generation = transaction.start.generation
      _ = try transaction.writer.upcomingDot()
      let isSame = try transaction.replicas.ownReplica.identity == old
      if isSame {
        try transaction.renewIdentity(
          after: common.counter, published: copy.map { (counter: line.counter, name: $0) })
      }
      let replicas = try transaction.replicas
      if let copy { divide(old, after: common, as: copy, isFormer: true) }
      try memory.become(replicas.ownReplica.identity, counter: try transaction.writer.dot.counter)
      if isSame {
        memory.generation = min(memory.generation, generation)
        memory.unshare(old, after: common.counter, in: replicas)
        memory.hasRenamed = true
      }
      try save(in: transaction)
      try transaction.commit()
    }
    report.isNewDevice = true
  }

  /// Runs a write transaction that changes the memory. The memory stays unchanged if the transaction fails.
  private func writing(_ body: (StoreTransaction) throws(StoreError) -> Void) throws(StoreError) {
    let before = (memory, stored)
    do throws(StoreError) {
      try engine.writing(body)
    } catch {
      (memory, stored) = before
      throw error
    }
  }

  /// Ends a line with a publication, and continues with another line from there.
  private func divide(_ name: UniqueID, after common: SyncMemory.Publication, as copy: UniqueID, isFormer: Bool) {
    let line = memory.lines[name]!
    var rest = line
    rest.begin(with: [common] + line.publications.filter { $0.file.sequence > common.file.sequence })
    rest.isFormer = isFormer || line.isFormer
    memory.lines[copy] = rest
    memory.lines[name]!.publications.removeAll { $0.file.sequence >= common.file.sequence }
    memory.lines[name]!.publications.append(common)
    memory.lines[name]!.isForked = true
    memory.owesSnapshot = true
  }

  /// Returns the name for a copy's commits.
  static func name(of device: UniqueID, beginningWith file: SyncMemory.File) throws(StoreError) -> UniqueID {
    try UniqueID(hashing: "coffer3/sync-copy", device.bytes + file.hash)
  }

  // MARK: Detecting copies

  /// Compares a device's known lines with its files in the folder.
  ///
  /// - Returns: Whether lines changed.
  func learnForks(of device: UniqueID) throws(StoreError) -> Bool {
    let before = memory.lines
    for entry in try listing.newFiles(of: device, beyond: lines(of: device)) where !refused.contains(entry.file) {
      do throws(StoreError) {
        try learn(entry.file, after: entry.previous, of: device)
      } catch {
        // There are too many lines or replicas to tell the copies apart.
        guard error.code == .tooLarge || error.code == .noNumberLeft else { throw error }
        refused.insert(entry.file)
        try note(.refused, device, entry.file.sequence, hash: entry.file.hash, error.description)
      }
    }
    return memory.lines != before
  }

  /// Compares the known lines with another device's lines, and detects whether this store is an older copy.
  func learnForks(from preamble: SyncPreamble) throws(StoreError) {
    for (_, theirs) in preamble.lines.sorted(by: { $0.key < $1.key }) {
      for (previous, next) in zip(theirs.publications, theirs.publications.dropFirst())
      where next.file.sequence == previous.file.sequence + 1 {
        try learn(next.file, after: previous.file, of: theirs.device)
      }
      if let first = theirs.first {
        let next = SyncMemory.File(sequence: theirs.file.sequence + 1, hash: first)
        try learn(next, after: theirs.file, of: theirs.device)
      }
      // This store is an older copy if other devices have later files from its device.
      if theirs.device == memory.device, let mine = preamble.lines[memory.device],
        mine.file.sequence > memory.last.sequence || mine.isForked && mine.file == memory.last
      {
        try become(after: memory.own.publications.last!)
      }
    }
    try learnEnds(from: preamble.lines)
  }

  /// Ends the lines that another device has ended.
  private func learnEnds(from lines: [UniqueID: SyncMemory.Line]) throws(StoreError) {
    for (name, theirs) in lines.sorted(by: { $0.key < $1.key }) where theirs.isForked {
      guard let mine = memory.lines[name], !mine.isForked else { continue }
      if mine.file == theirs.file, name != memory.device {
        memory.lines[name]!.isForked = true
      } else if mine.file.sequence > theirs.file.sequence,
        let copy = try copy(of: name, with: mine.publications[...], in: lines)
      {
        try fork(name, after: theirs.publications.last!, as: copy)
      }
    }
  }

  /// Compares a device's file with the device's lines, and divides the line if it has another file with the same
  /// number.
  private func learn(
    _ file: SyncMemory.File, after previous: SyncMemory.File, of device: UniqueID
  ) throws(StoreError) {
    for name in memory.lines.keys.sorted() {
      guard let line = memory.lines[name], line.device == device,
        // A copy's line begins with the last common file.
        let index = line.publications.indices.first(where: {
          line.publications[$0].file == previous && ($0 > 0 || name == device)
        })
      else { continue }
      if index == line.publications.count - 1 {
        if line.isForked { return try addCopy(of: name, beginningWith: file) }
        // This device didn't write the file, so a copy of the store did.
        if name == memory.device { try become(after: line.publications[index]) }
        return
      }
      let next = line.publications[index + 1].file
      // The line skips numbers if a snapshot replaced the files in between.
      guard next.sequence == file.sequence, next != file else { return }
      try fork(name, after: line.publications[index], as: try Self.name(of: device, beginningWith: next))
      return try addCopy(of: name, beginningWith: file)
    }
  }

  /// Ends a line with the last file, because several files follow it.
  func fork(_ name: UniqueID) throws(StoreError) {
    memory.lines[name]!.isForked = true
    try noteCopies(of: name)
  }

  /// Ends a line with an earlier file, because another file also follows it, and renames the later commits.
  private func fork(
    _ name: UniqueID, after common: SyncMemory.Publication, as copy: UniqueID
  ) throws(StoreError) {
    if name == memory.device {
      try become(after: common, as: copy)
      return try noteCopies(of: name)
    }
    try writing { transaction throws(StoreError) in
      try transaction.splitCommits(of: name, after: common.counter, as: copy)
      divide(name, after: common, as: copy, isFormer: false)
      memory.unshare(name, after: common.counter, in: try transaction.replicas)
      memory.generation = min(memory.generation, transaction.start.generation)
      memory.hasRenamed = true
      try save(in: transaction)
      try transaction.commit()
    }
    try noteCopies(of: name)
  }

  private func noteCopies(of name: UniqueID) throws(StoreError) {
    try note(
      .forked, name, memory.lines[name]!.file.sequence,
      "the device was copied or put back, and both copies went on: this run merges what both of them published")
  }

  /// Adds a line for a copy that begins after the end of a device's line.
  func addCopy(of name: UniqueID, beginningWith file: SyncMemory.File) throws(StoreError) {
    let common = memory.lines[name]!
    let copy = try Self.name(of: common.device, beginningWith: file)
    guard memory.lines[copy] == nil, memory.lines.count < SyncMemory.maximumLines else { return }
    var line = SyncMemory.Line(common.device, after: common.publications.last!)
    (line.first, line.label, line.date, line.covered) = (file.hash, common.label, common.date, common.covered)
    memory.lines[copy] = line
  }

  // MARK: Names

  /// Returns the parts of a device's publications by their lines in this store, or `nil` if a line is unknown.
  func segments(
    of publications: [SyncMemory.Publication], named name: UniqueID
  ) throws(StoreError) -> [(name: UniqueID, publications: [SyncMemory.Publication])]? {
    var (name, rest) = (name, publications[...])
    var segments: [(UniqueID, [SyncMemory.Publication])] = []
    while let line = memory.lines[name], line.isForked, let last = rest.last, last.file.sequence > line.file.sequence {
      guard let next = try copy(of: name, with: rest, in: memory.lines), !segments.contains(where: { $0.0 == next })
      else { return nil }
      if let index = rest.firstIndex(where: { $0.file == line.file }) {
        segments.append((name, Array(rest[...index])))
        rest = rest[index...]
      } else {
        let common = line.publications.last!
        segments.append((name, [common]))
        rest = [common] + rest.drop { $0.file.sequence <= common.file.sequence }
      }
      name = next
    }
    segments.append((name, Array(rest)))
    return segments
  }

  /// Returns the copy whose line contains the publications after the end of a line, or `nil` if the copy is unknown.
  private func copy(
    of name: UniqueID, with publications: ArraySlice<SyncMemory.Publication>, in lines: [UniqueID: SyncMemory.Line]
  ) throws(StoreError) -> UniqueID? {
    let (device, end) = (lines[name]!.device, lines[name]!.file)
    let later = publications.drop { $0.file.sequence <= end.sequence }
    if let first = later.first, first.file.sequence == end.sequence + 1,
      publications.contains(where: { $0.file == end })
    {
      return try Self.name(of: device, beginningWith: first.file)
    }
    // The files in between are no longer known, so start from a line with one of the later files and search backwards.
    let files = Set(later.map(\.file))
    for start in lines.keys.sorted() where lines[start]!.device == device {
      guard lines[start]!.publications.dropFirst().contains(where: { files.contains($0.file) }) else { continue }
      var copy = start
      // The lines come from another device, and may form a cycle.
      var seen: Set<UniqueID> = []
      while copy != device, seen.insert(copy).inserted, case let beginning = lines[copy]!.publications[0].file,
        let former = lines.keys.sorted().first(where: {
          $0 != copy && lines[$0]!.device == device && lines[$0]!.isForked && lines[$0]!.file == beginning
        })
      {
        if former == name { return copy }
        copy = former
      }
    }
    return nil
  }

  /// Renames a changeset's commits to their names in this store.
  ///
  /// - Returns: The line of the changeset's file, or `nil` if it's unknown which of the sender's copies made the
  ///   commits.
  func translate(
    _ changeset: ChangesetReader, _ preamble: SyncPreamble, _ file: SyncFile
  ) throws(StoreError) -> UniqueID? {
    var lines = preamble.lines
    let device = file.header.device
    lines[device]?.append(file.file, counter: changeset.origin.ownCounter)
    for (name, theirs) in lines.sorted(by: { $0.key < $1.key }) {
      guard let segments = try segments(of: theirs.publications, named: name) else { return nil }
      for (one, next) in zip(segments, segments.dropFirst()) {
        try changeset.rename(one.name, after: one.publications.last!.counter, as: next.name)
        memory.hasRenamed = true
      }
    }
    return try segments(of: lines[device]?.publications ?? [], named: device)?.last?.name
  }
}
