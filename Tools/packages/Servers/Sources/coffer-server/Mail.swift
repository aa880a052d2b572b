import Coffer
import Foundation
import GRDB

/// A mailbox whose pages are read: 20,000 messages, half of them in one thread.
protocol Mailbox {
  /// Returns the number of bytes of the texts of the newest 50 messages of the thread before a date.
  func page(before date: Int) throws -> Int
  func close() throws
}

extension Mailbox {
  static var count: Int { 20_000 }
  static var thread: String { "long" }
  static func thread(_ date: Int) -> String { date % 2 == 0 ? thread : "\(date % 100)" }
}

struct CofferMailbox: Mailbox {
  private struct Message: Codable {
    let thread: String
    let date: Int
    let text: String
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
      let messages = texts.enumerated().map { Message(thread: Self.thread($0), date: $0, text: $1) }
      _ = try tx.insert(contentsOf: messages, into: Self.mail)
      _ = try tx.setIndexes(
        [
          .field("thread", "$.thread", as: .text), .field("date", "$.date", as: .number),
          .fields(["thread", "date"]),
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

  func close() throws { try store.close() }
}

struct GRDBMailbox: Mailbox {
  private let pool: DatabasePool

  init(in folder: URL, _ texts: [String]) throws {
    pool = try DatabasePool(path: folder.appending(path: "mail.db").path)
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE mail(id INTEGER PRIMARY KEY, thread TEXT NOT NULL, date INTEGER NOT NULL, text TEXT NOT NULL);
          CREATE INDEX mail_thread ON mail(thread, date);
          """)
      let statement = try db.cachedStatement(sql: "INSERT INTO mail(thread, date, text) VALUES(?, ?, ?)")
      for (date, text) in texts.enumerated() {
        try statement.execute(arguments: [Self.thread(date), date, text])
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

  func close() throws { try pool.close() }
}
