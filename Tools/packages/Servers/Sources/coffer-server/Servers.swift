import Coffer
import Foundation
import GRDB

/// What each side of the comparison does.
protocol Server: Sendable {
  func fill(_ texts: [String]) async throws
  /// Writes each text in a transaction of its own.
  func write(each texts: [String]) async throws
  func write(_ text: String) async throws -> Int64
  func text(of id: Int) async throws -> Int
  /// Returns the number of bytes of the ten best documents' titles.
  func search(_ word: String) async throws -> Int
  func count() async throws -> Int
  func close() async throws
}

extension Server {
  func write(each texts: [String]) async throws {
    for text in texts { _ = try await write(text) }
  }
}

func title(_ text: String) -> String { String(text.prefix(30)) }

struct CofferServer: Server {
  private static let notes = DocumentCollection("notes")
  private let store: DocumentStore

  init(in folder: URL) throws {
    var creation = CreateOptions()
    creation.journal = .writeAheadLog
    creation.titles = .sealed
    let key = folder.appending(path: "server.key")
    store = try DocumentStore.create(
      at: folder.appending(path: "server.coffer"), keys: [.generate(at: key)], creation: creation)
    try store.write { try $0.setIndexes([.words()], of: Self.notes) }
  }

  func fill(_ texts: [String]) async throws {
    try await store.write { tx in
      _ = try tx.insert(contentsOf: texts.lazy.map { Document(title: title($0), text: $0) }, into: Self.notes)
    }
  }

  func write(_ text: String) async throws -> Int64 {
    try await store.write { try $0.insert(Document(title: title(text), text: text), into: Self.notes).rawValue }
  }

  func text(of id: Int) async throws -> Int {
    try await store.read { try $0.text(of: DocumentID(Int64(id))).utf8.count }
  }

  func search(_ word: String) async throws -> Int {
    try await store.read { tx in
      try tx.search(ranked: word, in: Self.notes, limit: 10).matches.reduce(0) {
        $0 + ($1.header.title?.utf8.count ?? 0)
      }
    }
  }

  func count() async throws -> Int { try await store.read { try $0.count(in: Self.notes) } }

  func close() async throws { try await store.close() }
}

struct GRDBServer: Server {
  private let pool: DatabasePool

  init(in folder: URL) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous=FULL") }
    pool = try DatabasePool(path: folder.appending(path: "server.db").path, configuration: configuration)
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, text TEXT NOT NULL);
          CREATE VIRTUAL TABLE words USING fts5(title, text, content='note', content_rowid='id');
          CREATE TRIGGER note_words AFTER INSERT ON note BEGIN
            INSERT INTO words(rowid, title, text) VALUES(new.id, new.title, new.text);
          END;
          """)
    }
  }

  private static func insert(_ text: String, _ db: Database) throws -> Int64 {
    try db.cachedStatement(sql: "INSERT INTO note(title, text) VALUES(?, ?)").execute(arguments: [title(text), text])
    return db.lastInsertedRowID
  }

  func fill(_ texts: [String]) async throws {
    try await pool.write { db in for text in texts { _ = try Self.insert(text, db) } }
  }

  func write(_ text: String) async throws -> Int64 { try await pool.write { try Self.insert(text, $0) } }

  func text(of id: Int) async throws -> Int {
    try await pool.read { db in
      let statement = try db.cachedStatement(sql: "SELECT text FROM note WHERE id = ?")
      return try String.fetchOne(statement, arguments: [id])?.utf8.count ?? 0
    }
  }

  func search(_ word: String) async throws -> Int {
    try await pool.read { db in
      let statement = try db.cachedStatement(
        sql:
          "SELECT note.title FROM words JOIN note ON note.id = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT 10")
      return try String.fetchAll(statement, arguments: [word]).reduce(0) { $0 + $1.utf8.count }
    }
  }

  func count() async throws -> Int {
    try await pool.read { try Int.fetchOne(try $0.cachedStatement(sql: "SELECT count(*) FROM note")) ?? 0 }
  }

  func close() async throws { try pool.close() }
}
