internal import CofferCopies
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The sealed header of a device's file (Sync-Format, "Files").
struct SyncFileHeader: Sendable {
  enum Kind: UInt8, Sendable {
    /// The changes since the device's last file.
    case changes = 1
    /// All of the device's documents.
    case snapshot
    /// The folder's next secret, for all devices except removed devices.
    case secret
  }

  static let byteCount = 128
  static let sealedCount = byteCount + XAESKey.overhead

  var kind: Kind
  /// The replica that wrote the file.
  var device: UniqueID
  /// The file's number among its device's files.
  var sequence: UInt64
  /// The hash of the device's previous file, or zeros.
  var previous: [UInt8]
  /// Random bytes that bind the parts to this file.
  var identity: UniqueID
  var date: Timestamp
  /// The length of the payload without its padding.
  var payloadCount: UInt64

  /// The length of the whole file.
  var fileCount: Int { Self.sealedCount + SealedParts.sealedCount(Int(payloadCount)) }

  var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: Self.byteCount)
    builder.append(UInt16(1))
    builder.append(kind.rawValue)
    builder.append(UInt8(0))
    builder.append(device)
    builder.append(sequence)
    builder.append(bytes: previous)
    builder.append(identity)
    builder.append(date.millisecondsSince1970)
    builder.append(payloadCount)
    builder.append(bytes: [UInt8](repeating: 0, count: Self.byteCount - builder.bytes.count))
    return builder.bytes
  }

  static let hashCount = 16
  static let noFile = [UInt8](repeating: 0, count: hashCount)

  init(
    kind: Kind, device: UniqueID, sequence: UInt64, previous: [UInt8], identity: UniqueID, date: Timestamp
  ) {
    (self.kind, self.device, self.sequence, self.previous) = (kind, device, sequence, previous)
    (self.identity, self.date, payloadCount) = (identity, date, 0)
  }

  /// Reads the header's bytes, or returns `nil` for invalid ones.
  private init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let version: UInt16 = reader.integer(), version == 1, let kind: UInt8 = reader.integer(),
      let kind = Kind(rawValue: kind), let zero: UInt8 = reader.integer(), zero == 0, let device = reader.uniqueID(),
      let sequence: UInt64 = reader.integer(), (1...UInt64(StoreFormat.maximumGeneration)).contains(sequence),
      let previous = reader.bytes(Self.hashCount), let identity = reader.uniqueID(),
      let date: Int64 = reader.integer(), Timestamp(millisecondsSince1970: date).isStorable,
      let count: UInt64 = reader.integer(), count >= 1, count < 1 << 48
    else { return nil }
    (self.kind, self.device, self.sequence, self.previous) = (kind, device, sequence, Array(previous))
    (self.identity, self.date, payloadCount) = (identity, Timestamp(millisecondsSince1970: date), count)
  }

  private static func binding(_ keys: SyncKeys) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/sync-header").adding(keys.folder.bytes).bytes
  }

  func seal(_ keys: SyncKeys) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      try keys.files.seal(bytes, authenticating: Self.binding(keys))
    }
  }

  /// Opens a sealed header, or returns `nil` for bytes that no device of the folder wrote.
  static func open(_ sealed: [UInt8], _ keys: SyncKeys) throws(StoreError) -> SyncFileHeader? {
    guard sealed.count == sealedCount else { return nil }
    do throws(SealingError) {
      let bytes = try keys.files.open(sealed, authenticating: binding(keys))
      return bytes.withBytes { SyncFileHeader($0) }
    } catch {
      guard error.code == .notAuthentic else { throw StoreError(error) }
      return nil
    }
  }

  func parts(_ keys: SyncKeys) -> SealedParts {
    SealedParts(keys.files, label: "coffer3/syncpart", identity: identity)
  }

  /// Returns the hash that identifies a file in the next file, which is the first half of its sealed header's SHA-256.
  static func hash(of sealed: [UInt8]) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      let hasher = try TextHasher()
      let digest = try sealed.withBytes { bytes throws(SealingError) in try hasher.digest(of: bytes) }
      var bytes = [UInt8](repeating: 0, count: TextDigest.byteCount)
      bytes.withUnsafeMutableBytes { digest.write(to: $0) }
      return Array(bytes.prefix(hashCount))
    }
  }
}

extension SyncFileHeader {
  /// Returns a complete file's temporary name.
  static func pendingName(_ hash: [UInt8]) -> String { Hexadecimal.text(hash) }
}

/// A file of a device, opened for reading. Its parts are proved as they're read.
final class SyncFile: ChangesetBytes {
  let header: SyncFileHeader
  let file: SyncMemory.File
  /// The file's path.
  let name: String
  private let parts: SealedPartsReader

  /// Opens a file, or returns `nil` if it isn't a complete file of a device of this folder.
  init?(_ name: String, in subfolder: String, of directory: any SyncDirectory, _ keys: SyncKeys) throws(StoreError) {
    guard let source = try directory.open(name, in: subfolder) else { return nil }
    let sealed = try source.read(SyncFileHeader.sealedCount, at: 0)
    guard let header = try SyncFileHeader.open(sealed, keys) else { return nil }
    // A partially copied file has another length.
    guard try source.read(2, at: header.fileCount - 1).count == 1 else { return nil }
    let path = "\(directory.path)/\(subfolder)/\(name)"
    self.header = header
    self.name = path
    file = SyncMemory.File(sequence: header.sequence, hash: try SyncFileHeader.hash(of: sealed))
    parts = SealedPartsReader(
      header.parts(keys), payloadCount: Int(header.payloadCount),
      damage: StoreError(
        .damaged, "\(path): the file is cut, or parts of it were exchanged",
        hint: "let the carrier copy it again from the device that made it"),
      from: { count, offset throws(StoreError) in
        try source.read(count, at: SyncFileHeader.sealedCount + offset)
      })
  }

  var offset: Int { parts.offset }
  func move(to offset: Int) { parts.move(to: offset) }
  func read(_ count: Int) throws(StoreError) -> [UInt8] { try parts.read(count) }
}

/// Writes a file of this device under a temporary name.
final class SyncFileWriter: ChangesetTarget {
  private var header: SyncFileHeader
  private let keys: SyncKeys
  private let file: any SyncNewFile
  private let parts: SealedPartsWriter

  init(_ header: SyncFileHeader, _ keys: SyncKeys, _ file: any SyncNewFile) {
    (self.header, self.keys, self.file) = (header, keys, file)
    parts = SealedPartsWriter(header.parts(keys)) { sealed, offset throws(StoreError) in
      try file.write(sealed, at: SyncFileHeader.sealedCount + offset)
    }
  }

  func write(_ bytes: [UInt8]) throws(StoreError) { try parts.write(bytes) }
  func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) { try parts.write(bytes) }

  /// Completes the file under its temporary name.
  ///
  /// - Returns: Its hash and length.
  func finish() throws(StoreError) -> (hash: [UInt8], byteCount: Int) {
    header.payloadCount = UInt64(parts.count)
    try parts.finish()
    let sealed = try header.seal(keys)
    try file.write(sealed, at: 0)
    let hash = try SyncFileHeader.hash(of: sealed)
    try file.finish(as: SyncFileHeader.pendingName(hash))
    return (hash, SyncFileHeader.sealedCount + parts.sealedCount)
  }
}
