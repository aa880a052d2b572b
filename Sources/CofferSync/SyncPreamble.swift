internal import CofferCopies
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// What a file says of its device and of the other devices' files, before the changeset.
struct SyncPreamble {
  /// What people call the device.
  var label: String
  /// Whether the device gave commits other names, after it or another device was copied.
  var hasRenamed: Bool
  /// The device's former names, if it was copied.
  var forks: [SyncMemory.Fork]
  /// The attachments that the device lacks.
  var wanted: Set<UniqueID>
  /// The last file of each other device that the device had taken.
  var heads: [UniqueID: SyncMemory.File]

  init(_ memory: SyncMemory) {
    label = memory.label
    (hasRenamed, forks, wanted) = (memory.hasRenamed, memory.forks, memory.wanted)
    heads = memory.peers.mapValues(\.file)
  }

  var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(UInt8(label.utf8.count))
    builder.append(bytes: Array(label.utf8))
    builder.append(UInt8(hasRenamed ? 1 : 0))
    SyncMemory.Fork.append(forks, to: &builder)
    builder.append(wanted)
    builder.append(UInt32(heads.count))
    for (device, file) in heads.sorted(by: { $0.key < $1.key }) {
      builder.append(device)
      builder.append(file.sequence)
      builder.append(bytes: file.hash)
    }
    return builder.bytes
  }

  func write(to target: any ChangesetTarget) throws(StoreError) {
    var builder = ByteBuilder()
    builder.append(UInt32(bytes.count))
    builder.append(bytes: bytes)
    try builder.bytes.withBytes { bytes throws(StoreError) in try target.write(bytes) }
  }

  /// Reads the preamble at the beginning of a payload.
  ///
  /// - Throws: `damaged`.
  init(_ source: any ChangesetBytes) throws(StoreError) {
    let count = try source.read(4).reduce(0) { $0 << 8 | Int($1) }
    guard count <= 1 << 20, let read = try source.read(count).withBytes({ SyncPreamble($0) }) else {
      throw StoreError(.damaged, "a changeset is damaged: it names the other devices' files in an invalid way")
    }
    self = read
  }

  private init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let label = SyncMemory.label(&reader), let renamed: UInt8 = reader.integer(), renamed <= 1,
      let forks = SyncMemory.Fork.read(&reader), let wanted = reader.uniqueIDs(), let count: UInt32 = reader.integer(),
      count <= UInt32(SyncMemory.maximumPeers)
    else { return nil }
    (self.label, hasRenamed, self.forks, self.wanted, heads) = (label, renamed == 1, forks, wanted, [:])
    for _ in 0..<count {
      guard let device = reader.uniqueID(), let sequence: UInt64 = reader.integer(),
        let hash = reader.bytes(TextDigest.byteCount)
      else { return nil }
      heads[device] = SyncMemory.File(sequence: sequence, hash: Array(hash))
    }
    guard reader.isAtEnd else { return nil }
  }
}
