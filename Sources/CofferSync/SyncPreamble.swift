internal import CofferCopies
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The part of a file before the changeset, about its device and other devices' files.
struct SyncPreamble {
  /// What people call the device.
  var label: String
  /// Whether the device has commits with other names than before, after it or another device was copied.
  var hasRenamed: Bool
  /// The attachments that the device lacks.
  var wanted: Set<UniqueID>
  /// The files of all devices that the device had written or merged, without this file.
  var lines: [UniqueID: SyncMemory.Line]

  init(_ memory: SyncMemory) {
    (label, hasRenamed, wanted, lines) = (memory.own.label, memory.hasRenamed, memory.wanted, memory.lines)
  }

  var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(UInt8(label.utf8.count))
    builder.append(bytes: Array(label.utf8))
    builder.append(UInt8(hasRenamed ? 1 : 0))
    builder.append(wanted)
    builder.append(lines)
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
      let wanted = reader.uniqueIDs(), let lines = reader.syncLines(), reader.isAtEnd
    else { return nil }
    (self.label, hasRenamed, self.wanted, self.lines) = (label, renamed == 1, wanted, lines)
  }
}
