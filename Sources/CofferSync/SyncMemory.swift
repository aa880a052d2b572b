package import CofferEngine
package import CofferRecords
internal import CofferSealing

/// What a store remembers of the folder that it syncs by. It's sealed with the store's replicas (Sync-Format, "Memory").
package struct SyncMemory: Sendable, Equatable {
  /// A published file.
  struct File: Sendable, Equatable {
    var sequence: UInt64 = 0
    var hash = SyncFileHeader.noFile
  }

  /// A device's file, and its counter up to which the device's commits were published then.
  struct Publication: Sendable, Equatable {
    var file: File
    var counter: UInt64
  }

  /// A device that was copied: the files of one of the copies, which goes on under another name.
  struct Fork: Sendable, Equatable {
    /// The device that was copied.
    var device: UniqueID
    /// The last file before the copies differ.
    var common: Publication
    /// The files that only this copy published under the device's name.
    var files: [File]
  }

  /// Another device.
  struct Peer: Sendable, Equatable {
    /// The last file that was taken or left out as known.
    var file = File()
    /// The last of these files with their counters, in ascending order.
    var history: [Publication] = []
    /// The date of the last file.
    var date = Timestamp(millisecondsSince1970: 0)
    var label = ""
    /// The device's last file that a snapshot includes.
    var covered: UInt64 = 0
  }

  static let maximumPublications = 32
  static let maximumHistory = 16
  static let maximumForks = 32
  static let maximumPeers = 256
  static let labels = 0...64

  /// The folder's random identity.
  package var folder: UniqueID
  /// The replica that the store was when it last synced.
  var device: UniqueID
  /// What people call the device.
  var label: String
  /// The last files of this device, in ascending order.
  var publications: [Publication] = []
  /// This device's last file that a snapshot includes.
  var covered: UInt64 = 0
  /// The generation of this store since which its changes aren't published.
  var generation: UInt64 = 0
  /// The counters, by the numbers of the store's replicas, that the folder's files include.
  var shared: [UInt64] = []
  var peers: [UniqueID: Peer] = [:]
  /// Whether this store gave commits other names.
  var hasRenamed = false
  /// Whether other devices need a snapshot of this one, because its files build on commits that have other names now.
  var owesSnapshot = false
  /// The former names of this device, and the files that it published under them after another copy had gone on.
  var forks: [Fork] = []
  /// The attachments that another device lacks.
  var owed: Set<UniqueID> = []
  /// The attachments that this store lacks, because it had deleted their documents when others kept them.
  var wanted: Set<UniqueID> = []
  /// The ones of these that this device's files ask for.
  var asked: Set<UniqueID> = []

  /// - Parameter counter: The device's counter before its first file.
  init(folder: UniqueID, device: UniqueID, label: String, counter: UInt64) {
    (self.folder, self.device, self.label) = (folder, device, label)
    publications = [Publication(file: File(), counter: counter)]
  }

  /// This device's last file.
  var last: File { publications.last?.file ?? File() }
  /// The counter up to which this device's commits are published.
  var publishedCounter: UInt64 { publications.last?.counter ?? 0 }

  mutating func published(_ file: File, counter: UInt64) {
    publications.append(Publication(file: file, counter: counter))
    publications.removeFirst(max(0, publications.count - Self.maximumPublications))
  }

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
  ///
  /// - Parameters:
  ///   - device: The new replica.
  ///   - counter: The new replica's counter.
  ///   - last: The former device's last file that this store includes.
  mutating func become(_ device: UniqueID, counter: UInt64, after last: Publication) {
    var former = Peer(file: last.file, label: label, covered: covered)
    former.history = publications.filter { $0.file.sequence <= last.file.sequence }.suffix(Self.maximumHistory)
    peers[self.device] = former
    (self.device, covered) = (device, 0)
    publications = [Publication(file: File(), counter: counter)]
  }

  // MARK: The stored form

  var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: 512)
    func append(_ file: File) {
      builder.append(varint: file.sequence)
      builder.append(bytes: file.hash)
    }
    func append(_ text: String) {
      builder.append(UInt8(text.utf8.count))
      builder.append(bytes: Array(text.utf8))
    }
    builder.append(UInt8(1))
    builder.append(folder)
    builder.append(device)
    append(label)
    func append(_ history: [Publication]) {
      builder.append(UInt8(history.count))
      for publication in history {
        append(publication.file)
        builder.append(varint: publication.counter)
      }
    }
    append(publications)
    builder.append(varint: covered)
    builder.append(varint: generation)
    builder.append(varint: UInt64(shared.count))
    for counter in shared { builder.append(varint: counter) }
    builder.append(varint: UInt64(peers.count))
    for (device, peer) in peers.sorted(by: { $0.key < $1.key }) {
      builder.append(device)
      append(peer.file)
      builder.append(peer.date.millisecondsSince1970)
      append(peer.label)
      builder.append(varint: peer.covered)
      append(peer.history)
    }
    builder.append(UInt8((hasRenamed ? 1 : 0) + (owesSnapshot ? 2 : 0)))
    Fork.append(forks, to: &builder)
    for set in [owed, wanted, asked] { builder.append(set) }
    return builder.bytes
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    func file() -> File? { File(&reader) }
    guard let version: UInt8 = reader.integer(), version == 1, let folder = reader.uniqueID(),
      let device = reader.uniqueID(), let label = Self.label(&reader), let count: UInt8 = reader.integer()
    else { return nil }
    func history(_ count: UInt8) -> [Publication]? {
      var history: [Publication] = []
      for _ in 0..<count {
        guard let file = file(), let counter = reader.varint() else { return nil }
        history.append(Publication(file: file, counter: counter))
      }
      return history
    }
    guard count >= 1, let own = history(count) else { return nil }
    self.init(folder: folder, device: device, label: label, counter: 0)
    publications = own
    guard let covered = reader.varint(), let generation = reader.varint(), let counters = reader.varint(),
      counters <= UInt64(Replicas.maximumCount)
    else { return nil }
    (self.covered, self.generation) = (covered, generation)
    for _ in 0..<counters {
      guard let counter = reader.varint() else { return nil }
      shared.append(counter)
    }
    guard let peerCount = reader.varint(), peerCount <= UInt64(Self.maximumPeers) else { return nil }
    for _ in 0..<peerCount {
      guard let device = reader.uniqueID(), let file = file(), let date: Int64 = reader.integer(),
        let label = Self.label(&reader), let covered = reader.varint(), let count: UInt8 = reader.integer(),
        let history = history(count)
      else { return nil }
      peers[device] = Peer(
        file: file, history: history, date: Timestamp(millisecondsSince1970: date), label: label, covered: covered)
    }
    guard let flags: UInt8 = reader.integer(), flags <= 3, let forks = Fork.read(&reader) else { return nil }
    (hasRenamed, owesSnapshot, self.forks) = (flags & 1 == 1, flags & 2 == 2, forks)
    guard let owed = reader.uniqueIDs(), let wanted = reader.uniqueIDs(), let asked = reader.uniqueIDs() else {
      return nil
    }
    (self.owed, self.wanted, self.asked) = (owed, wanted, asked)
    guard reader.isAtEnd else { return nil }
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

extension SyncMemory.Fork {
  static func append(_ forks: [SyncMemory.Fork], to builder: inout ByteBuilder) {
    func append(_ file: SyncMemory.File) {
      builder.append(varint: file.sequence)
      builder.append(bytes: file.hash)
    }
    builder.append(UInt8(forks.count))
    for fork in forks {
      builder.append(fork.device)
      append(fork.common.file)
      builder.append(varint: fork.common.counter)
      builder.append(UInt8(fork.files.count))
      for file in fork.files { append(file) }
    }
  }

  static func read(_ reader: inout ByteReader) -> [SyncMemory.Fork]? {
    guard let count: UInt8 = reader.integer(), count <= SyncMemory.maximumForks else { return nil }
    var forks: [SyncMemory.Fork] = []
    for _ in 0..<count {
      guard let device = reader.uniqueID(), let common = SyncMemory.File(&reader), let counter = reader.varint(),
        let fileCount: UInt8 = reader.integer(), (1...SyncMemory.maximumPublications).contains(Int(fileCount))
      else { return nil }
      var files: [SyncMemory.File] = []
      for _ in 0..<fileCount {
        guard let file = SyncMemory.File(&reader) else { return nil }
        files.append(file)
      }
      forks.append(
        SyncMemory.Fork(
          device: device, common: SyncMemory.Publication(file: common, counter: counter), files: files))
    }
    return forks
  }
}

extension SyncMemory.File {
  init?(_ reader: inout ByteReader) {
    guard let sequence = reader.varint(), let hash = reader.bytes(TextDigest.byteCount) else { return nil }
    self.init(sequence: sequence, hash: Array(hash))
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

  /// Replaces what the store remembers of its folder.
  func setSyncMemory(_ memory: SyncMemory?) throws(StoreError) {
    try writer.changeReplicas { replicas throws(StoreError) in replicas.syncMemory = memory?.bytes }
  }
}
