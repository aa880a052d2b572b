import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferSearch
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

  /// Strategies that write no ISO 8601 and no known numbers, each with its decoder.
  private static let ownForms: [(String, ValueCoding)] = [
    (
      "formatted",
      ValueCoding {
        $0.dateEncodingStrategy = .formatted(formatter)
      } decoder: {
        $0.dateDecodingStrategy = .formatted(formatter)
      }
    ),
    (
      "days since 2001",
      ValueCoding {
        $0.dateEncodingStrategy = .custom { date, encoder in
          var container = encoder.singleValueContainer()
          try container.encode(date.timeIntervalSinceReferenceDate / 86_400)
        }
      } decoder: {
        $0.dateDecodingStrategy = .custom { decoder in
          Date(timeIntervalSinceReferenceDate: try decoder.singleValueContainer().decode(Double.self) * 86_400)
        }
      }
    ),
    (
      "an object",
      ValueCoding {
        $0.dateEncodingStrategy = .custom { date, encoder in try ["at": date.timeIntervalSince1970].encode(to: encoder)
        }
      } decoder: {
        $0.dateDecodingStrategy = .custom { decoder in
          Date(timeIntervalSince1970: try [String: Double](from: decoder)["at"] ?? 0)
        }
      }
    ),
  ]

  private static var formatter: DateFormatter {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 3600)
    formatter.dateFormat = "dd.MM.yyyy HH:mm:ss.SSS"
    return formatter
  }

  /// The index keeps dates of any strategy, also after a program without it has changed documents and indexes.
  @Test func readsDatesOfOwnStrategies() throws {
    for (name, coding) in Self.ownForms {
      var options = OpenOptions.testing
      options.values = coding
      let test = try TestStore(options: options)
      func insert(_ day: Int, _ store: DocumentStore) throws {
        let task = Task(done: true, due: Self.start + TimeInterval(day * 86_400), name: "t")
        try store.write { _ = try $0.insert(task, into: test.notes) }
      }
      func later(_ store: DocumentStore) throws -> [Int64?] {
        try store.read {
          try $0.query("SELECT id FROM notes WHERE due > ? ORDER BY due, id", Self.start + 3.5 * 86_400).rows.map {
            $0[0].integer
          }
        }
      }
      for day in 0..<6 { try insert(day, test.store) }
      let index = DocumentIndex.field("due", "$.due", as: .date)
      #expect(
        try test.store.write { try $0.setIndexes([index, .words()], of: test.notes) }
          == [IndexedField(name: "due", values: 6, nulls: 0)], "\(name)")
      #expect(try later(test.store) == [5, 6], "\(name)")
      try insert(6, test.store)
      #expect(try later(test.store) == [5, 6, 7], "\(name)")
      try test.store.updateIndexes()
      let text = try test.store.read { try $0.text(of: 7) }
      try test.store.close()
      // A program without the strategy indexes a date that it can't read.
      let other = try test.reopened()
      try other.write { _ = try $0.insert(Document(text: text, isJSON: true), into: test.notes) }
      try other.updateIndexes()
      #expect(try other.checkIndexes().problems.isEmpty && other.verify().isSound, "\(name)")
      #expect(
        try other.read { try $0.query("SELECT typeof(due) FROM notes ORDER BY id DESC LIMIT 2") }.rows.map(\.values)
          == [[.text("blob")], [.text("text")]], "\(name)")
      try other.close()
      // A program with it reads that date, in memory and in the file.
      let store = try test.reopened(.published("primary"), options)
      #expect(try later(store) == [5, 6, 7, 8], "\(name)")
      #expect(try store.updateIndexes() && !store.updateIndexes(), "\(name)")
      #expect(try store.checkIndexes().problems.isEmpty && store.verify().isSound, "\(name)")
      try store.close()
      let last = try test.reopened()
      let texts = try last.read { try $0.query("SELECT count(*) FROM notes WHERE typeof(due) = 'text'") }
      #expect(texts.rows[0][0] == .integer(8), "\(name)")
      try last.close()
    }
  }

  /// A document with a date that nobody has read is deleted between two steps of an update.
  @Test func updateInStepsRemovesUnreadDate() throws {
    var options = OpenOptions.testing
    options.values = Self.ownForms[0].1
    let test = try TestStore(options: options)
    try test.store.write { tx in
      for number in 0..<600 {
        _ = try tx.insert(Task(done: true, due: Self.start, name: "t\(number)"), into: test.notes)
      }
      _ = try tx.setIndexes([.field("due", "$.due", as: .date), .words()], of: test.notes)
    }
    let text = try test.store.read { try $0.text(of: 2) }
    try test.store.close()
    let other = try test.reopened()
    try other.write { try $0.update(1) { $0.text = text } }
    try other.updateIndexes()
    try other.close()
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: options)
    try writer.write { transaction in
      let tx = WriteTransaction(transaction)
      for number in 2...600 { try tx.update(DocumentID(number)) { $0.text = text } }
    }
    func identity() throws -> UniqueID? {
      try writer.reading { transaction throws(StoreError) in transaction.state[index: IndexPart.contents] }
    }
    let before = try identity()
    let steps = IndexSteps()
    repeat {
      try writer.writing { transaction throws(StoreError) in
        #expect(try StoreIndexes(transaction).write(IndexPart.contents, in: steps))
        try transaction.commit()
      }
      try writer.write { transaction in
        let tx = WriteTransaction(transaction)
        if try tx.exists(1) { try tx.delete(1) }
      }
    } while !steps.isFinished
    // The index wasn't made again.
    #expect(try identity() == before)
    try writer.connections.close()
    let store = try test.reopened(.published("primary"), options)
    let texts = try store.read { try $0.query("SELECT count(*) FROM notes WHERE typeof(due) = 'text'") }
    #expect(texts.rows[0][0] == .integer(599))
    #expect(try store.verify(.full).isSound)
  }

  /// A closed store whose index has dates from a program without their coder, and one from a program with it.
  private func unread(_ count: Int) throws -> (TestStore, OpenOptions) {
    var options = OpenOptions.testing
    options.values = Self.ownForms[0].1
    let test = try TestStore(options: options)
    let text = try test.store.write { tx in
      let id = try tx.insert(Task(done: true, due: Self.start, name: "t"), into: test.notes)
      _ = try tx.setIndexes([.field("due", "$.due", as: .date)], of: test.notes)
      return try tx.text(of: id)
    }
    try test.store.close()
    let other = try test.reopened()
    try other.write { tx in
      for _ in 0..<count { try tx.insert(Document(text: text, isJSON: true), into: test.notes) }
    }
    try other.updateIndexes()
    try other.close()
    return (test, options)
  }

  private func readDates(_ store: DocumentStore) throws -> SQLiteValue {
    try store.read { try $0.query("SELECT count(*) FROM notes WHERE typeof(due) = 'text'") }.rows[0][0]
  }

  /// The second reader hasn't the memory to read them itself.
  @Test func readersShareReadDates() throws {
    var (test, options) = try unread(40)
    options.isReadOnly = true
    let first = try test.reopened(.published("primary"), options)
    options.indexMemoryBytes = 1024
    let second = try test.reopened(.published("primary"), options)
    expect(.indexBehind) { try readDates(second) }
    #expect(try readDates(first) == .integer(41))
    #expect(try readDates(second) == .integer(41))
    let count = first.engine.session.outdatedIndexDocuments.load(ordering: .relaxed)
    #expect(count == 40)
  }

  @Test func updateInStepsReadsSomeDatesInEach() throws {
    let (test, options) = try unread(600)
    let writer = try StoreEngine(at: test.url.path, key: .published("primary"), options: options)
    let steps = IndexSteps()
    var count = 0
    repeat {
      try writer.writing { transaction throws(StoreError) in
        #expect(try StoreIndexes(transaction).write(IndexPart.contents, in: steps))
        try transaction.commit()
      }
      count += 1
    } while !steps.isFinished
    #expect(count == 3)
    try writer.connections.close()
    let other = try test.reopened()
    #expect(try readDates(other) == .integer(601))
    #expect(try other.verify(.full).isSound)
  }

  @Test func closingWritesReadDates() throws {
    let (test, options) = try unread(300)
    let store = try test.reopened(.published("primary"), options)
    try store.write { _ = try $0.insert(Task(done: true, due: Self.start, name: "t"), into: test.notes) }
    try store.close()
    #expect(try readDates(test.reopened()) == .integer(302))
  }

  /// Another meaning of dates is declared by the program that has them.
  @Test func setIndexesTakesDatesOfOwnCoder() throws {
    let test = try store(.millisecondsSince1970)
    try test.store.close()
    let index = DocumentIndex.field("due", "$.due", as: .date)
    let other = try test.reopened()
    #expect(try other.write { try $0.setIndexes([index], of: test.notes) }[0].hasOnlyNulls)
    try other.close()
    let store = try test.reopened(.published("primary"), Self.options(.millisecondsSince1970))
    #expect(try store.write { try $0.setIndexes([index], of: test.notes) }[0].values == 10)
    #expect(try store.write { try $0.setIndexes([index], of: test.notes) }.isEmpty)
    try store.close()
  }

  /// A bound date compares with numbers of a custom strategy.
  @Test func comparesBoundDateWithOwnNumbers() throws {
    var options = OpenOptions.testing
    options.values = Self.ownForms[1].1
    let test = try TestStore(options: options)
    try test.store.write { tx in
      for day in 0..<4 {
        _ = try tx.insert(
          Task(done: true, due: Self.start + TimeInterval(day * 86_400), name: "t"), into: test.notes)
      }
      _ = try tx.setIndexes([.field("due", "$.due", as: .number)], of: test.notes)
    }
    let count = try test.store.read {
      try $0.query("SELECT count(*) FROM notes WHERE due > ?", Self.start + 1.5 * 86_400)
    }
    #expect(count.rows[0][0] == .integer(2))
  }

  /// A bound date compares with a field of numbers wherever the field's name is beside it, and equals the date that the
  /// coder wrote.
  @Test func comparesBoundDateWithNumbersOfEveryStrategy() throws {
    for strategy in [
      JSONEncoder.DateEncodingStrategy.deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601,
    ] {
      let test = try store(strategy)
      let isNumber = if case .iso8601 = strategy { false } else { true }
      try test.store.index(
        test.notes, .field("due", "$.due", as: .number), .field("day", "$.due", as: .date),
        .field("made", "@created", as: .date))
      func count(_ condition: String, _ parameters: (any SQLiteValueConvertible)?...) throws -> Int64? {
        let sql = "SELECT count(*) FROM notes AS n, (SELECT 1 AS one) WHERE \(condition)"
        return try test.store.read { try $0.query(sql, parameters: parameters) }.rows[0][0].integer
      }
      func day(_ number: Double) -> Date { Self.start + number * 86_400 }
      let timestamp = Timestamp(day(7))
      let counts = [
        try count("due > ?", day(6.5)), try count("due >= ? AND n.due < ?", day(3), day(5)),
        try count("? < \"DUE\" -- due > 'x'", day(6.5)), try count("due = ?", day(4)),
        try count("due BETWEEN ? AND ?", day(2), day(4)), try count("n.[due] NOT BETWEEN ?2 AND ?1", day(4), day(2)),
        try count("due IN (?, ?, 17, ?)", day(0), day(9), day(20)), try count("`due` NOT IN (:a, :b)", day(0), day(9)),
        try count("due > ? AND day > ?", timestamp, timestamp), try count("due IS ?", day(1)),
        try count("due IS NOT ?", day(1)), try count("due>?/* and */AND title IS NOT NULL", day(6.5)),
      ]
      let wanted: [Int64?] = [3, 2, 3, 1, 3, 7, 2, 8, 2, 1, 9, 3]
      if isNumber { #expect(counts == wanted, "\(strategy)") }
      // The other kind is bound as text in the same query.
      #expect(try count("day > ? AND day < ? AND made < ?", day(6.5), day(8.5), Date.distantFuture) == 2)
      // A parameter in two places stays text.
      #expect(try count("day > ?1 AND (due > ?1 OR one = 1)", day(6.5)) == 3)
      #expect(try count("one = 1 AND due > ?", 0) == (isNumber ? 10 : 0))
    }
  }

  @Test func booleanFieldHoldsOnlyBooleans() throws {
    let test = try TestStore()
    try test.store.write { tx in
      for value in ["true", "false", "1", "0", "\"true\"", "null", "[true]"] {
        try tx.insert(
          Document(text: #"{"on":\#(value)}"#, attributes: ["on": .bool(value == "true")], isJSON: true),
          into: test.notes)
      }
    }
    let fields = try test.store.write {
      try $0.setIndexes(
        [.field("on", "$.on", as: .boolean), .field("own", "@attributes.on", as: .boolean)], of: test.notes)
    }
    #expect(fields.map(\.values) == [2, 7] && fields.map(\.nulls) == [5, 0])
    let rows = try test.store.read { try $0.query("SELECT \"on\", own FROM notes ORDER BY id") }.rows.map(\.values)
    #expect(rows.prefix(3) == [[.integer(1), .integer(1)], [.integer(0), .integer(0)], [.null, .integer(0)]])
    #expect(try test.store.verify(.full).isSound)
    expect(.invalidArgument) {
      try test.store.write { try $0.setIndexes([.field("t", "@title", as: .boolean)], of: test.notes) }
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
    let wanted = [IndexedField(name: "a", values: 1, nulls: 11)]
    #expect(try test.store.indexedFields(of: test.notes).prefix(1) == wanted[...])
    try test.store.write { tx in
      try tx.insert(Document(text: #"{"n":1}"#, isJSON: true), into: "others")
      try tx.setIndexes([.field("n", "$.n", as: .number), .titles], of: "others")
    }
    let report = try test.store.checkIndexes()
    #expect(report.problems.isEmpty)
    #expect(report.fields.map(\.collection) == Array(repeating: test.notes.name, count: 4) + ["others"])
    #expect(report.fields.prefix(1).map(\.field) == wanted)
    #expect(report.fields.last?.field == IndexedField(name: "n", values: 1, nulls: 0))
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
