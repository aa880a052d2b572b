internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// The title index's tables, which contain each collection's packed headers in order (Index-Format, "The inner database").
final class TitleIndex: DocumentIndexTables {
  private let database: Database
  private let declaration: IndexDeclaration

  init(_ file: IndexFile) {
    database = file.database
    declaration = file.declaration
  }

  static func titles(_ collection: UInt32) -> String { "titles_\(collection)" }

  var holdsTexts: Bool { false }

  func makeTables() throws(SQLiteError) {
    for text in IndexSchema.titles { try database.execute(text) }
  }

  func dropTables(of collection: UInt32) throws(SQLiteError) {
    try database.execute("DROP TABLE IF EXISTS main.\(Self.titles(collection))")
    try database.execute("DELETE FROM main.document WHERE coll=?", Int64(collection))
    try database.execute("DELETE FROM main.made WHERE coll=?", Int64(collection))
  }

  func makeTables(of collection: IndexDeclaration.Collection) throws(SQLiteError) {
    try database.execute("INSERT INTO main.made VALUES(?)", Int64(collection.number))
    try database.execute(IndexSchema.titles(of: collection.number))
  }

  func finishTables(of collection: IndexDeclaration.Collection) {}

  func worn() -> [UInt32] { [] }

  func unreadDocuments() -> [Int64] { [] }

  func isUnchanged(_ document: IndexedDocument) -> Bool { false }

  func put(_ document: IndexedDocument, isNew: Bool) throws(SQLiteError) {
    let header = document.header
    let (id, number) = (header.id.rawValue, header.collection.rawValue)
    guard declaration.collection(number) != nil else { return }
    if !isNew { try remove(id) }
    try database.execute(
      "INSERT INTO main.document VALUES(?,?,?,?)", id, Int64(number), document.marks.row, header.position.bytes)
    try database.execute(
      "INSERT INTO main.\(Self.titles(number)) VALUES(?,?,?)", header.position.bytes, id, PackedHeader.bytes(of: header)
    )
  }

  func remove(_ id: Int64) throws(SQLiteError) {
    guard let known = try database.query("SELECT coll,position FROM main.document WHERE id=?", id).rows.first,
      let number = known[0].integer, case .blob(let position) = known[1]
    else { return }
    try database.execute("DELETE FROM main.document WHERE id=?", id)
    let collection = try IndexedNumbers.collection(number)
    guard declaration.collection(collection) != nil else { return }
    try database.execute("DELETE FROM main.\(Self.titles(collection)) WHERE position=? AND id=?", position, id)
  }
}

/// A list of a collection's headers in order, from a title index.
struct TitleList {
  private let file: IndexFile
  private let collection: UInt32
  private let rows: Statement

  init(_ file: IndexFile, _ collection: UInt32) throws(StoreError) {
    (self.file, self.collection) = (file, collection)
    rows = try file.run { database throws(SQLiteError) in
      try database.statement("SELECT position,id,header FROM main.\(TitleIndex.titles(collection))")
    }
  }

  /// Returns the next header, or `nil` at the end.
  func next() throws(StoreError) -> DocumentHeader? {
    try file.run { _ throws(SQLiteError) -> DocumentHeader? in
      guard try rows.step() else { return nil }
      let id = rows.int64(at: 1)
      guard let position = DocumentPosition(copying: rows.blobPointer(at: 0)),
        let header = PackedHeader.header(id, in: collection, at: position, rows.blobPointer(at: 2))
      else {
        throw SQLiteError(.corrupt, "an invalid header")
      }
      return header
    }
  }

  func reset() { rows.reset() }
}

/// A header without ID, collection and position, as stored in the title index (Index-Format, "The inner database").
enum PackedHeader {
  private enum Flag {
    static let parent: UInt8 = 1
    static let title: UInt8 = 2
    static let key: UInt8 = 4
    static let json: UInt8 = 8
    static let all: UInt8 = 15
  }

  /// Encodes u8 flags || i64 created || i64 modified || u64 text length || [i64 parent] || [u32 length, title] ||
  /// [u32 length, key] || attributes.
  static func bytes(of header: DocumentHeader) -> [UInt8] {
    var builder = ByteBuilder(reserving: 64)
    var flags: UInt8 = header.isJSON ? Flag.json : 0
    if header.parent != nil { flags |= Flag.parent }
    if header.title != nil { flags |= Flag.title }
    if header.key != nil { flags |= Flag.key }
    builder.append(flags)
    builder.append(header.created.millisecondsSince1970)
    builder.append(header.modified.millisecondsSince1970)
    builder.append(UInt64(header.byteCount))
    if let parent = header.parent { builder.append(parent.rawValue) }
    for part in [header.title.map { Array($0.utf8) }, header.key?.bytes] {
      guard let part else { continue }
      builder.append(UInt32(part.count))
      builder.append(bytes: part)
    }
    builder.append(bytes: header.attributes.canonicalJSON)
    return builder.bytes
  }

  /// Decodes a header, or returns `nil` if the bytes are invalid.
  static func header(
    _ id: Int64, in collection: UInt32, at position: DocumentPosition, _ bytes: UnsafeRawBufferPointer
  ) -> DocumentHeader? {
    var reader = ByteReader(bytes)
    guard let flags: UInt8 = reader.integer(), flags & ~Flag.all == 0, let created: Int64 = reader.integer(),
      let modified: Int64 = reader.integer(), let count: UInt64 = reader.integer(),
      count <= UInt64(StoreFormat.maximumText)
    else { return nil }
    var parent: DocumentID?
    if flags & Flag.parent != 0 {
      guard let number: Int64 = reader.integer() else { return nil }
      parent = DocumentID(number)
    }
    var title: String?
    if flags & Flag.title != 0 {
      guard let length: UInt32 = reader.integer(), let utf8 = reader.bytes(Int(length)) else { return nil }
      title = String(decoding: utf8, as: UTF8.self)
    }
    var key: DocumentKey?
    if flags & Flag.key != 0 {
      guard let length: UInt32 = reader.integer(), let part = reader.bytes(Int(length)) else { return nil }
      key = DocumentKey(bytes: part)
    }
    let attributes = reader.bytes(reader.remaining)
    let dates = (Timestamp(millisecondsSince1970: created), Timestamp(millisecondsSince1970: modified))
    guard dates.0.isStorable, dates.1.isStorable else { return nil }
    return DocumentHeader(
      id: DocumentID(id), collection: CollectionID(collection), position: position, parent: parent, title: title,
      key: key,
      attributes: attributes.map { $0.isEmpty ? Attributes() : Attributes(uncheckedCanonicalJSON: $0) } ?? Attributes(),
      created: dates.0, modified: dates.1, byteCount: Int(count), isJSON: flags & Flag.json != 0)
  }
}
