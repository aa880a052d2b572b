package import CofferEngine
package import CofferRecords
internal import CofferSealing

/// A store's memory of its sync folder, sealed with the store's replicas (Sync-Format, "Memory").
package struct SyncMemory: Sendable, Equatable {
  /// A published file.
  struct File: Sendable, Hashable {
    var sequence: UInt64 = 0
    var hash = SyncFileHeader.noFile
  }

  /// A device's file, and the counter up to which the device's commits were published at that time.
  struct Publication: Sendable, Equatable {
    var file = File()
    var counter: UInt64 = 0
  }

  /// A device's files in order. Each file names its predecessor.
  ///
  /// A copied device has several histories. Its line ends with their last common file, and each history continues in a
  /// separate line. Such a line has the device's folder, and a name derived from its first file.
  struct Line: Sendable, Equatable {
    /// The device that the files name as their author.
    let device: UniqueID
    /// The last known files, in ascending order. A copy's line begins with the file before the copy's own first file.
    var publications: [Publication]
    /// The first file's hash in a copy's line, until the file is taken.
    var first: [UInt8]?
    /// Whether the copies' histories continue in separate lines.
    var isForked = false
    /// Whether this store wrote the files under a former name.
    var isFormer = false
    /// The date of the last file.
    var date = Timestamp(millisecondsSince1970: 0)
    var label = ""
    /// The number of the last file that a snapshot includes.
    var covered: UInt64 = 0
    /// The public key that seals a new folder secret for the device, or zeros.
    var recipient = SyncMemory.noRecipient
    /// Whether the device was removed from the folder.
    var isRemoved = false

    init(_ device: UniqueID, after publication: Publication = Publication()) {
      self.device = device
      publications = [publication]
    }

    /// The last file.
    var file: File { publications.last?.file ?? File() }
    /// The counter up to which the last file publishes the device's commits.
    var counter: UInt64 { publications.last?.counter ?? 0 }

    mutating func append(_ file: File, counter: UInt64) {
      publications.append(Publication(file: file, counter: counter))
      publications.removeFirst(max(0, publications.count - SyncMemory.maximumPublications))
      first = nil
    }

    /// Sets the publications of a line that begins after a common publication. A line remembers its first and last
    /// publications.
    mutating func begin(with publications: [Publication]) {
      self.publications = publications.prefix(1) + publications.dropFirst().suffix(SyncMemory.maximumPublications - 1)
    }
  }

  /// A folder secret that was in use before the removal of a device.
  struct Former: Sendable, Equatable {
    var secret: [UInt8]
    /// The file in which this device published the next secret, or `nil` if another device published it.
    var notice: File?
    /// Whether this device's files from that time are still in the folder.
    var hasFiles = true
  }

  static let noRecipient = [UInt8](repeating: 0, count: 32)
  /// The maximum number of former secrets. A store keeps them to recognize late files from removed devices.
  static let maximumFormers = 8
  static let maximumPublications = 16
  static let maximumLines = 256
  static let labels = 0...64
  /// The maximum number of attachments in each of ``owed`` and ``wanted``.
  static let maximumDebts = 4096

  /// The folder's random identity.
  package var folder: UniqueID
  /// The random secret, known only to the folder's devices.
  var secret: [UInt8]
  /// The folder's former secrets, in order.
  var formers: [Former] = []
  /// The private key for this device's recipient. `formerAgreement` is the key under its former name, or zeros.
  var agreement: [UInt8]
  var formerAgreement = noRecipient
  /// The store's replica at the last sync.
  var device: UniqueID
  /// The generation after which this store's changes are unpublished.
  var generation: UInt64 = 0
  /// The counters that the folder's files include, by replica number in the store.
  var shared: [UInt64] = []
  /// The lines of all devices and their copies, by the replicas whose commits they publish.
  var lines: [UniqueID: Line] = [:]
  /// Whether this store renamed commits, or includes files from a store that did.
  var hasRenamed = false
  /// Whether other devices need a snapshot from this device, because its files build on renamed commits, or because the
  /// folder's secret changed.
  var owesSnapshot = false
  /// Whether this store couldn't merge a file. Once it can, others that couldn't merge this device's files may need a
  /// snapshot.
  var hasRefused = false
  /// The attachments that another device lacks.
  var owed: Set<UniqueID> = []
  /// The attachments missing from this store because it deleted their documents and other stores kept them.
  var wanted: Set<UniqueID> = []
  /// The wanted attachments that this device's files request.
  var asked: Set<UniqueID> = []

  /// - Parameters:
  ///   - secret: The folder's secret, or `nil` for a new folder.
  ///   - counter: The device's counter before its first file.
  init(
    folder: UniqueID, secret: [UInt8]?, device: UniqueID, label: String, counter: UInt64
  ) throws(StoreError) {
    (self.folder, self.device, agreement) = (folder, device, [])
    self.secret = if let secret { secret } else { try Self.newSecret() }
    own = Line(device, after: Publication(counter: counter))
    own.label = label
    try renewAgreement()
  }

  /// Returns a private key's public key.
  static func recipient(of agreement: [UInt8]) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      try X25519.publicKey(of: agreement.withUnsafeBytes { Secret(copying: $0) })
    }
  }

  static func newSecret() throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try SystemRandom.bytes(SyncKeys.secretByteCount) }
  }

  /// Replaces this device's key pair with a pair that its copies don't have.
  private mutating func renewAgreement() throws(StoreError) {
    agreement = try Self.newSecret()
    own.recipient = try Self.recipient(of: agreement)
  }

  /// This device's files.
  var own: Line {
    get { lines[device] ?? Line(device) }
    set { lines[device] = newValue }
  }
  /// This device's last file.
  var last: File { own.file }
  /// The other lines in a fixed order.
  var others: [UniqueID] { lines.keys.filter { $0 != device }.sorted() }

  /// Records that the folder's files include other replicas' commits up to their counters.
  ///
  /// - Parameter own: The store's replicas.
  mutating func share(_ entries: [Replica], in own: Replicas) {
    for entry in entries { share(entry.identity, entry.counter, in: own) }
  }

  mutating func share(_ identity: UniqueID, _ counter: UInt64, in own: Replicas) {
    guard let number = own.number(of: identity) else { return }
    while shared.count <= Int(number) { shared.append(0) }
    shared[Int(number)] = max(shared[Int(number)], counter)
  }

  /// Records that the folder's files don't include a replica's commits after a counter.
  mutating func unshare(_ identity: UniqueID, after counter: UInt64, in own: Replicas) {
    guard let number = own.number(of: identity), Int(number) < shared.count else { return }
    shared[Int(number)] = min(shared[Int(number)], counter)
  }

  /// Returns the counters that the folder's files include, for each of the store's replicas.
  func base(of own: Replicas) -> [UInt64] {
    zip(own.entries, shared + [UInt64](repeating: 0, count: own.entries.count)).map { min($0.counter, $1) }
  }

  /// Continues as another device, and treats the former device like any other device.
  mutating func become(_ device: UniqueID, counter: UInt64) throws(StoreError) {
    let label = own.label
    self.device = device
    own = Line(device, after: Publication(counter: counter))
    own.label = label
    formerAgreement = agreement
    try renewAgreement()
  }

  /// Continues with another folder secret. Treats the earlier files as covered, so they aren't reported as missing.
  mutating func begin(with new: [UInt8], notice: File? = nil) {
    formers.append(Former(secret: secret, notice: notice))
    formers.removeFirst(max(0, formers.count - Self.maximumFormers))
    secret = new
    owesSnapshot = true
    for name in lines.keys { lines[name]!.covered = max(lines[name]!.covered, lines[name]!.file.sequence) }
  }

  /// The other devices' lines that people see, and can remove.
  ///
  /// A line that ended isn't listed if a copy's line is. The copies have the same key pair until they take new
  /// identities.
  var listed: [UniqueID] {
    let going = Set(lines.values.filter { !$0.isForked && !$0.isFormer && !$0.isRemoved }.map(\.device))
    return others.filter { name in
      let line = lines[name]!
      return !line.isFormer && (!line.isForked || !line.isRemoved && !going.contains(line.device))
    }
  }

  /// The lines whose devices receive a new folder secret.
  var members: [UniqueID] { listed.filter { !lines[$0]!.isRemoved } }

  /// Returns a device's recipient, which its copies share, or `nil` if this store hasn't read a file of the device.
  func recipient(of device: UniqueID) -> [UInt8]? {
    lines.values.first { $0.device == device && $0.recipient != Self.noRecipient }?.recipient
  }

  // MARK: The stored form

  var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: 512)
    builder.append(UInt8(2))
    builder.append(folder)
    builder.append(bytes: secret)
    builder.append(bytes: agreement)
    builder.append(bytes: formerAgreement)
    builder.append(UInt8(formers.count))
    for former in formers {
      builder.append(bytes: former.secret)
      builder.append(UInt8((former.hasFiles ? 1 : 0) + (former.notice == nil ? 0 : 2)))
      if let notice = former.notice {
        builder.append(varint: notice.sequence)
        builder.append(bytes: notice.hash)
      }
    }
    builder.append(device)
    builder.append(varint: generation)
    builder.append(varint: UInt64(shared.count))
    for counter in shared { builder.append(varint: counter) }
    builder.append(UInt8((hasRenamed ? 1 : 0) + (owesSnapshot ? 2 : 0) + (hasRefused ? 4 : 0)))
    for set in [owed, wanted, asked] { builder.append(set) }
    builder.append(lines)
    return builder.bytes
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let version: UInt8 = reader.integer(), version == 2, let folder = reader.uniqueID(),
      let secret = reader.bytes(SyncKeys.secretByteCount), let agreement = reader.bytes(SyncKeys.secretByteCount),
      let formerAgreement = reader.bytes(SyncKeys.secretByteCount), let formers = reader.formerSecrets(),
      let device = reader.uniqueID(), let generation = reader.varint(), let counters = reader.varint(),
      counters <= UInt64(Replicas.maximumCount)
    else { return nil }
    (self.folder, self.device, self.generation) = (folder, device, generation)
    (self.secret, self.formers) = (Array(secret), formers)
    (self.agreement, self.formerAgreement) = (Array(agreement), Array(formerAgreement))
    for _ in 0..<counters {
      guard let counter = reader.varint() else { return nil }
      shared.append(counter)
    }
    guard let flags: UInt8 = reader.integer(), flags <= 7, let owed = reader.uniqueIDs(),
      let wanted = reader.uniqueIDs(), let asked = reader.uniqueIDs(), let lines = reader.syncLines(),
      lines[device] != nil, reader.isAtEnd
    else { return nil }
    (hasRenamed, owesSnapshot, hasRefused) = (flags & 1 == 1, flags & 2 == 2, flags & 4 == 4)
    (self.owed, self.wanted, self.asked, self.lines) = (owed, wanted, asked, lines)
  }

  static func label(_ reader: inout ByteReader) -> String? {
    guard let count: UInt8 = reader.integer(), labels.contains(Int(count)), let bytes = reader.bytes(Int(count))
    else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension ByteBuilder {
  mutating func append(_ set: Set<UniqueID>) {
    append(varint: UInt64(set.count))
    for uid in set.sorted() { append(uid) }
  }
}

extension ByteReader {
  fileprivate mutating func formerSecrets() -> [SyncMemory.Former]? {
    guard let count: UInt8 = integer(), count <= SyncMemory.maximumFormers else { return nil }
    var formers: [SyncMemory.Former] = []
    for _ in 0..<count {
      guard let secret = bytes(SyncKeys.secretByteCount), let flags: UInt8 = integer(), flags <= 3 else { return nil }
      var former = SyncMemory.Former(secret: Array(secret), hasFiles: flags & 1 == 1)
      if flags & 2 == 2 {
        guard let sequence = varint(), let hash = bytes(SyncFileHeader.hashCount) else { return nil }
        former.notice = SyncMemory.File(sequence: sequence, hash: Array(hash))
      }
      formers.append(former)
    }
    return formers
  }

  mutating func uniqueIDs() -> Set<UniqueID>? {
    guard let count = varint(), count <= UInt64(remaining / UniqueID.byteCount) else { return nil }
    var set: Set<UniqueID> = []
    for _ in 0..<count {
      guard let uid = uniqueID() else { return nil }
      set.insert(uid)
    }
    return set
  }
}

extension ByteBuilder {
  /// Appends lines in the format that memories and files share.
  mutating func append(_ lines: [UniqueID: SyncMemory.Line]) {
    append(varint: UInt64(lines.count))
    for (name, line) in lines.sorted(by: { $0.key < $1.key }) {
      append(name)
      append(line.device)
      append(
        UInt8(
          (line.isForked ? 1 : 0) + (line.isFormer ? 2 : 0) + (line.first == nil ? 0 : 4) + (line.isRemoved ? 8 : 0)))
      append(bytes: line.recipient)
      if let first = line.first { append(bytes: first) }
      append(line.date.millisecondsSince1970)
      append(UInt8(line.label.utf8.count))
      append(bytes: Array(line.label.utf8))
      append(varint: line.covered)
      append(UInt8(line.publications.count))
      for publication in line.publications {
        append(varint: publication.file.sequence)
        append(bytes: publication.file.hash)
        append(varint: publication.counter)
      }
    }
  }
}

extension ByteReader {
  /// Reads lines, or returns `nil` if they're invalid.
  mutating func syncLines() -> [UniqueID: SyncMemory.Line]? {
    guard let count = varint(), count <= UInt64(SyncMemory.maximumLines) else { return nil }
    var lines: [UniqueID: SyncMemory.Line] = [:]
    for _ in 0..<count {
      guard let name = uniqueID(), let line = syncLine(), lines.updateValue(line, forKey: name) == nil else {
        return nil
      }
    }
    return lines
  }

  private mutating func syncLine() -> SyncMemory.Line? {
    guard let device = uniqueID(), let flags: UInt8 = integer(), flags <= 15,
      let recipient = bytes(SyncMemory.noRecipient.count)
    else { return nil }
    var line = SyncMemory.Line(device)
    (line.isForked, line.isFormer, line.isRemoved) = (flags & 1 == 1, flags & 2 == 2, flags & 8 == 8)
    if !X25519.isSmallOrder(Array(recipient)) { line.recipient = Array(recipient) }
    if flags & 4 == 4 {
      guard let first = bytes(SyncFileHeader.hashCount) else { return nil }
      line.first = Array(first)
    }
    guard let date: Int64 = integer(), Timestamp(millisecondsSince1970: date).isStorable,
      let label = SyncMemory.label(&self), let covered = varint(), let count: UInt8 = integer(),
      (1...SyncMemory.maximumPublications).contains(Int(count))
    else { return nil }
    (line.date, line.label, line.covered) = (Timestamp(millisecondsSince1970: date), label, covered)
    line.publications = []
    for _ in 0..<count {
      guard let sequence = varint(), let hash = bytes(SyncFileHeader.hashCount), let counter = varint(),
        sequence > line.publications.last?.file.sequence ?? 0 || line.publications.isEmpty
      else { return nil }
      line.publications.append(
        SyncMemory.Publication(
          file: SyncMemory.File(sequence: sequence, hash: Array(hash)), counter: counter))
    }
    return line
  }
}

extension StoreTransaction {
  /// Returns the store's memory of its sync folder, or `nil` if the store doesn't sync.
  package func syncMemory() throws(StoreError) -> SyncMemory? {
    guard let bytes = try replicas.syncMemory else { return nil }
    guard let memory = bytes.withBytes({ SyncMemory($0) }) else {
      throw .damagedStore("what it remembers of its sync folder is invalid")
    }
    return memory
  }

  /// Whether the store syncs through a folder, even if a later version wrote its sync memory.
  package var isSyncing: Bool {
    get throws(StoreError) { try replicas.syncMemory != nil }
  }

  /// Replaces the store's memory of its sync folder, or removes it if `memory` is `nil`.
  func setSyncMemory(_ memory: SyncMemory?) throws(StoreError) {
    try writer.changeReplicas { replicas throws(StoreError) in replicas.syncMemory = memory?.bytes }
  }
}
