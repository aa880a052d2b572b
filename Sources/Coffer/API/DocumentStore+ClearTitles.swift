internal import CofferRecords
internal import CofferSQLite
public import FoundationEssentials

/// A clear title with its document's id, as anyone can see it in the file.
public struct ClearHeader: Sendable, Hashable {
  /// The document's id.
  public let id: DocumentID
  /// The sort key within the collection; rows are sorted by (position, id).
  public let position: Int64
  /// The clear title; nil if the document has none, or if its title is not valid UTF-8.
  public let title: String?
}

extension DocumentStore {
  /// Clear titles of one collection in order, as anyone can read them; needs no key, and verifies nothing.
  ///
  /// Reads one row for each title and opens no text; memory holds the whole result. `offset` passes over titles from
  /// the top, each at the cost of its row. The file is not changed.
  ///
  /// - Returns: the titles, sorted by (position, id); empty for an empty collection.
  /// - Throws: `invalidArgument` if the store has no clear titles, `noSuchCollection`; `noSuchFile`, `notAStore`,
  ///   `otherFormat`, `damaged`, and `locked` if another process keeps its lock longer than `wait` (nil waits for
  ///   ever).
  public static func clearHeaders(
    at url: URL, collection: CollectionID, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10)
  ) throws -> [ClearHeader] {
    var headers: [ClearHeader] = []
    try forEachClearHeader(at: url, collection: collection, offset: offset, limit: limit, wait: wait) {
      headers.append($0)
    }
    return headers
  }

  /// Calls `body` with each clear title of one collection in order: memory stays small however long the list is.
  ///
  /// - Throws: errors of `body`, which end the walk, and those of ``clearHeaders(at:collection:offset:limit:wait:)``.
  public static func forEachClearHeader(
    at url: URL, collection: CollectionID, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10),
    _ body: (ClearHeader) throws -> Void
  ) throws {
    try forEachClearHeader(at: url, in: [collection], offset: offset, limit: limit, wait: wait) { header, _ in
      try body(header)
    }
  }

  /// Calls `body` with each clear title of several collections, one collection after the other, all as of one moment.
  ///
  /// `collections` names them in the wanted order; nil takes every collection that the file has at that moment.
  /// `offset` and `limit` count through all collections.
  ///
  /// - Throws: errors of `body`, which end the walk, and those of ``clearHeaders(at:collection:offset:limit:wait:)``.
  public static func forEachClearHeader(
    at url: URL, in collections: [CollectionID]?, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10),
    _ body: (ClearHeader, CollectionID) throws -> Void
  ) throws {
    let result = try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      let (header, _) = try file.readHeader()
      guard header.titles == TitleMode.clear.rawValue else {
        throw StoreError(.invalidArgument, "titles are not in clear in this store", hint: "list it with its key")
      }
      let there = try file.database.rows(SQL.collections).compactMap { row in
        if case .integer(let number) = row[0] { UInt32(exactly: number).map { CollectionID($0) } } else { nil }
      }
      if let missing = collections?.first(where: { !there.contains($0) }) {
        throw StoreError(.noSuchCollection, "there is no collection \(missing)", hint: "\(.info) lists those there are")
      }
      return Result {
        var (toSkip, left) = (offset, limit)
        for collection in collections ?? there where left > 0 {
          try walk(file, collection) { header in
            if toSkip > 0 {
              toSkip -= 1
            } else {
              try body(header, collection)
              left -= 1
            }
            return left > 0
          }
        }
      }
    }
    try result.get()
  }

  /// - Parameter body: returns false to end the walk.
  private static func walk(
    _ file: StoreFile, _ collection: CollectionID, _ body: (ClearHeader) throws -> Bool
  ) throws {
    let statement = try file.database.statement(SQL.clearTitles, Int64(collection.rawValue))
    defer { statement.reset() }
    while try statement.step() {
      if let header = ClearHeader(statement.columns()), try !body(header) { return }
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
