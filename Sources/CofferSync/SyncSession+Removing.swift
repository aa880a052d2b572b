internal import CofferCopies
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

// Removing a device gives the folder a new secret, which the removed device doesn't receive. The device that removes it
// publishes the secret in its last file with the former secret, sealed for each remaining device. Every device then
// publishes a snapshot with the new secret, so the folder starts over.
extension SyncSession {
  // MARK: Removing a device

  /// Removes a device, and syncs with the new secret.
  package func remove(_ device: SyncDevice.ID) throws -> FolderSyncReport {
    try completeNotices()
    try settleIdentity()
    try takeAll()
    let name = device.uid
    guard !isHeld else {
      throw StoreError(
        .invalidArgument, "\(directory.path): the folder has several new secrets already",
        hint: "\(.syncStatus) lists their files: delete all but one")
    }
    guard name != memory.device, !memory.own.isRemoved, let line = memory.lines[name], !line.isRemoved else {
      throw StoreError(
        .invalidArgument, "\(directory.path): the folder has no other device \(device)",
        hint: "name one of the devices that \(.syncStatus) lists")
    }
    try publishChanges()
    // A device's copies have its key pair, or had it before they changed theirs. Each copy has the device's ID range.
    let replicas = try engine.reading { transaction throws(StoreError) in try transaction.ownReplicas() }
    let range = replicas.range(of: line.device)
    for other in memory.others {
      let copy = memory.lines[other]!
      let hasRange = range != nil && replicas.range(of: copy.device) == range
      if copy.device == line.device || hasRange { memory.lines[other]!.isRemoved = true }
    }
    try publishSecret(try SyncMemory.newSecret())
    let report = try run()
    return report
  }

  private func publishSecret(_ secret: [UInt8]) throws(StoreError) {
    let subfolder = try keys.subfolder(of: memory.device)
    let header = SyncFileHeader(
      kind: .secret, device: memory.device, sequence: memory.last.sequence + 1, previous: memory.last.hash,
      identity: try translatingErrors { () throws(SealingError) in try UniqueID.random() }, date: now())
    let file = try directory.create(in: subfolder)
    let name: String
    do throws(StoreError) {
      let output = SyncFileWriter(header, keys, file)
      try SyncPreamble(memory).write(to: output)
      var recipients = try recipients()
      // A backup of this store needs the secret, too.
      if !memory.lines.values.contains(where: { $0.isRemoved && $0.recipient == memory.own.recipient }) {
        recipients.append(memory.own.recipient)
      }
      var builder = ByteBuilder()
      builder.append(varint: UInt64(recipients.count))
      for recipient in recipients {
        builder.append(bytes: try SyncSecretBox.seal(secret, for: recipient, in: header.identity, keys.folder))
      }
      var payload = ByteBuilder()
      payload.append(UInt32(builder.bytes.count))
      payload.append(bytes: builder.bytes)
      try output.write(payload.bytes)
      let (hash, byteCount) = try output.finish()
      let notice = SyncMemory.File(sequence: header.sequence, hash: hash)
      name = try keys.name(of: notice, of: memory.device)
      memory.own.append(notice, counter: memory.own.counter)
      memory.own.date = header.date
      memory.begin(with: secret, notice: notice)
      report.publishedBytes += byteCount
    } catch {
      file.discard()
      throw error
    }
    try saveMemory()
    try publish(memory.last, as: name, in: subfolder)
    try useNewSecret()
  }

  /// Returns the recipients of the devices that remain.
  ///
  /// If this store hasn't read a device's file, another remaining device names its recipient. The removed devices don't,
  /// because they'd name a key of their own.
  private func recipients() throws(StoreError) -> [[UInt8]] {
    let members = memory.members.map { memory.lines[$0]! }
    var found: [UniqueID: [UInt8]] = [:]
    for line in members { found[line.device] = memory.recipient(of: line.device) ?? SyncMemory.noRecipient }
    for author in members where found.values.contains(SyncMemory.noRecipient) {
      let lines = try lastPreamble(of: author)?.lines ?? [:]
      for (device, recipient) in found where recipient == SyncMemory.noRecipient {
        found[device] = lines[device]?.recipient ?? recipient
      }
    }
    return found.sorted { $0.key < $1.key }.map(\.value).filter { $0 != SyncMemory.noRecipient }
  }

  /// Renames the files with a new secret to their final names, in case a run was interrupted before the rename.
  func completeNotices() throws(StoreError) {
    for former in memory.formers {
      guard let notice = former.notice else { continue }
      let old = try SyncKeys(family: family, folder: memory.folder, secret: former.secret)
      _ = try directory.publish(
        SyncFileHeader.pendingName(notice.hash), as: try old.name(of: notice, of: memory.device),
        in: try old.subfolder(of: memory.device))
    }
  }

  // MARK: Receiving a new secret

  /// Reports the files with a new folder secret if there are several, and returns whether there are.
  ///
  /// Two devices can remove other devices at the same time, and a removed device can also make such a file. This device
  /// can't determine which file to follow, so it doesn't take or publish files.
  func hasSeveralSecrets() throws(StoreError) -> Bool {
    guard !memory.own.isRemoved else { return false }
    var found: [[UInt8]: (device: UniqueID, entry: SyncListing.Entry)] = [:]
    for name in memory.others where !memory.lines[name]!.isForked {
      let device = memory.lines[name]!.device
      for entry in try laterFiles(of: name) where entry.kind == .secret { found[entry.file.hash] = (device, entry) }
    }
    guard found.count > 1 else { return false }
    for (device, entry) in found.values.sorted(by: { $0.entry.name < $1.entry.name }) {
      try note(
        .removed, device, entry.file.sequence, hash: entry.file.hash,
        "several devices removed others at the same time, or a removed device pretends to: nothing is taken or published "
          + "until only one of these files is left: keep that of the device on which you removed another")
    }
    return true
  }

  /// Takes the folder's next secret from a later file in a line.
  ///
  /// - Returns: Whether this device continues with the secret.
  func takeSecret(of name: UniqueID) throws(StoreError) -> Bool {
    let line = memory.lines[name]!
    guard !memory.own.isRemoved, let entry = try laterFiles(of: name).last(where: { $0.kind == .secret }),
      let file = try open(entry, of: line.device)
    else { return false }
    if try hasSeveralSecrets() {
      isHeld = true
      return false
    }
    let preamble: SyncPreamble
    let secret: [UInt8]?
    do throws(StoreError) {
      preamble = try SyncPreamble(file)
      secret = try SyncSecretBox.find(in: file, for: [memory.agreement, memory.formerAgreement], keys.folder)
    } catch {
      guard error.code == .damaged else { throw error }
      try note(.damaged, name, entry.file.sequence, hash: entry.file.hash, error.description)
      return false
    }
    for (other, theirs) in preamble.lines where theirs.isRemoved { memory.lines[other]?.isRemoved = true }
    guard let secret, !memory.own.isRemoved else {
      memory.lines[memory.device]!.isRemoved = true
      return false
    }
    memory.lines[name]!.append(entry.file, counter: line.counter)
    memory.lines[name]!.date = file.header.date
    memory.begin(with: secret)
    try saveMemory()
    try useNewSecret()
    return true
  }

  // MARK: Later files

  private static let lateFile =
    "the device was removed, and this later file of it isn't taken: if its changes are needed, let it join again and "
    + "enter them there; otherwise remove the file"
  private static let otherSecret =
    "the file says that the device removed another one at the same time as this device or a third one did: if so, it and "
    + "this device no longer exchange, and one of them needs a new store from the other's invitation; if not, a removed "
    + "device made the file, so remove it"

  /// Reports this device's files with a new secret that are gone from the folder.
  func findLostSecrets() throws(StoreError) {
    guard !memory.own.isRemoved else { return }
    // A restored store has published the file under a former name.
    let devices = [memory.device] + Set(memory.lines.values.map(\.device)).subtracting([memory.device])
    for former in memory.formers {
      guard let notice = former.notice else { continue }
      let old = try SyncKeys(family: family, folder: memory.folder, secret: former.secret)
      var isThere = false
      for device in devices where !isThere {
        let name = try old.name(of: notice, of: device)
        do throws(StoreError) {
          isThere = try directory.files(in: try old.subfolder(of: device)).contains { $0.name == name }
        } catch {
          // A subfolder that can't be read can have the file.
          guard error.code == .readOnly || error.code == .ioFailure else { throw error }
          isThere = true
        }
      }
      guard !isThere else { continue }
      try note(
        .rolledBack, memory.device, notice.sequence,
        "the file with the folder's new secret is gone, and devices that haven't seen it go on without this one: let the "
          + "carrier copy it again",
        at: "\(directory.path)/\(try old.subfolder(of: memory.device))/\(try old.name(of: notice, of: memory.device))")
    }
  }

  /// Reports files that removed devices published later, which other devices don't take, and other new secrets.
  func findFilesOfRemoved() throws(StoreError) {
    if memory.own.isRemoved {
      // Other problems in the folder don't concern a removed device.
      report.problems = []
      return try note(
        .removed, memory.device, memory.last.sequence,
        "this device doesn't have the folder's new secret, because it was removed, or because the device that removed "
          + "another one didn't know it yet: make a new store from a new invitation, and enter there what is missing")
    }
    for former in memory.formers {
      let old = try SyncKeys(family: family, folder: memory.folder, secret: former.secret)
      for name in memory.others {
        let line = memory.lines[name]!
        // A device's copies share a subfolder.
        guard line.isRemoved || name == line.device else { continue }
        let known = line.isRemoved ? line.file.sequence : lines(of: line.device).map(\.file.sequence).max() ?? 0
        let subfolder = try old.subfolder(of: line.device)
        var late: [(number: UInt64, name: String)] = []
        for entry in try listing.names(in: subfolder, of: name) ?? [] {
          guard let file = try listing.open(entry, in: subfolder, old, of: name),
            file.header.device == line.device, file.header.sequence > known,
            line.isRemoved || file.header.kind == .secret
          else { continue }
          late.append((file.header.sequence, entry))
        }
        for file in late.sorted(by: <) {
          try note(
            .removed, name, file.number,
            line.isRemoved ? Self.lateFile : Self.otherSecret,
            at: "\(directory.path)/\(subfolder)/\(file.name)")
        }
      }
    }
  }

  /// Removes this device's files from before the secret changed, because its snapshot replaces them. Keeps the file
  /// with the new secret, because a device can be offline indefinitely.
  func removeFormerFiles() throws(StoreError) {
    guard !memory.owesSnapshot else { return }
    var isChanged = false
    for (index, former) in memory.formers.enumerated() where former.hasFiles {
      let old = try SyncKeys(family: family, folder: memory.folder, secret: former.secret)
      let subfolder = try old.subfolder(of: memory.device)
      var kept: String?
      if let notice = former.notice { kept = try old.name(of: notice, of: memory.device) }
      for file in try directory.files(in: subfolder)
      where file.name != kept && (SyncKeys.isName(file.name) || file.name == SyncSetup.invitationName) {
        try directory.remove(file.name, in: subfolder)
      }
      memory.formers[index].hasFiles = false
      isChanged = true
    }
    if isChanged { try saveMemory() }
  }
}

extension Replicas {
  /// Returns the ID range of a device and its copies, or `nil` if this store doesn't include any of the device's
  /// commits.
  fileprivate func range(of device: UniqueID) -> UInt64? { number(of: device).map { self[$0].range } }
}

/// A folder's secret, sealed for one device.
enum SyncSecretBox {
  private static let byteCount = 32 + XAESKey.overhead + SyncKeys.secretByteCount
  private static let maximumBoxes = SyncMemory.maximumLines

  /// - Parameter file: The identity of the file that contains the box.
  static func seal(
    _ secret: [UInt8], for recipient: [UInt8], in file: UniqueID, _ folder: UniqueID
  ) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      let ephemeral = try Secret.random(byteCount: 32)
      let sender = try X25519.publicKey(of: ephemeral)
      let shared = try X25519.sharedSecret(of: ephemeral, with: recipient)
      return try sender
        + key(shared, sender, recipient).seal(secret, authenticating: binding(file, folder, recipient))
    }
  }

  /// Returns the secret from a device's box in a file, or `nil` if the file doesn't have one for this device.
  ///
  /// - Throws: `damaged`.
  static func find(
    in file: SyncFile, for agreements: [[UInt8]], _ folder: UniqueID
  ) throws(StoreError) -> [UInt8]? {
    let damage = StoreError(.damaged, "\(file.name): the file with the folder's new secret is invalid")
    let count = try file.read(4).reduce(0) { $0 << 8 | Int($1) }
    guard count <= maximumBoxes * byteCount + 4 else { throw damage }
    let boxes: [[UInt8]]? = try file.read(count).withBytes { bytes in
      var reader = ByteReader(bytes)
      guard let count = reader.varint(), count <= UInt64(maximumBoxes) else { return nil }
      var boxes: [[UInt8]] = []
      for _ in 0..<count {
        guard let box = reader.bytes(byteCount) else { return nil }
        boxes.append(Array(box))
      }
      return reader.isAtEnd ? boxes : nil
    }
    guard let boxes else { throw damage }
    for agreement in agreements where agreement != SyncMemory.noRecipient {
      let recipient = try SyncMemory.recipient(of: agreement)
      for box in boxes {
        do throws(SealingError) {
          let sender = Array(box.prefix(32))
          let shared = try X25519.sharedSecret(of: agreement.withUnsafeBytes { Secret(copying: $0) }, with: sender)
          return try key(shared, sender, recipient).open(
            Array(box.dropFirst(32)), authenticating: binding(file.header.identity, folder, recipient))
        } catch {
          guard error.code == .notAuthentic else { throw StoreError(error) }
        }
      }
    }
    return nil
  }

  private static func key(
    _ shared: Secret, _ sender: [UInt8], _ recipient: [UInt8]
  ) throws(SealingError) -> XAESKey {
    var info = ByteBuilder()
    info.append(label: "coffer3/sync-secret")
    return try XAESKey(hkdf(shared, salt: sender + recipient, info: info.bytes))
  }

  private static func binding(_ file: UniqueID, _ folder: UniqueID, _ recipient: [UInt8]) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/sync-secret").adding(folder.bytes).adding(file.bytes).adding(recipient).bytes
  }
}
