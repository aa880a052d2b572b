import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Calls with extreme argument values, which return or throw without trapping.
struct ExtremesTests {
  @Test func acceptsAnyLimitAndOffset() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<5 { try writer.insert(Document(text: "\(number)"), into: test.notes) }
      }
      try test.store.read { reader throws in
        for limit in [0, -1, Int.min] {
          #expect(try reader.headers(in: test.notes, limit: limit).isEmpty)
          #expect(try reader.search(for: .text("1"), in: test.notes, limit: limit).isEmpty)
        }
        for offset in [-1, Int.min] { #expect(try reader.headers(in: test.notes, offset: offset).count == 5) }
        #expect(try reader.headers(in: test.notes, offset: .max).isEmpty)
        for index in [-1, Int.min, Int.max] { expect(.indexOutOfRange) { try reader.id(at: index, in: test.notes) } }
        for number in [Int64.min, -1, 0, .max] {
          expect(.noSuchDocument) { try reader.text(of: DocumentID(number)) }
          #expect(try !reader.exists(DocumentID(number)))
          #expect(try reader.children(of: DocumentID(number)).isEmpty)
        }
      }
    }
  }

  /// Dates around the ends of the range, and those of damaged or hostile values.
  private static let beyond: [Timestamp] = [
    Timestamp(millisecondsSince1970: .min), Timestamp(millisecondsSince1970: .min + 1),
    Timestamp(millisecondsSince1970: Timestamp.earliest.millisecondsSince1970 - 1),
    Timestamp(millisecondsSince1970: Timestamp.latest.millisecondsSince1970 + 1),
    Timestamp(millisecondsSince1970: .max), Timestamp(Date(timeIntervalSince1970: .nan)),
    Timestamp(Date(timeIntervalSince1970: -.infinity)), Timestamp(Date(timeIntervalSince1970: 1e308)),
  ]

  @Test(arguments: beyond) func rejectsDatesBeyondRange(date: Timestamp) throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: "a", key: "a"), into: test.notes) }
      for document in [Document(text: "", created: date), Document(text: "", modified: date)] {
        try test.store.write { writer throws in
          expect(.invalidArgument) { try writer.insert(document, into: test.notes) }
          expect(.invalidArgument) { try writer.put(document, into: test.notes, key: "a") }
          expect(.invalidArgument) { try writer.update(id) { $0.modified = date } }
        }
        expect(.invalidArgument) { try test.store.write { try $0.insert(contentsOf: [document], into: test.notes) } }
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["a"])
    }
  }

  @Test func storesDatesAtRangeEnds() throws {
    try withTestStore { test in
      let ends = [Timestamp.earliest, .latest]
      try test.store.write { writer in
        for date in ends {
          try writer.insert(Document(text: "", created: date, modified: date), into: test.notes)
          try writer.insert(["date": Date(date)], into: test.notes)
        }
      }
      try test.store.read { reader throws in
        let headers = try reader.headers(in: test.notes)
        #expect([headers[0].created, headers[2].created] == ends)
        #expect(try reader.query("SELECT created, json FROM documents ORDER BY created").count == 4)
        for date in [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .infinity)] {
          #expect(try reader.query("SELECT count(*) FROM documents WHERE created = ?", date)[0][0] == .integer(0))
        }
      }
    }
  }

  @Test func acceptsAnyCacheSizeAndWait() throws {
    let test = try TestStore()
    for bytes in [Int.min, -1, 0, 1, Int.max] {
      var options = OpenOptions.testing
      (options.textCacheBytes, options.pageCacheBytes) = (bytes, bytes)
      let store = try test.reopened(.published("primary"), options)
      let id = try store.write { try $0.insert(Document(text: "text"), into: test.notes) }
      for _ in 0..<2 { #expect(try store.read { try $0.text(of: id) } == "text") }
      try store.close()
    }
    for wait in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(-1)] {
      var options = OpenOptions.testing
      options.wait = wait
      let store = try test.reopened(.published("primary"), options)
      if wait < .seconds(1) {
        // SQLite treats this connection like another process.
        let holder = try test.raw()
        try holder.execute("BEGIN IMMEDIATE")
        expect(.locked) { try store.write { try $0.insert(Document(text: ""), into: test.notes) } }
        try holder.execute("ROLLBACK")
      }
      try store.write { _ = try $0.insert(Document(text: ""), into: test.notes) }
      try store.close()
    }
    try test.expectSound()
  }

  @Test func handlesExtremeRemovalLimits() throws {
    for share in [Double.nan, -.infinity, .infinity, -1, 2] {
      try withTestStore { test in
        try test.store.write { _ = try $0.insert(Document(text: "", key: "a"), into: test.notes) }
        let options = SyncOptions(stale: .remove(atMost: share))
        let result = Result {
          try test.store.write { try $0.synchronize(test.notes, with: [SyncItem](), options: options) }
        }
        switch result {
        case .success(let report): #expect(share > 0 && report.deleted.count == 1)
        case .failure(let error): #expect((error as? StoreError)?.code == .removalRefused && !(share > 0))
        }
      }
    }
  }

  @Test func rejectsImpossibleIndexesAndNumbers() async throws {
    let test = try TestStore()
    let numbers = [Int.min, -1, 3, Int.max]
    try await test.store.write { writer throws in
      for number in 0..<3 { try writer.insert(Document(text: "\(number)"), into: test.notes) }
      for number in numbers {
        expect(.indexOutOfRange) { try writer.move(fromIndex: number, toIndex: 0, in: test.notes) }
        expect(.indexOutOfRange) { try writer.move(fromIndex: 0, toIndex: number, in: test.notes) }
        let id = DocumentID(Int64(number == 3 ? 4 : number))
        expect(.noSuchDocument) { try writer.update(id) { $0.text = "" } }
        expect(.noSuchDocument) { try writer.move(id, to: .top) }
        expect(.noSuchDocument) { try writer.move(1, to: .after(id)) }
        expect(.invalidArgument) { try writer.setParent(of: 1, to: id) }
        expect(.noSuchDocument) { try writer.delete(id) }
      }
    }
    for number in numbers {
      expect(.invalidArgument) { try test.store.keys.remove(slot: number) }
      expect(.invalidArgument) { try test.store.keys.replace(slot: number, with: .published("second")) }
    }
    for limit in [Int.min, -1, 0] {
      var rows = test.store.observe(test.notes, first: limit).makeAsyncIterator()
      var shown: [DocumentHeader] = []
      try #require(try await rows.next()).apply(to: &shown)
      #expect(shown.isEmpty)
    }
    let ids = try await test.store.read { try $0.headers(in: test.notes).map(\.id.rawValue) }
    #expect(ids == [1, 2, 3])
    try test.expectSound()
  }

  @Test func databaseAcceptsAnyTimeoutAndLimit() throws {
    let place = try TestStore().place
    for (number, limit) in [Int.min, -1, 0, 1, Int.max].enumerated() {
      for timeout in [Duration.seconds(Int64.max), .seconds(Int64.min), .nanoseconds(-1)] {
        let configuration = Database.Configuration(
          busyTimeout: timeout, lengthLimit: limit, statementCacheCapacity: limit)
        let path = place.file("\(number)-\(timeout < .zero).sqlite").path
        // A limit of a few bytes leaves no room for a statement.
        guard let database = try? Database(path, mode: .create, configuration: configuration) else { continue }
        _ = try? database.execute("CREATE TABLE IF NOT EXISTS t(x)")
        try database.close()
      }
    }
  }

  @Test func rekeyAcceptsAnyBatchSize() throws {
    for size in [Int.min, 0, 1, Int.max] {
      try withTestStore { test in
        try test.store.write { writer in
          for number in 0..<3 { try writer.insert(Document(text: "\(number)"), into: test.notes) }
        }
        var options = RekeyOptions()
        options.batchSize = size
        try test.store.rekey(options: options) { _ in }
      }
    }
  }

  @Test func rejectsChangeForDifferentList() async throws {
    let test = try TestStore()
    try await test.store.write { _ = try $0.insert(Document(text: ""), into: "notes") }
    var changes = test.store.observe(test.notes).makeAsyncIterator()
    let first = try #require(try await changes.next())
    var rows: [DocumentHeader] = []
    try first.apply(to: &rows)
    #expect(rows.count == 1)
    expect(.misuse) { try first.apply(to: &rows) }
    #expect(rows.count == 1)
  }
}
