import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The life of an app's store through three versions of the app, by the public API alone.
struct TaskAppsTests {
  private let place: Workplace
  private let options: OpenOptions
  private let noon = Date(timeIntervalSince1970: 1_800_000_000)

  init() throws {
    place = try Workplace()
    var options = OpenOptions.testing
    options.creation.isTest = true
    self.options = options
  }

  private func open<App: TaskApp>(_ type: App.Type, adding more: [Migration] = []) throws -> App {
    try App(at: place.file("tasks.coffer"), key: .published("primary"), options: options, adding: more)
  }

  /// A store of the second app: tasks 0 to 9, half of them urgent, of which each third one is done.
  private func second() throws -> SecondTaskApp {
    let first = try open(FirstTaskApp.self)
    for number in 0..<10 {
      try first.put(.init(title: "task \(number)", urgency: number % 2 == 0 ? "low" : "high"), as: "\(number)")
    }
    try first.store.close()
    let second = try open(SecondTaskApp.self)
    for number in stride(from: 0, to: 10, by: 3) {
      var task = try #require(try second.task("\(number)"))
      (task.due, task.isDone) = (noon.addingTimeInterval(Double(number)), true)
      try second.put(task, as: "\(number)")
    }
    return second
  }

  @Test func eachVersionFindsWhatEarlierOnesWrote() throws {
    let first = try open(FirstTaskApp.self)
    try first.put(.init(title: "sail", urgency: "high"), as: "a")
    try first.put(.init(title: "paint the mast", urgency: "low"), as: "b")
    #expect(try first.titles(where: "urgency =", "high") == ["sail"])
    #expect(try first.find("high") == 1)

    let second = try open(SecondTaskApp.self)
    #expect(try second.task("a") == .init(title: "sail", urgency: "high"))
    try second.put(.init(title: "sail", urgency: "high", due: noon, isDone: true), as: "a")
    #expect(try second.titles(where: "urgency = 'high' AND due <", noon.addingTimeInterval(1)) == ["sail"])
    #expect(try [second.find("high"), second.find("MAST")] == [0, 1])
    // The first app is still open.
    expect(.otherFormat) { try first.tasks() }
    expect(.otherFormat) { try first.put(.init(title: "gone", urgency: "low"), as: "a") }
    try first.store.close()
    try second.store.close()

    let third = try open(ThirdTaskApp.self)
    #expect(try third.tasks() == [.init(title: "paint the mast", urgency: 1, isDone: false)])
    #expect(try third.tasks(in: "archive") == [.init(title: "sail", urgency: 2, due: noon, isDone: true)])
    #expect(try third.titles(where: "urgency <", 2) == ["paint the mast"])
    #expect(try third.titles(in: "archive", where: "urgency >=", 2) == ["sail"])
    #expect(try third.find("sail", in: "archive") == 1)
    #expect(
      try third.store.read { try $0.indexes(of: "tasks") }
        == [.field("due", "$.due", as: .date), .field("urgency", "$.urgency", as: .number)])
    #expect(try third.store.verify(.full).isSound)
    try third.store.close()
  }

  @Test func failedUpgradeLeavesStoreToOlderVersion() throws {
    let second = try second()
    try second.put(.init(title: "odd", urgency: "perhaps"), as: "odd")
    let before = try (second.tasks(), second.store.anchor(), second.store.read { try $0.indexes(of: "tasks") })
    // The value that can't be converted is the last one.
    let error = #expect(throws: StoreError.self) { try open(ThirdTaskApp.self) }
    #expect(error?.code == .notDecodable && error?.message.contains("numbers of urgency") == true)
    // All values are converted and moved before this one fails.
    try second.put(.init(title: "odd", urgency: "low"), as: "odd")
    let now = try (second.tasks(), second.store.anchor())
    #expect(now.0.count == before.0.count && now.1 != before.1)
    expect(.migrationFailed) {
      try open(ThirdTaskApp.self, adding: [Migration("fails") { _ in throw ThirdTaskApp.UnknownUrgency() }])
    }
    #expect(try second.tasks() == now.0)
    #expect(try second.store.anchor() == now.1)
    #expect(try second.store.read { try $0.indexes(of: "tasks") } == before.2)
    #expect(try second.titles(where: "urgency =", "low").count == 6)
    #expect(try second.store.read { try !$0.exists("archive") })
    try second.store.close()
    let third = try open(ThirdTaskApp.self)
    #expect(try [third.tasks().count, third.tasks(in: "archive").count] == [7, 4])
    try third.store.close()
  }

  @Test func downgradedAppChangesNothing() throws {
    try second().store.close()
    let third = try open(ThirdTaskApp.self)
    let before = try third.store.anchor()
    expect(.otherFormat) { try open(SecondTaskApp.self) }
    expect(.otherFormat) { try open(FirstTaskApp.self) }
    // An app that declares no migrations opens the store, but can't read or replace newer values.
    let old = SecondTaskApp(
      store: try DocumentStore.open(at: place.file("tasks.coffer"), key: .published("primary"), options: options))
    expect(.notDecodable) { try old.tasks() }
    expect(.notDecodable) { try old.task("1") }
    expect(.notDecodable) { try old.put(.init(title: "gone", urgency: "low"), as: "1") }
    expect(.notDecodable) { try old.store.write { try $0.update(2, as: SecondTaskApp.Task.self) { $0.isDone = true } } }
    #expect(try third.store.anchor() == before)
    try old.put(.init(title: "new", urgency: "low"), as: "new")
    #expect(try third.task("new") == .init(title: "new", urgency: 1, isDone: false))
    #expect(try third.store.verify(.full).isSound)
    try old.store.close()
    try third.store.close()
  }

  @Test func restoredBackupIsUpgraded() throws {
    let second = try second()
    let backup = place.file("backup.coffer")
    try second.store.backup(to: backup)
    try second.store.close()
    let third = try ThirdTaskApp(at: backup, key: .published("primary"), options: options)
    #expect(try [third.tasks().count, third.tasks(in: "archive").count] == [6, 4])
    #expect(try third.titles(in: "archive", where: "urgency =", 2) == ["task 3", "task 9"])
    try third.store.close()
  }
}
