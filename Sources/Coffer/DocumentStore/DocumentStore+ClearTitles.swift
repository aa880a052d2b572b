internal import CofferEngine
public import CofferFoundation
internal import CofferRecords
internal import CofferSQLite

/// A plaintext title and its document's ID, as anyone can read them in the file. They aren't verified.
public struct ClearHeader: Sendable, Hashable {
  /// The document's ID.
  public let id: DocumentID
  /// The document's collection.
  public let collection: CollectionID
  /// The position in the collection. Documents are sorted by (position, ID).
  public let position: DocumentPosition
  /// The plaintext title, or `nil` if the document is untitled or the title isn't valid UTF-8.
  public let title: String?
}

extension DocumentStore {
  /// Returns plaintext titles in order, as anyone can read them. Doesn't need a key, and doesn't verify the titles.
  ///
  /// Reads one row for each title, including skipped titles, without reading texts. The file is unchanged.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - collection: The collection to list, or `nil` to list all collections in sequence.
  ///   - offset: The number of titles to skip.
  ///   - limit: The maximum number of titles.
  ///   - wait: The maximum time to wait for locks, or `nil` to wait indefinitely.
  /// - Throws: `invalidArgument` if the store's titles aren't in plaintext. `noSuchCollection`, `noSuchFile`,
  ///   `notAStore`, `otherFormat` or `damaged`. `locked` if another process keeps its lock for longer than `wait`.
  public static func clearHeaders(
    at url: URL, collection: CollectionID? = nil, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10)
  ) throws -> [ClearHeader] {
    var headers: [ClearHeader] = []
    try forEachClearHeader(at: url, in: collection.map { [$0] }, offset: offset, limit: limit, wait: wait) {
      headers.append($0)
    }
    return headers
  }

  /// Calls `body` with the plaintext titles of several collections, in one transaction.
  ///
  /// - Parameters:
  ///   - collections: The collections in the order to list them, or `nil` to list all collections.
  ///   - offset: The number of titles to skip, counted across all collections.
  ///   - limit: The maximum number of titles, counted across all collections.
  /// - Throws: Errors of `body`, and the errors of ``clearHeaders(at:collection:offset:limit:wait:)``.
  package static func forEachClearHeader(
    at url: URL, in collections: [CollectionID]?, offset: Int = 0, limit: Int = .max, wait: Duration? = .seconds(10),
    _ body: (ClearHeader) throws -> Void
  ) throws {
    let result = try StoreFile.reading(url.path, wait) { file throws(StoreError) in
      let (header, _) = try file.readHeader()
      guard header.titles == CreateOptions.Titles.clear.rawValue else {
        throw StoreError(.invalidArgument, "titles are not in clear in this store", hint: "list it with its key")
      }
      guard try file.database.isFinite(.order, .collections) else { throw .endlessRows }
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
              try body(header)
              left -= 1
            }
            return left > 0
          }
        }
      }
    }
    try result.get()
  }

  /// - Parameter body: Returns `false` to end the walk.
  private static func walk(
    _ file: StoreFile, _ collection: CollectionID, _ body: (ClearHeader) throws -> Bool
  ) throws {
    let statement = try file.database.statement(SQL.clearTitles, Int64(collection.rawValue))
    defer { statement.reset() }
    while try statement.step() {
      if let header = ClearHeader(statement.columns(), in: collection), try !body(header) { return }
    }
  }
}

extension ClearHeader {
  /// Creates a header from a row of `SQL.clearTitles`, or returns `nil` if its ID or position is invalid.
  fileprivate init?(_ row: UnsafeBufferPointer<StoredColumn>, in collection: CollectionID) {
    guard row[0].storageClass == .integer, row[1].storageClass == .blob,
      let position = DocumentPosition(copying: row[1].bytes)
    else { return nil }
    let title = row[2].storageClass == .text ? String(validating: row[2].bytes, as: UTF8.self) : nil
    self.init(id: DocumentID(row[0].integer), collection: collection, position: position, title: title)
  }
}
