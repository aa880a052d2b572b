internal import CofferEngine
package import CofferRecords
internal import CofferSealing

/// A changeset's payload, of which the origin is read (Sync-Format, "Payload").
package final class ChangesetReader {
  let source: any ChangesetBytes
  package private(set) var origin: ChangesetOrigin
  /// The offset of the first entry after the origin.
  private let start: Int

  /// Reads the origin, which determines whether the changeset can be merged.
  ///
  /// - Throws: `damaged`.
  package init(_ source: any ChangesetBytes) throws(StoreError) {
    self.source = source
    let entries = try ChangesetEntries(source)
    guard entries.next == .origin, let origin = try entries.take().withBytes({ ChangesetOrigin($0) }) else {
      throw ChangesetEntries.damage
    }
    self.origin = origin
    start = entries.place
  }

  /// Gives a replica's commits after a counter another name than the sender does.
  package func rename(_ identity: UniqueID, after counter: UInt64, as name: UniqueID) throws(StoreError) {
    try origin.rename(identity, after: counter, as: name)
  }

  /// Returns the entries after the origin.
  func entries() throws(StoreError) -> ChangesetEntries {
    source.move(to: start)
    return try ChangesetEntries(source)
  }

  func collection(_ bytes: [UInt8]) throws(StoreError) -> CollectionRecord {
    var isNewer = false
    let record: CollectionRecord? = bytes.withBytes { bytes in
      var reader = ByteReader(bytes)
      guard let id: UInt32 = reader.integer(), id >= 1, Int64(id) <= StoreFormat.maximumNumber,
        let data = reader.bytes(reader.remaining)
      else { return nil }
      return CollectionRecord(data, id: id, revision: 1, isNewer: &isNewer)
    }
    guard var record else { throw ChangesetEntries.damage }
    guard !isNewer else { throw .newerStore }
    record.dots = record.dots.mapped(origin.renamed)
    return record
  }

  /// Returns the names of the sender's applied migrations.
  func appliedMigrations() throws(StoreError) -> [String] {
    let source = try entries()
    var collections: [CollectionRecord] = []
    while source.next == .collection { collections.append(try collection(try source.take())) }
    return try StoreTransaction.migrations(in: collections)
  }

  func deletion(_ bytes: [UInt8]) throws(StoreError) -> DeletionRecord {
    var part: ExtensionPart?
    var isNewer = false
    let record = bytes.withBytes { bytes in
      let record = DeletionRecord(bytes, number: 1, revision: 1, &part)
      isNewer = part?.isNewer ?? false
      return record
    }
    guard let record else { throw ChangesetEntries.damage }
    guard !isNewer else { throw .newerStore }
    return record.mapped(origin.renamed)
  }

  func attachment(_ bytes: [UInt8]) throws(StoreError) -> ChangesetAttachment {
    guard var attachment = bytes.withBytes({ ChangesetAttachment($0) }) else { throw ChangesetEntries.damage }
    guard !attachment.isNewer else { throw .newerStore }
    attachment.description.born = origin.renamed(attachment.description.born)
    attachment.description.nameDot = origin.renamed(attachment.description.nameDot)
    return attachment
  }

  /// Returns a document's dots, with this store's names.
  func dots(of head: HeadData) -> DocumentDots {
    let dots = DocumentDots(checked: head.dots)
    return origin.hasRenames ? dots.mapped(origin.renamed) : dots
  }

  /// Calls `body` with each part of an attachment's content, and compares the content with its digest.
  ///
  /// - Parameter place: The offset of the entries with the content.
  /// - Throws: `damaged`, and errors of `body`.
  func forEachPart(
    of attachment: ChangesetAttachment, at place: Int, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    source.move(to: place)
    let entries = try ChangesetEntries(source)
    let hasher = try ChangesetHasher()
    var count = 0
    while entries.next == .content {
      let part = try entries.take()
      count += part.count
      try part.withBytes { bytes throws(StoreError) in
        try hasher.update(bytes)
        try body(bytes)
      }
    }
    guard count == attachment.byteCount, try hasher.finish() == attachment.digest else {
      throw ChangesetEntries.damage
    }
  }
}

/// The entries of a changeset in order.
final class ChangesetEntries {
  private static let maximumEntry = 8 << 20
  static let maximumDocument = StoreFormat.maximumText + StoreFormat.maximumHead + 1024
  static let damage = StoreError(.damaged, "a changeset is damaged: its payload is invalid")

  private let source: any ChangesetBytes
  /// The kind of the entry that `take` and `skip` step over.
  private(set) var next: ChangesetEntry
  /// The number of its bytes.
  private(set) var count: Int

  /// Begins with the entry at the source's place.
  init(_ source: any ChangesetBytes) throws(StoreError) {
    self.source = source
    (next, count) = try Self.entry(source)
  }

  private static func entry(_ source: any ChangesetBytes) throws(StoreError) -> (ChangesetEntry, Int) {
    let bytes = try source.read(5)
    return try bytes.withBytes { bytes throws(StoreError) in
      var reader = ByteReader(bytes)
      guard let kind: UInt8 = reader.integer(), let entry = ChangesetEntry(rawValue: kind),
        let count: UInt32 = reader.integer()
      else { throw damage }
      return (entry, Int(count))
    }
  }

  /// The offset of the next entry.
  var place: Int { source.offset - 5 }

  /// Returns the bytes of the next entry, and advances to the following entry.
  func take(limit: Int = maximumEntry) throws(StoreError) -> [UInt8] {
    guard count <= limit else { throw Self.damage }
    let bytes = try source.read(count)
    (next, count) = try Self.entry(source)
    return bytes
  }

  /// Returns the first bytes of the next entry, and advances to the following entry.
  func begin(_ first: Int) throws(StoreError) -> [UInt8] {
    guard first <= count else { throw Self.damage }
    let end = source.offset + count
    let bytes = try source.read(first)
    source.move(to: end)
    (next, count) = try Self.entry(source)
    return bytes
  }

  func requireEnd() throws(StoreError) {
    guard next == .end, count == 0 else { throw Self.damage }
  }
}

/// The digest of a content that's read in parts.
private struct ChangesetHasher {
  private let hasher: TextHasher

  init() throws(StoreError) {
    hasher = try translatingErrors { () throws(SealingError) in
      let hasher = try TextHasher()
      try hasher.begin()
      return hasher
    }
  }

  func update(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try translatingErrors { () throws(SealingError) in try hasher.update(bytes) }
  }

  func finish() throws(StoreError) -> TextDigest {
    try translatingErrors { () throws(SealingError) in try hasher.finish() }
  }
}
