import Coffer
import Foundation

@testable import CofferStoreTestSupport

/// Three versions of an app that keeps tasks. Each one has the migrations of the earlier ones.
protocol TaskApp {
  associatedtype Task: Codable, Sendable, Equatable
  static var migrations: [Migration] { get }
  var store: DocumentStore { get }
  init(store: DocumentStore)
}

extension TaskApp {
  init(at url: URL, key: StoreKey, options: OpenOptions, adding more: [Migration] = []) throws {
    var options = options
    options.migrations = Self.migrations + more
    self.init(store: try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options))
  }

  func put(_ task: Task, as name: String) throws {
    try store.write { _ = try $0.put(task, into: "tasks", key: DocumentKey(name)) }
  }

  func task(_ name: String) throws -> Task? {
    try store.read { try $0.value(Task.self, forKey: DocumentKey(name), in: "tasks") }
  }

  func tasks(in collection: DocumentCollection = "tasks") throws -> [Task] {
    try store.read { try $0.values(Task.self, in: collection) }.map(\.value)
  }

  func titles(in collection: DocumentCollection = "tasks", where condition: String, _ value: any SQLiteValueConvertible)
    throws -> [String]
  {
    try store.read {
      try $0.query("SELECT title FROM \(collection.name) WHERE \(condition) ? ORDER BY title", value)
    }.map { try $0["title", as: String.self] }
  }

  func find(_ words: String, in collection: DocumentCollection = "tasks") throws -> Int {
    try store.read { try $0.search(ranked: RankedMatches.query(quoting: words), in: collection) }.total
  }
}

struct FirstTaskApp: TaskApp {
  struct Task: Codable, Sendable, Equatable {
    var title: String
    var urgency: String
  }

  static let migrations = [
    Migration("words and urgency") { tx in
      try tx.setIndexes([.words(), .field("urgency", "$.urgency", as: .text)], of: "tasks")
    }
  ]

  let store: DocumentStore
}

/// Tasks gain a date and a mark. The words are only those of the titles.
struct SecondTaskApp: TaskApp {
  struct Task: VersionedValue, Equatable {
    static var defaults: Task? { Task(title: "", urgency: "") }
    var title: String
    var urgency: String
    var due: Date?
    var isDone = false
  }

  static let migrations =
    FirstTaskApp.migrations + [
      Migration("due dates") { tx in
        try tx.setIndexes(
          [
            .words(in: "$.title"), .field("urgency", "$.urgency", as: .text), .field("due", "$.due", as: .date),
            .fields(["urgency", "due"]),
          ], of: "tasks")
      }
    ]

  let store: DocumentStore
}

/// The urgency becomes a number, and tasks that are done get a collection of their own.
struct ThirdTaskApp: TaskApp {
  struct Task: VersionedValue, Equatable {
    static let schema = 2
    var title: String
    var urgency: Int
    var due: Date?
    var isDone: Bool

    static func migrate(_ old: OlderValue<Task>) throws -> Task {
      let task = try old.decode(as: SecondTaskApp.Task.self)
      guard let urgency = ["low": 1, "high": 2][task.urgency] else { throw UnknownUrgency() }
      return Task(title: task.title, urgency: urgency, due: task.due, isDone: task.isDone)
    }
  }

  struct UnknownUrgency: Error {}

  static let migrations =
    SecondTaskApp.migrations + [
      Migration("numbers of urgency") { tx in
        _ = try tx.migrateValues(Task.self, in: "tasks")
        try tx.setIndexes(
          [.field("urgency", "$.urgency", as: .number), .field("due", "$.due", as: .date)], of: "tasks")
      },
      Migration("archive") { tx in
        for task in try tx.values(Task.self, in: "tasks") where task.isDone { try tx.move(task.id, into: "archive") }
        try tx.setIndexes([.words(), .field("urgency", "$.urgency", as: .number)], of: "archive")
      },
    ]

  let store: DocumentStore
}
