import Coffer
import Foundation
import GRDB

/// The mailbox of a mail client: 50,000 messages, of which 10,000 are in one thread.
protocol Mailbox {
  /// Returns the number of bytes of the texts of the newest 50 messages of the thread before a date.
  func page(before date: Int) throws -> Int
  /// Returns the number of messages with a word in their text, which may be more than the 50 best that are read.
  func find(_ word: String) throws -> Int
  func markRead(_ id: Int) throws
  func unread() throws -> Int
  func close() throws
}

extension Mailbox {
  static var count: Int { 50_000 }
  static var thread: String { "long" }
  static func thread(_ date: Int) -> String { date % 5 == 0 ? thread : "\(date % 1000)" }
}

struct CofferMailbox: Mailbox {
  private struct Message: Codable {
    let thread: String
    let date: Int
    let sender: String
    let text: String
    var isRead = false
  }

  private static let mail = DocumentCollection("mail")
  private let store: DocumentStore

  init(in folder: URL, _ texts: [String]) throws {
    var creation = CreateOptions()
    creation.journal = .writeAheadLog
    let key = folder.appending(path: "mail.key")
    store = try DocumentStore.create(
      at: folder.appending(path: "mail.coffer"), keys: [.generate(at: key)], creation: creation)
    try store.write { tx in
      let messages = texts.enumerated().map {
        Message(thread: Self.thread($0), date: $0, sender: sender($0), text: $1)
      }
      _ = try tx.insert(contentsOf: messages, into: Self.mail)
      _ = try tx.setIndexes(
        [
          .words(in: "$.text"), .field("thread", "$.thread", as: .text), .field("date", "$.date", as: .number),
          .field("isRead", "$.isRead", as: .boolean), .fields(["thread", "date"]),
        ], of: Self.mail)
    }
  }

  func page(before date: Int) throws -> Int {
    try store.read { tx in
      try tx.query(
        """
        SELECT id, date, text FROM mail
        WHERE thread = ? AND date < ? ORDER BY date DESC LIMIT 50
        """, Self.thread, date
      ).reduce(0) { $0 + (try $1["text", as: String.self]).utf8.count }
    }
  }

  func find(_ word: String) throws -> Int {
    try store.read { try $0.search(ranked: word, in: Self.mail, limit: 50).total }
  }

  func markRead(_ id: Int) throws {
    try store.write { try $0.update(DocumentID(Int64(id)), as: Message.self) { $0.isRead = true } }
  }

  func unread() throws -> Int {
    try store.read { Int(try $0.query("SELECT count(*) FROM mail WHERE isRead = 0").rows[0][0].integer ?? 0) }
  }

  func close() throws { try store.close() }
}

private func sender(_ number: Int) -> String { "sender\(number % 500)@example.org" }

struct GRDBMailbox: Mailbox {
  private let pool: DatabasePool

  init(in folder: URL, _ texts: [String]) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous=FULL") }
    pool = try DatabasePool(path: folder.appending(path: "mail.db").path, configuration: configuration)
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE mail(id INTEGER PRIMARY KEY, thread TEXT NOT NULL, date INTEGER NOT NULL, sender TEXT NOT NULL,
            text TEXT NOT NULL, isRead INTEGER NOT NULL DEFAULT 0);
          CREATE INDEX mail_thread ON mail(thread, date);
          CREATE INDEX mail_read ON mail(isRead);
          CREATE VIRTUAL TABLE words USING fts5(text, content='mail', content_rowid='id');
          CREATE TRIGGER mail_words AFTER INSERT ON mail BEGIN
            INSERT INTO words(rowid, text) VALUES(new.id, new.text);
          END;
          """)
      let statement = try db.cachedStatement(sql: "INSERT INTO mail(thread, date, sender, text) VALUES(?, ?, ?, ?)")
      for (date, text) in texts.enumerated() {
        try statement.execute(arguments: [Self.thread(date), date, sender(date), text])
      }
    }
  }

  func page(before date: Int) throws -> Int {
    try pool.read { db in
      let statement = try db.cachedStatement(
        sql: "SELECT id, date, text FROM mail WHERE thread = ? AND date < ? ORDER BY date DESC LIMIT 50")
      return try Row.fetchAll(statement, arguments: [Self.thread, date]).reduce(0) {
        $0 + ($1["text"] as String).utf8.count
      }
    }
  }

  func find(_ word: String) throws -> Int {
    try pool.read { db in
      let best = try db.cachedStatement(
        sql: "SELECT mail.* FROM words JOIN mail ON mail.id = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT 50")
      _ = try Row.fetchAll(best, arguments: [word])
      let total = try db.cachedStatement(sql: "SELECT count(*) FROM words WHERE words MATCH ?")
      return try Int.fetchOne(total, arguments: [word]) ?? 0
    }
  }

  func markRead(_ id: Int) throws {
    try pool.write { try $0.cachedStatement(sql: "UPDATE mail SET isRead = 1 WHERE id = ?").execute(arguments: [id]) }
  }

  func unread() throws -> Int {
    try pool.read {
      try Int.fetchOne(try $0.cachedStatement(sql: "SELECT count(*) FROM mail WHERE isRead = 0")) ?? 0
    }
  }

  func close() throws { try pool.close() }
}
