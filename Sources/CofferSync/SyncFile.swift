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
    /// The folder's next secret, for all devices but those that are removed.
    case secret
  }

  static let byteCount = 128
  static let sealedCount = byteCount + XAESKey.overhead
  static let partSize = 65_536

  var kind: Kind
  /// The replica that wrote the file.
  var device: UniqueID
  /// The file's number among those of its device.
  var sequence: UInt64
  /// The hash of the device's file before this one, or zeros.
  var previous: [UInt8]
  /// Random bytes that bind the parts to this file.
  var identity: UniqueID
  var date: Timestamp
  /// The length of the payload without its padding.
  var payloadCount: UInt64

  var partsCount: Int { Frame.padme(max(Int(payloadCount), 1)) }
  /// The length of the whole file.
  var fileCount: Int {
    let parts = (partsCount + Self.partSize - 1) / Self.partSize
    return Self.sealedCount + partsCount + parts * XAESKey.overhead
  }

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

  /// The additional data of a part.
  func binding(ofPart index: Int, isLast: Bool) -> [UInt8] {
    var builder = ByteBuilder(reserving: 40)
    builder.append(label: "coffer3/syncpart", width: 16)
    builder.append(identity)
    builder.append(UInt32(index))
    builder.append(UInt8(isLast ? 1 : 0))
    return builder.bytes
  }

  /// The hash that names a file in the next one: the first half of SHA-256 of its sealed header.
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
  /// What a complete file is called until it has its name.
  static func pendingName(_ hash: [UInt8]) -> String { Hexadecimal.text(hash) }
}

/// A file of a device, opened for reading. Its parts are proved as they're read.
final class SyncFile: ChangesetBytes {
  let header: SyncFileHeader
  let file: SyncMemory.File
  /// The file's path.
  let name: String
  private let source: any SyncFileBytes
  private let keys: SyncKeys
  /// The place of the next byte in the payload.
  private(set) var offset = 0
  /// The part that was opened last, and its index.
  private var part: [UInt8] = []
  private var index: Int?

  /// Opens a file, or returns `nil` if it isn't a complete file of a device of this folder.
  init?(_ name: String, in subfolder: String, of directory: any SyncDirectory, _ keys: SyncKeys) throws(StoreError) {
    guard let source = try directory.open(name, in: subfolder) else { return nil }
    let sealed = try source.read(SyncFileHeader.sealedCount, at: 0)
    guard let header = try SyncFileHeader.open(sealed, keys) else { return nil }
    // A file that is still being copied has another length.
    guard try source.read(2, at: header.fileCount - 1).count == 1 else { return nil }
    self.source = source
    self.header = header
    self.keys = keys
    self.name = "\(directory.path)/\(subfolder)/\(name)"
    file = SyncMemory.File(sequence: header.sequence, hash: try SyncFileHeader.hash(of: sealed))
  }

  /// Goes on at another place of the payload.
  func move(to offset: Int) { self.offset = offset }

  func read(_ count: Int) throws(StoreError) -> [UInt8] {
    guard count <= Int(header.payloadCount) - offset else { throw damage }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let place = offset % SyncFileHeader.partSize
      if index != offset / SyncFileHeader.partSize { try readPart(offset / SyncFileHeader.partSize) }
      let taken = part[place..<min(part.count, place + count - bytes.count)]
      bytes += taken
      offset += taken.count
    }
    return bytes
  }

  private func readPart(_ number: Int) throws(StoreError) {
    let size = SyncFileHeader.partSize
    let start = number * size
    let count = min(size, header.partsCount - start)
    let sealed = try source.read(
      count + XAESKey.overhead, at: SyncFileHeader.sealedCount + number * (size + XAESKey.overhead))
    index = nil
    do throws(SealingError) {
      part = try keys.files.open(
        sealed, authenticating: header.binding(ofPart: number, isLast: start + count == header.partsCount))
    } catch {
      throw .unopened(error, damage)
    }
    guard part.count == count else { throw damage }
    index = number
  }

  private var damage: StoreError {
    StoreError(
      .damaged, "\(name): the file is cut, or parts of it were exchanged",
      hint: "let the carrier copy it again from the device that made it")
  }
}

/// Writes a file of this device under a temporary name.
final class SyncFileWriter: ChangesetTarget {
  private var header: SyncFileHeader
  private let keys: SyncKeys
  private let file: any SyncNewFile
  private var part: [UInt8] = []
  private var index = 0
  private var count = 0
  private var offset = SyncFileHeader.sealedCount

  init(_ header: SyncFileHeader, _ keys: SyncKeys, _ file: any SyncNewFile) {
    (self.header, self.keys, self.file) = (header, keys, file)
    part.reserveCapacity(SyncFileHeader.partSize)
  }

  func write(_ bytes: [UInt8]) throws(StoreError) {
    try bytes.withBytes { bytes throws(StoreError) in try write(bytes) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    count += bytes.count
    try append(bytes)
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // The last part is sealed as such, so it waits for the end.
      if part.count == SyncFileHeader.partSize { try seal(isLast: false) }
      let taken = rest.prefix(SyncFileHeader.partSize - part.count)
      part.append(contentsOf: taken)
      rest = rest.dropFirst(taken.count)
    }
  }

  private func seal(isLast: Bool) throws(StoreError) {
    let sealed = try translatingErrors { () throws(SealingError) in
      try keys.files.seal(part, authenticating: header.binding(ofPart: index, isLast: isLast))
    }
    try file.write(sealed, at: offset)
    offset += sealed.count
    index += 1
    part.removeAll(keepingCapacity: true)
  }

  /// Completes the file under its temporary name.
  ///
  /// - Returns: Its hash and length.
  func finish() throws(StoreError) -> (hash: [UInt8], byteCount: Int) {
    header.payloadCount = UInt64(count)
    var padding = header.partsCount - count
    let zeros = [UInt8](repeating: 0, count: min(padding, SyncFileHeader.partSize))
    while padding > 0 {
      let some = min(padding, zeros.count)
      try zeros.withBytes { bytes throws(StoreError) in
        try append(UnsafeRawBufferPointer(rebasing: bytes[..<some]))
      }
      padding -= some
    }
    try seal(isLast: true)
    let sealed = try header.seal(keys)
    try file.write(sealed, at: 0)
    let hash = try SyncFileHeader.hash(of: sealed)
    try file.finish(as: SyncFileHeader.pendingName(hash))
    return (hash, offset)
  }
}
