import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Migrations of an app, which are the application version of its store.
struct MigrationTests {
  /// The migrations of app versions 1 to 3.
  private static let steps: [Migration] = [
    Migration("fields") { tx in
      try tx.setIndexes([.field("rank", "$.rank", as: .number), .words()], of: "notes")
    },
    Migration("archive") { tx in
      try tx.setIndexes([.field("rank", "$.rank", as: .number)], of: "archive")
      for header in try tx.headers(in: "notes") where header.attributes["old"] == true {
        try tx.move(header.id, into: "archive")
      }
    },
    Migration("ranks") { tx in
      try tx.setIndexes([.field("rank", "$.rank", as: .text), .titles], of: "notes")
      for header in try tx.headers(in: "notes") {
        try tx.update(header.id, keepingDate: true) { $0.text = #"{"rank":"r\#(header.id)"}"# }
      }
    },
  ]

  private func options(
    version: Int?, _ journal: CreateOptions.Journal = .rollback, adding more: [Migration] = []
  ) -> OpenOptions {
    var options = OpenOptions.testing
    options.creation.isTest = true
    options.creation.journal = journal
    options.migrations = version.map { Array(Self.steps.prefix($0)) + more }
    return options
  }

  private func open(_ url: URL, _ options: OpenOptions) throws -> DocumentStore {
    try DocumentStore.open(at: url, key: .published("primary"), creatingIfMissing: true, options: options)
  }

  private func fill(_ store: DocumentStore, count: Int = 20) throws {
    try store.write { tx in
      for number in 1...count {
        try tx.insert(
          Document(text: #"{"rank":\#(number)}"#, attributes: number % 4 == 0 ? ["old": true] : [:], isJSON: true),
          into: "notes")
      }
    }
  }

  private func ranks(_ store: DocumentStore, _ collection: String) throws -> [SQLiteValue] {
    try store.read { try $0.query("SELECT rank FROM \(collection) ORDER BY id") }.rows.map { $0[0] }
  }

  private func integers(_ numbers: some Sequence<Int64>) -> [SQLiteValue] { numbers.map { .integer($0) } }

  // MARK: Running

  @Test(arguments: CreateOptions.Journal.allCases)
  func eachMigrationRunsOnce(_ journal: CreateOptions.Journal) throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    for version in [0, 0, 1, 1, 2, 3, 3] {
      let store = try open(url, options(version: version, journal))
      if version == 0 { try fill(store, count: 10) }
      #expect(try store.read { try $0.appliedMigrations() } == Self.steps.prefix(version).map(\.name).sorted())
      #expect(try store.read { try $0.collections() }.allSatisfy { ["notes", "archive"].contains($0.name) })
      switch version {
      case 1: #expect(try ranks(store, "notes") == integers(1...10) + integers(1...10))
      case 2: #expect(try ranks(store, "archive") == integers([4, 8, 4, 8]))
      case 3:
        #expect(try ranks(store, "notes").first == .text("r1"))
        #expect(try ranks(store, "archive") == integers([4, 8, 4, 8]))
        #expect(try store.read { try $0.indexes(of: "notes") } == [.titles, .field("rank", "$.rank", as: .text)])
      default: break
      }
      #expect(try store.verify(.full).isSound)
      try store.close()
    }
  }

  /// For the format, the list of migrations is a collection like any other.
  @Test(.enabled(if: SecondReader.isPresent, SecondReader.absence), arguments: CreateOptions.Journal.allCases)
  func secondReaderAccepts(_ journal: CreateOptions.Journal) throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let booleans = Migration("booleans") { tx in
      try tx.insert(Document(text: #"{"on":true}"#, isJSON: true), into: "notes")
      try tx.setIndexes([.field("on", "$.on", as: .boolean), .words()], of: "notes")
    }
    let store = try open(url, options(version: 3, journal, adding: [booleans]))
    try fill(store)
    func count() throws -> Int64? {
      try SecondReader.read(url, ["--key-file", PublishedKeys.url("primary").path])["count"].int
    }
    #expect(try count() == 21)
    try store.rekey(to: [.published("primary")])
    #expect(try count() == 21)
    try store.close()
    #expect(try count() == 21)
  }

  @Test func newAndEmptiedStoresMakeAllMigrations() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let store = try open(url, options(version: 3))
    #expect(try store.read { try $0.appliedMigrations() }.count == 3)
    try fill(store)
    try store.close()
    let emptied = try DocumentStore.open(
      at: url, key: .published("primary"), startingAfresh: true, options: options(version: 2))
    #expect(try emptied.read { try $0.appliedMigrations() } == ["archive", "fields"])
    #expect(try emptied.read { try $0.count(in: "notes") } == 0)
    try emptied.close()
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func failedMigrationLeavesStoreAsBefore(_ journal: CreateOptions.Journal) throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let store = try open(url, options(version: 1, journal))
    try fill(store)
    let (before, anchor) = (try store.everything(), try store.anchor())
    try store.close()
    let failing: [(Migration, StoreError.Code)] = [
      (Migration("fails") { _ in throw Interruption() }, .migrationFailed),
      (Migration("fails") { tx in _ = try tx.text(of: 1000) }, .noSuchDocument),
      (Migration("fails") { tx in try tx.drop("missing") }, .noSuchCollection),
    ]
    for (failing, code) in failing {
      let error = #expect(throws: StoreError.self) {
        try open(url, options(version: 2, journal, adding: [failing]))
      }
      #expect(error?.code == code && error?.message.hasPrefix("the migration \"fails\" failed: ") == true)
      let same = try open(url, options(version: 1, journal))
      #expect(try same.everything() == before)
      #expect(try same.anchor() == anchor)
      #expect(try same.read { try $0.indexes(of: "archive") }.isEmpty)
      #expect(try ranks(same, "notes").count == 20)
      try same.close()
    }
    let migrated = try open(url, options(version: 2, journal))
    #expect(try migrated.read { try $0.count(in: "archive") } == 5)
    #expect(try migrated.verify(.full).isSound)
    try migrated.close()
  }

  @Test func errorsThatMigrationCatchesUndoOnlyTheirPart() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let migration = Migration("part") { tx in
      try tx.setIndexes([.words()], of: "notes")
      try? tx.savepoint { tx in
        try tx.setIndexes([.field("rank", "$.rank", as: .number)], of: "notes")
        try tx.insert(Document(text: "gone"), into: "notes")
        throw Interruption()
      }
      try? tx.savepoint { tx in
        try tx.setIndexes([], of: "notes")
        throw Interruption()
      }
      try tx.insert(Document(text: "stays"), into: "notes")
      #expect(try tx.search(ranked: "stays", in: "notes").total == 1)
      #expect(try tx.search(ranked: "gone", in: "notes").total == 0)
    }
    let store = try open(url, options(version: 0, adding: [migration]))
    #expect(try store.read { try $0.indexes(of: "notes") } == [.words()])
    #expect(try store.verify(.full).isSound)
    try store.close()
  }

  @Test func invalidNamesAreErrors() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    try open(url, options(version: 1)).close()
    for names in [[""], ["a", "a"], [String(repeating: "é", count: 65)]] {
      expect(.invalidArgument) { try open(url, options(version: 1, adding: names.map { Migration($0) { _ in } })) }
    }
    // More names than a collection's attributes hold.
    let many = (1...600).map { Migration(String(repeating: "x", count: 120) + "\($0)") { _ in } }
    expect(.tooLarge) { try open(url, options(version: 1, adding: many)) }
    let store = try open(url, options(version: 1))
    for collection in ["coffer.migrations"] as [DocumentCollection] {
      expect(.invalidArgument) { try store.write { try $0.create(collection) } }
      expect(.invalidArgument) { try store.write { try $0.insert(Document(text: ""), into: collection) } }
      expect(.invalidArgument) { try store.write { try $0.insert(contentsOf: [Document(text: "")], into: collection) } }
      expect(.invalidArgument) { try store.write { _ = try $0.rename("notes", to: collection.name) } }
      expect(.noSuchCollection) { try store.write { try $0.drop(collection) } }
    }
    #expect(try store.read { try $0.appliedMigrations() } == ["fields"])
    try store.close()
  }

  // MARK: Newer and older programs

  @Test(arguments: CreateOptions.Journal.allCases)
  func olderAppReportsNewerStore(_ journal: CreateOptions.Journal) throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let old = try open(url, options(version: 1, journal))
    try fill(old)
    let new = try open(url, options(version: 2, journal))
    // The older program has the store open.
    for call in [{ try old.read { _ = try $0.count(in: "notes") } }, { try old.write { try $0.delete(1) } }] {
      let error = #expect(throws: StoreError.self) { try call() }
      #expect(error?.code == .otherFormat && error?.hint == "update this app")
      #expect(
        error?.message
          == "a newer version of this app changed the store: its migration \"archive\" isn't known here")
    }
    try old.close()
    var readOnly = options(version: 1, journal)
    readOnly.isReadOnly = true
    for options in [options(version: 1, journal), options(version: 0, journal), readOnly] {
      expect(.otherFormat) { try open(url, options) }
    }
    #expect(try new.read { try $0.exists(1) })
    // A program without migrations isn't an older version.
    let tool = try open(url, options(version: nil, journal))
    #expect(try tool.read { try $0.count(in: "archive") } == 5)
    try tool.close()
    try new.close()
  }

  @Test func readerDoesNotReadBeforeMigration() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    try open(url, options(version: 1)).close()
    var readOnly = options(version: 2)
    readOnly.isReadOnly = true
    let error = #expect(throws: StoreError.self) { try open(url, readOnly) }
    #expect(error?.code == .readOnly && error?.hint == "open it for writing first")
    try open(url, options(version: 2)).close()
    try open(url, readOnly).close()
  }

  @Test func damagedListIsAnError() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let store = try open(url, options(version: 1))
    try store.engine.write { transaction in
      var record = try #require(try transaction.storedCollections().first(where: \.holdsMigrations))
      record.settings.attributes = ["applied": [1]]
      try transaction.collectionEditor.change(record)
    }
    try store.close()
    expect(.damaged) { try open(url, options(version: 1)) }
  }

  /// An app that always opens its store with migrations can't verify the store otherwise.
  @Test func damagedCollectionIsVerifiedWithoutMigrations() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    try open(url, options(version: 1)).close()
    let raw = try Database(url.path, mode: .readWrite)
    try raw.execute("UPDATE coffer_collection SET sealed = zeroblob(length(sealed))")
    try raw.close()
    let error = #expect(throws: StoreError.self) { try open(url, options(version: 1)) }
    #expect(error?.code == .damaged)
    #expect(error?.hint == "open it without OpenOptions.migrations first; verify() lists all damage")
    let store = try open(url, options(version: nil))
    #expect(try !store.verify().isSound)
    try store.close()
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func processesThatStartAtOnceMigrateOnce(_ journal: CreateOptions.Journal) throws {
    for _ in 0..<5 {
      let place = try Workplace()
      let url = place.file("app.coffer")
      try open(url, options(version: 0, journal)).close()
      let runs = Atomic<Int>(0)
      let counting = Migration("counting") { tx in
        runs.add(1, ordering: .relaxed)
        try tx.insert(Document(text: "migrated"), into: "log")
      }
      try withExtendedLifetime(runs) {
        let options = options(version: 3, journal, adding: [counting])
        let starts = (0..<6).map { _ in
          Background {
            let store = try DocumentStore.open(at: url, key: .published("primary"), options: options)
            try store.write { _ = try $0.insert(Document(text: "start"), into: "notes") }
            try store.close()
          }
        }
        for start in starts { try start.value() }
      }
      #expect(runs.load(ordering: .relaxed) == 1)
      let store = try open(url, options(version: nil))
      #expect(try store.read { [try $0.count(in: "log"), try $0.count(in: "notes")] } == [1, 6])
      try store.close()
    }
  }

  // MARK: Copies

  @Test func copiesAndBackupsHaveTheMigrationsOfTheirStore() throws {
    let place = try Workplace()
    let url = place.file("app.coffer")
    let store = try open(url, options(version: 2))
    try fill(store)
    let key = StoreKey.published("primary")
    var creation = CreateOptions()
    creation.isTest = true
    try store.copy(to: place.file("whole.coffer"), keys: [key], creation: creation)
    try store.copy(.collections(["notes"]), to: place.file("part.coffer"), keys: [key], creation: creation)
    try store.copy(.documents([1, 2]), to: place.file("two.coffer"), keys: [key], creation: creation)
    try store.makeEditableCopy(at: place.file("fork.coffer"), keys: [key], creation: creation)
    try store.backup(to: place.file("backup.coffer"))
    try store.rekey(to: [key])
    try store.close()
    for name in ["app", "whole", "part", "two", "fork", "backup"] {
      let url = place.file("\(name).coffer")
      expect(.otherFormat) { try open(url, options(version: 1)) }
      let copy = try open(url, options(version: 2))
      #expect(try copy.read { try $0.appliedMigrations() } == ["archive", "fields"])
      #expect(try copy.verify(.full).isSound)
      try copy.close()
    }
  }

  /// Two copies that make the same migrations separately merge without a conflict about them. If one hasn't made them,
  /// the merge is refused.
  @Test func mergeNeedsSameMigrations() throws {
    let place = try Workplace()
    let (one, two) = (place.file("one.coffer"), place.file("two.coffer"))
    let key = StoreKey.published("primary")
    let first = try open(one, options(version: 0))
    try fill(first, count: 3)
    var creation = CreateOptions()
    creation.isTest = true
    try first.makeEditableCopy(at: two, keys: [key], creation: creation)
    try first.close()
    let mine = try open(one, options(version: 1))
    try mine.write { _ = try $0.insert(Document(text: "mine"), into: "notes") }
    var theirs = try open(two, options(version: 0))
    try theirs.write { _ = try $0.insert(Document(text: "theirs"), into: "notes") }
    for (store, other) in [(mine, theirs), (theirs, mine)] {
      let before = try store.anchor()
      let error = #expect(throws: StoreError.self) { try store.merge(other) }
      #expect(error?.code == .otherFormat)
      #expect(error?.message == "\(two.path): the store hasn't made the migration \"fields\" of the other store")
      #expect(try store.anchor() == before)
    }
    try theirs.close()
    theirs = try open(two, options(version: 1))
    #expect(try mine.merge(theirs).isMerged)
    #expect(try theirs.merge(mine).isMerged)
    #expect(try mine.inOrder() == theirs.inOrder())
    #expect(try mine.read { try $0.appliedMigrations() } == ["fields"])
    #expect(try mine.verify(.full).isSound && theirs.verify(.full).isSound)
    try mine.close()
    try theirs.close()
  }

  @Test func editableCopyMakesMigrations() throws {
    let place = try Workplace()
    let (original, copy) = (place.file("original.coffer"), place.file("copy.coffer"))
    let key = StoreKey.published("primary")
    let bundled = try open(original, options(version: 0))
    try fill(bundled, count: 4)
    try bundled.close()
    var store = try DocumentStore.openEditableCopy(of: original, at: copy, key: key, options: options(version: 2))
    #expect(try store.read { try $0.count(in: "archive") } == 1)
    try store.close()
    let next = try open(original, options(version: 0))
    try next.write { _ = try $0.insert(Document(text: "new"), into: "notes") }
    try next.close()
    expect(.otherFormat) {
      try DocumentStore.openEditableCopy(
        of: original, at: copy, key: key, onNewerOriginal: .merge(.fail), options: options(version: 2))
    }
    store = try DocumentStore.openEditableCopy(
      of: original, at: copy, key: key, onNewerOriginal: .replace, options: options(version: 2))
    #expect(try store.read { try $0.count(in: "archive") } == 1)
    #expect(try store.read { try $0.appliedMigrations() } == ["archive", "fields"])
    try store.close()
    // An original that a newer app made isn't copied.
    try open(original, options(version: 3)).close()
    expect(.otherFormat) {
      try DocumentStore.openEditableCopy(
        of: original, at: place.file("other.coffer"), key: key, options: options(version: 2))
    }
    #expect(!FileManager.default.fileExists(atPath: place.file("other.coffer").path))
  }

  // MARK: A random history

  /// App versions 1 to 3 and a tool take turns with one store. An older version never changes a newer store, and the
  /// indexes answer like a scan.
  @Test(arguments: HistorySeeds.first(6))
  func alternatingAppVersions(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let place = try Workplace()
    let url = place.file("app.coffer")
    let journal: CreateOptions.Journal = seed.isMultiple(of: 2) ? .rollback : .writeAheadLog
    var reached = 0
    var handles: [(version: Int?, store: DocumentStore)] = []
    for step in 0..<60 {
      switch random.number(below: 10) {
      case 0...2:
        let version = random.number(below: 8) == 0 ? nil : min(3, random.number(below: reached + 2))
        if let version, version < reached {
          expect(.otherFormat) { try open(url, options(version: version, journal)) }
        } else {
          handles.append((version, try open(url, options(version: version, journal))))
          reached = max(reached, version ?? 0)
        }
      case 3 where !handles.isEmpty:
        try handles.remove(at: random.number(below: handles.count)).store.close()
      default:
        guard !handles.isEmpty else { continue }
        let (version, store) = handles[random.number(below: handles.count)]
        let known = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
        let before = try known.anchor()
        do {
          try store.write { tx in
            for number in 0...random.number(below: 30) {
              let collection: DocumentCollection = number % 3 == 0 ? "archive" : "notes"
              let value = reached == 3 ? #""r\#(step)""# : "\(step)"
              try tx.insert(
                Document(text: #"{"rank":\#(value)}"#, attributes: ["old": .bool(number % 5 == 0)], isJSON: true),
                into: collection)
            }
            if let id = try tx.headers(in: "notes").randomElement(using: &random)?.id {
              try tx.move(id, into: "archive")
            }
            if let id = try tx.headers(in: "archive").randomElement(using: &random)?.id {
              if random.number(below: 2) == 0 { try tx.delete(id) } else { try tx.move(id, into: "notes") }
            }
          }
          #expect(version ?? 3 >= reached)
        } catch let error as StoreError {
          #expect(error.code == .otherFormat && version ?? 3 < reached, "\(error)")
          #expect(try known.anchor() == before)
        }
        try known.close()
      }
      if step % 10 == 9 { try compare(url, reached: reached) }
    }
    for (_, store) in handles { try store.close() }
    try compare(url, reached: reached)
  }

  private func compare(_ url: URL, reached: Int) throws {
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try store.read { try $0.appliedMigrations() } == Self.steps.prefix(reached).map(\.name).sorted())
    let indexed: [(String, DocumentIndex.Kind)] =
      switch reached {
      case 0: []
      case 1: [("notes", .number)]
      case 2: [("notes", .number), ("archive", .number)]
      default: [("notes", .text), ("archive", .number)]
      }
    for (collection, kind) in indexed {
      let kinds = kind == .text ? ["text"] : ["integer", "real"]
      let scanned = try store.read {
        try $0.query(
          """
          SELECT CASE WHEN typeof(json ->> '$.rank') IN ('\(kinds.joined(separator: "','"))') THEN json ->> '$.rank' END
          FROM documents WHERE collection = ? ORDER BY id
          """, collection)
      }
      #expect(try ranks(store, collection) == scanned.rows.map { $0[0] })
    }
    #expect(try store.verify(.full).isSound)
    try store.close()
  }
}
