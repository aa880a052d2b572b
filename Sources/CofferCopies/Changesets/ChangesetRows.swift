internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing
internal import CofferText

/// A changeset's rows, which are kept in its file. Only the offsets of documents and attachments are in memory.
final class ChangesetRows {
  let reader: ChangesetReader
  private(set) var collections: [CollectionRecord] = []
  private(set) var deletions: [DeletionRecord] = []
  /// The documents' IDs, in ascending order.
  private(set) var documents: [Int64] = []
  /// The places of the documents' entries, and their lengths.
  private var places: [(offset: Int, count: Int)] = []
  /// The attachments, and the places of their contents.
  private(set) var attachments: [(attachment: ChangesetAttachment, place: Int)] = []
  private let hasher: TextHasher

  private var source: any ChangesetBytes { reader.source }

  /// Reads all entries, without texts and contents.
  ///
  /// - Throws: `damaged`.
  init(_ reader: ChangesetReader) throws(StoreError) {
    self.reader = reader
    hasher = try translatingErrors { () throws(SealingError) in try TextHasher() }
    let entries = try reader.entries()
    while entries.next == .collection { collections.append(try reader.collection(try entries.take())) }
    guard Set(collections.map(\.id)).count == collections.count else { throw ChangesetEntries.damage }
    while entries.next == .deletion { deletions.append(try reader.deletion(try entries.take())) }
    while entries.next == .document {
      places.append((entries.place + 5, entries.count))
      let id = try entries.begin(8).reduce(0) { $0 << 8 | Int64($1) }
      guard documents.last.map({ $0 < id }) ?? true else { throw ChangesetEntries.damage }
      documents.append(id)
      while entries.next == .attachment {
        let attachment = try reader.attachment(try entries.take())
        guard attachment.document == id else { throw ChangesetEntries.damage }
        attachments.append((attachment, entries.place))
        while attachment.carriesContent, entries.next == .content { _ = try entries.begin(0) }
      }
    }
    try entries.requireEnd()
  }

  /// Calls `body` with a document.
  ///
  /// - Throws: `noSuchDocument`, `damaged`, and errors of `body`.
  func withDocument<R>(
    _ id: Int64, _ body: (ChangesetDocument, _ place: Int) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard let index = index(of: id) else { throw .noSuchDocument(DocumentID(id)) }
    let (offset, count) = places[index]
    source.move(to: offset)
    var bytes = try source.read(min(count, ChangesetDocument.fixedCount))
    guard bytes.count == ChangesetDocument.fixedCount else { throw ChangesetEntries.damage }
    let lengths = try source.read(ChangesetDocument.positionCount(bytes) + 4)
    let headCount = lengths.suffix(4).reduce(0) { $0 << 8 | Int($1) }
    guard bytes.count + lengths.count + headCount <= count, headCount <= StoreFormat.maximumHead else {
      throw ChangesetEntries.damage
    }
    bytes += lengths
    bytes += try source.read(headCount)
    return try bytes.withBytes { bytes throws(StoreError) in
      guard let document = ChangesetDocument(bytes), document.id == id,
        document.head.textCount == count - bytes.count
      else { throw ChangesetEntries.damage }
      return try body(document, offset + bytes.count)
    }
  }

  private func index(of id: Int64) -> Int? {
    var (low, high) = (0, documents.count)
    while low < high {
      let middle = (low + high) / 2
      if documents[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low < documents.count && documents[low] == id ? low : nil
  }

  /// Returns a document's text, after comparing its digest with the head.
  ///
  /// - Throws: `noSuchDocument`, or `damaged`.
  func text(_ id: Int64) throws(StoreError) -> String {
    let (count, digest, place) = try withDocument(id) { document, place in
      (document.head.textCount, document.head.textDigest, place)
    }
    source.move(to: place)
    return try source.read(count).withBytes { bytes throws(StoreError) in
      let found = try translatingErrors { () throws(SealingError) in try hasher.digest(of: bytes) }
      guard found == digest, UTF8Validity.isValid(bytes) else { throw ChangesetEntries.damage }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
