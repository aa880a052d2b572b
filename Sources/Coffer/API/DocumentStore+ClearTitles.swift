internal import CofferRecords
internal import CofferSQLite
public import FoundationEssentials

/// A clear title with its document's id, as anyone can see it in the file.
public struct ClearHeader: Sendable, Hashable {
  public let id: DocumentID
  public let position: Int64
  public let title: String?
}

extension DocumentStore {
  /// Clear titles in order, as anyone can read them; nothing is verified.
  ///
  /// - Throws: `invalidArgument` if the store has no clear titles, `noSuchCollection`.
  public static func clearHeaders(
    at url: URL, collection: CollectionID, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10)
  ) throws -> [ClearHeader] {
    var headers: [ClearHeader] = []
    try forEachClearHeader(at: url, collection: collection, offset: offset, limit: limit, wait: wait) {
      headers.append($0)
    }
    return headers
  }

  /// The same, one at a time: memory stays small however long the list is.
  public static func forEachClearHeader(
    at url: URL, collection: CollectionID, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10),
    _ body: (ClearHeader) throws -> Void
  ) throws {
    let result = try withFile(url, wait) { file throws(StoreError) in
      let (header, _) = try file.readHeader()
      guard header.titles == TitleMode.clear.rawValue else {
        throw StoreError(.invalidArgument, "titles do not stand in clear in this store", hint: "list it with its key")
      }
      let collections = try file.database.rows(SQL.collections)
      guard collections.contains(where: { $0[0] == .integer(Int64(collection.rawValue)) }) else {
        throw StoreError(.noSuchCollection, "there is no collection \(collection)", hint: "info lists those there are")
      }
      return Result { try walk(file, collection, offset: offset, limit: limit, body) }
    }
    try result.get()
  }

  private static func walk(
    _ file: StoreFile, _ collection: CollectionID, offset: Int, limit: Int, _ body: (ClearHeader) throws -> Void
  ) throws {
    let statement = try file.database.statement(
      SQL.clearTitles, Int64(collection.rawValue), Int64(limit), Int64(offset))
    defer { statement.reset() }
    while try statement.step() {
      if let header = ClearHeader(statement.columns()) { try body(header) }
    }
  }
}

extension ClearHeader {
  /// A row as `SQL.clearTitles` selects it; nil if id or position is no integer.
  fileprivate init?(_ row: UnsafeBufferPointer<StoredColumn>) {
    guard row[0].storageClass == .integer, row[1].storageClass == .integer else { return nil }
    let title = row[2].storageClass == .text ? String(validating: row[2].bytes, as: UTF8.self) : nil
    self.init(id: DocumentID(row[0].integer), position: row[1].integer, title: title)
  }
}
