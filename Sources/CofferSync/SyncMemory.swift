package import CofferEngine
package import CofferRecords
internal import CofferSealing

/// What a store remembers of the folder that it syncs by. It's sealed with the store's replicas (Sync-Format, "Memory").
package struct SyncMemory: Sendable, Equatable {
  /// A published file.
  struct File: Sendable, Hashable {
    var sequence: UInt64 = 0
    var hash = SyncFileHeader.noFile
  }

  /// A device's file, and its counter up to which the device's commits were published then.
  struct Publication: Sendable, Equatable {
    var file = File()
    var counter: UInt64 = 0
  }

  /// The files of a device in order, each of which names the one before it.
  ///
  /// A device that was copied has several histories. Its line ends with the last file that they have in common, and each
  /// history goes on as a line of its own, which has the device's folder and a name that follows from its first file.
  struct Line: Sendable, Equatable {
    /// The device that the files name as their author.
    let device: UniqueID
    /// The last known files, in ascending order. The line of a copy begins with the file before its own first one.
    var publications: [Publication]
    /// The hash of a copy's first file, as long as it isn't taken.
    var first: [UInt8]?
    /// Whether the histories of copies go on in lines of their own.
    var isForked = false
    /// Whether this store wrote the files under a former name.
    var isFormer = false
    /// The date of the last file.
    var date = Timestamp(millisecondsSince1970: 0)
    var label = ""
    /// The last file that a snapshot includes.
    var covered: UInt64 = 0
    /// The public key by which the device gets a new secret of the folder, or zeros.
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
  }

  /// A secret that the folder had before a device was removed.
  struct Former: Sendable, Equatable {
    var secret: [UInt8]
    /// The file by which this device told the others of the next secret, or `nil` if another device did.
    var notice: File?
    /// Whether this device's files of that time are still in the folder.
    var hasFiles = true
  }

  static let noRecipient = [UInt8](repeating: 0, count: 32)
  /// The secrets of earlier times that a store remembers, to tell late files of removed devices.
  static let maximumFormers = 8
  static let maximumPublications = 16
  static let maximumLines = 256
  static let labels = 0...64

  /// The folder's random identity.
  package var folder: UniqueID
  /// The folder's random secret, which only its devices have.
  var secret: [UInt8]
  /// The secrets before it, in order.
  var formers: [Former] = []
  /// The private key of this device's recipient, and the one that it had under its former name or zeros.
  var agreement: [UInt8]
  var formerAgreement = noRecipient
  /// The replica that the store was when it last synced.
  var device: UniqueID
  /// The generation of this store since which its changes aren't published.
  var generation: UInt64 = 0
  /// The counters, by the numbers of the store's replicas, that the folder's files include.
  var shared: [UInt64] = []
  /// The lines of all devices and of their copies, by the replicas whose commits they publish.
  var lines: [UniqueID: Line] = [:]
  /// Whether this store, or another one whose files it has, gave commits other names.
  var hasRenamed = false
  /// Whether other devices need a snapshot of this one, because its files build on commits that have other names now.
  var owesSnapshot = false
  /// The attachments that another device lacks.
  var owed: Set<UniqueID> = []
  /// The attachments that this store lacks, because it had deleted their documents when others kept them.
  var wanted: Set<UniqueID> = []
  /// The ones of these that this device's files ask for.
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

  /// Returns the public key of a private one.
  static func recipient(of agreement: [UInt8]) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      try X25519.publicKey(of: agreement.withUnsafeBytes { Secret(copying: $0) })
    }
  }

  static func newSecret() throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try SystemRandom.bytes(SyncKeys.secretByteCount) }
  }

  /// Gives this device another pair of keys, which no copy of it has.
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

  /// Notes that the folder's files include all commits of other replicas.
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

  /// Notes that the folder's files don't include a replica's commits after a counter.
  mutating func unshare(_ identity: UniqueID, after counter: UInt64, in own: Replicas) {
    guard let number = own.number(of: identity), Int(number) < shared.count else { return }
    shared[Int(number)] = min(shared[Int(number)], counter)
  }

  /// The counters that the folder's files include, for each of the store's replicas.
  func base(of own: Replicas) -> [UInt64] {
    zip(own.entries, shared + [UInt64](repeating: 0, count: own.entries.count)).map { min($0.counter, $1) }
  }

  /// Goes on as another device, and follows the former one like any other.
  mutating func become(_ device: UniqueID, counter: UInt64) throws(StoreError) {
    let label = own.label
    self.device = device
    own = Line(device, after: Publication(counter: counter))
    own.label = label
    formerAgreement = agreement
    try renewAgreement()
  }

  /// Goes on with another secret of the folder. Its files begin again, so none that was there before is missed.
  mutating func begin(with new: [UInt8], notice: File? = nil) {
    formers.append(Former(secret: secret, notice: notice))
    formers.removeFirst(max(0, formers.count - Self.maximumFormers))
    secret = new
    owesSnapshot = true
    for name in lines.keys { lines[name]!.covered = max(lines[name]!.covered, lines[name]!.file.sequence) }
  }

  /// The other devices that get a new secret of the folder.
  var members: [UniqueID] {
    others.filter { name in
      let line = lines[name]!
      return name == line.device && !line.isRemoved && !line.isFormer && line.recipient != Self.noRecipient
    }
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
    builder.append(UInt8((hasRenamed ? 1 : 0) + (owesSnapshot ? 2 : 0)))
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
    guard let flags: UInt8 = reader.integer(), flags <= 3, let owed = reader.uniqueIDs(),
      let wanted = reader.uniqueIDs(), let asked = reader.uniqueIDs(), let lines = reader.syncLines(),
      lines[device] != nil, reader.isAtEnd
    else { return nil }
    (hasRenamed, owesSnapshot) = (flags & 1 == 1, flags & 2 == 2)
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
  /// Appends lines in the form that memories and files have in common.
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
  /// Reads lines, or returns `nil` for invalid ones.
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
    line.recipient = Array(recipient)
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
  /// Returns what the store remembers of its folder, or `nil` if it doesn't sync.
  package func syncMemory() throws(StoreError) -> SyncMemory? {
    guard let bytes = try replicas.syncMemory else { return nil }
    guard let memory = bytes.withBytes({ SyncMemory($0) }) else {
      throw .damagedStore("what it remembers of its sync folder is invalid")
    }
    return memory
  }

  /// Whether the store syncs through a folder, also if a later version wrote what it remembers of it.
  package var isSyncing: Bool {
    get throws(StoreError) { try replicas.syncMemory != nil }
  }

  /// Replaces what the store remembers of its folder.
  func setSyncMemory(_ memory: SyncMemory?) throws(StoreError) {
    try writer.changeReplicas { replicas throws(StoreError) in replicas.syncMemory = memory?.bytes }
  }
}
