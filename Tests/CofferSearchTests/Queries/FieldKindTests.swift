import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Indexed fields hold what the store's own values say.
struct FieldKindTests {
  private struct Task: Codable {
    var done: Bool
    var due: Date
    var name: String
  }

  private static let start = Date(timeIntervalSince1970: 1_700_000_000.25)

  private static func options(_ strategy: JSONEncoder.DateEncodingStrategy) -> OpenOptions {
    var options = OpenOptions.testing
    options.values = ValueCoding { $0.dateEncodingStrategy = strategy }
    return options
  }

  private func store(_ strategy: JSONEncoder.DateEncodingStrategy) throws -> TestStore {
    let test = try TestStore(options: Self.options(strategy))
    try test.store.write { tx in
      for number in 0..<10 {
        _ = try tx.insert(
          Task(done: number.isMultiple(of: 2), due: Self.start + TimeInterval(number * 86_400), name: "t\(number)"),
          into: test.notes, key: DocumentKey("k\(number)"))
      }
    }
    return test
  }

  /// A bound `Date` compares with the dates of every strategy, in the file's index and in memory.
  @Test func comparesBoundDateWithDatesOfEveryStrategy() throws {
    for strategy in [
      JSONEncoder.DateEncodingStrategy.deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601,
    ] {
      let test = try store(strategy)
      let fields = try test.store.index(
        test.notes, .field("done", "$.done", as: .number), .field("due", "$.due", as: .date))
      #expect(fields.map(\.values) == [10, 10] && fields.map(\.nulls) == [0, 0], "\(strategy)")
      func later() throws -> [String] {
        try test.store.read { reader in
          try reader.query(
            "SELECT key FROM notes WHERE due > ? ORDER BY due", Self.start + 6.5 * 86_400
          ).rows.map { $0[0].text ?? "" }
        }
      }
      #expect(try later() == ["k7", "k8", "k9"], "\(strategy)")
      #expect(
        try test.store.read { try $0.query("SELECT count(*) FROM notes WHERE done").rows[0][0] } == .integer(5))
      try test.store.write { tx in
        _ = try tx.insert(
          Task(done: true, due: Self.start + 100 * 86_400, name: "late"), into: test.notes, key: DocumentKey("late"))
      }
      #expect(try later() == ["k7", "k8", "k9", "late"], "\(strategy)")
      #expect(try test.store.read { try $0.query("SELECT max(due) FROM notes").rows[0][0] }.text?.count == 24)
      #expect(try test.store.verify().isSound)
      // Another program's strategies don't change what the declared field means.
      try test.store.close()
      let other = try test.reopened(.published("primary"), Self.options(.millisecondsSince1970))
      try other.updateIndexes()
      #expect(try other.verify().isSound)
      #expect(
        try other.read { try $0.query("SELECT count(*) FROM notes WHERE due > ?", Self.start + 6.5 * 86_400) }.rows[
          0][0]
          == .integer(4), "\(strategy)")
    }
  }

  @Test func reportsFieldsWithoutValues() throws {
    let test = try store(.deferredToDate)
    try test.store.write { _ = try $0.insert(Document(text: "no JSON"), into: test.notes) }
    let fields = try test.store.index(
      test.notes, .field("a", "$.nmae", as: .text), .field("b", "$.name", as: .number),
      .field("c", "$.name", as: .text), .field("d", "$.due", as: .text), .words())
    #expect(fields.map(\.name) == ["a", "b", "c", "d"])
    #expect(fields.map(\.hasOnlyNulls) == [true, true, false, true])
    #expect(fields[2].values == 10 && fields[2].nulls == 1)
    // Declared again, and after another document.
    #expect(try test.store.index(test.notes, .words(), .field("a", "$.nmae", as: .text)).isEmpty)
    #expect(try test.store.indexedFields(of: test.notes) == fields)
    try test.store.write { _ = try $0.insert(Document(text: #"{"nmae":"x"}"#, isJSON: true), into: test.notes) }
    #expect(try test.store.indexedFields(of: test.notes)[0] == IndexedField(name: "a", values: 1, nulls: 11))
  }

  /// Numbers at the ends of their range are NULL or a date, and never a trap.
  @Test func acceptsExtremeNumbersAsDates() throws {
    let test = try TestStore()
    let numbers = [
      "1e308", "-1e308", "9.3e15", "-9.3e15", "0", "-0.0", "1e-320", "9223372036854775807", "true", "null",
    ]
    try test.store.write { tx in
      for number in numbers {
        _ = try tx.insert(Document(text: "{\"d\":\(number)}", isJSON: true), into: test.notes)
      }
    }
    let fields = try test.store.index(test.notes, .field("d", "$.d", as: .date), .field("n", "$.d", as: .number))
    #expect(fields[0].values == 3 && fields[1].values == 9)
    #expect(
      try test.store.read { try $0.query("SELECT d FROM notes WHERE id = 5").rows[0][0] }
        == .text("2001-01-01T00:00:00.000Z"))
    #expect(try test.store.verify().isSound)
  }
}
