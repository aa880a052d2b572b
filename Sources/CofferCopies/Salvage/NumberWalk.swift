internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The numbers in a table in ascending order, skipping pages that SQLite can't read.
///
/// SQLite descends from the root page for each number, so an unreadable page hides only the numbers below it. After a
/// failure, the walk probes higher numbers until SQLite can read again. Numbers must increase, so cyclic or misordered
/// pages neither end the walk nor make it loop.
final class NumberWalk {
  private enum Answer {
    case number(Int64)
    case end
    case unreadable
  }

  /// The probe limits after a failure. Steps are small at first to find every sound page with at least 16 rows, and
  /// grow later to cross a hole of any size.
  private static let closeQuestions = 64
  private static let wideStep: Int64 = 16
  private static let wideQuestions = 4096

  private let database: StoreDatabase
  private let statement: Statement
  private var last: Int64?
  private var isRunning = false
  private var isAtEnd = false
  /// The unreadable ranges of numbers.
  private(set) var holes: [ClosedRange<Int64>] = []

  /// Creates a walk with a query that selects numbers from its parameter upward, in ascending order.
  init(_ database: StoreDatabase, _ sql: String) throws(StoreError) {
    self.database = database
    statement = try database.statement(sql).base
  }

  /// Returns the next number, or `nil` at the end.
  func next() throws(StoreError) -> Int64? {
    guard !isAtEnd, last != .max else { return nil }
    let answer = isRunning ? try step() : try ask(for: last.map { $0 + 1 } ?? .min)
    isRunning = true
    switch answer {
    case .number(let number) where last.map({ number > $0 }) ?? true: return accept(number)
    case .end: return stop()
    case .number, .unreadable: return try goOn()
    }
  }

  private func accept(_ number: Int64) -> Int64 {
    last = number
    return number
  }

  private func stop() -> Int64? {
    isAtEnd = true
    statement.reset()
    return nil
  }

  /// Finds the first readable number after the failure.
  private func goOn() throws(StoreError) -> Int64? {
    let start = max(last.map { $0 + 1 } ?? 0, 0)
    var failed = start - 1
    var question = start
    var (step, count): (Int64, Int) = (1, 0)
    while case .unreadable = try ask(for: question) {
      failed = question
      count += 1
      if count == Self.closeQuestions { step = Self.wideStep }
      if count > Self.wideQuestions { step = step > Int64.max / 2 ? step : 2 * step }
      let (next, overflow) = question.addingReportingOverflow(step)
      guard !overflow else {
        holes.append(start...Int64.max)
        return stop()
      }
      question = next
    }
    let first = try firstReadable(above: failed, upTo: question)
    if first > start { holes.append(start...first - 1) }
    switch try ask(for: first) {
    case .number(let number): return accept(number)
    case .end, .unreadable: return stop()
    }
  }

  /// Returns the lowest readable number between a failed probe and an answered probe.
  private func firstReadable(above failed: Int64, upTo answered: Int64) throws(StoreError) -> Int64 {
    var (failed, answered) = (failed, answered)
    while answered - failed > Self.wideStep {
      let middle = failed + (answered - failed) / 2
      if case .unreadable = try ask(for: middle) { failed = middle } else { answered = middle }
    }
    while failed + 1 < answered, case .unreadable = try ask(for: failed + 1) { failed += 1 }
    return failed + 1
  }

  private func ask(for number: Int64) throws(StoreError) -> Answer {
    statement.reset()
    try translatingErrors { () throws(SQLiteError) in try statement.bind(number, at: 1) }
    let answer = try step()
    if case .number(let found) = answer, found < number { return .unreadable }
    return answer
  }

  private func step() throws(StoreError) -> Answer {
    try database.reading { () throws(SQLiteError) in
      try statement.step() ? .number(statement.int64(at: 0)) : .end
    } ?? .unreadable
  }
}

extension StoreDatabase {
  /// Runs a read, or returns `nil` if pages are damaged, the disk fails or a value is too long.
  func reading<R>(_ body: () throws(SQLiteError) -> R) throws(StoreError) -> R? {
    do throws(SQLiteError) {
      return try body()
    } catch {
      switch error.code {
      case .corrupt, .ioError, .tooBig, .notADatabase, .invalidText: break
      default: throw StoreError(error)
      }
      // A disk failure ends the transaction, so begin another transaction to continue reading.
      if !isInTransaction {
        rollback()
        try begin(.deferred)
      }
      return nil
    }
  }
}

/// Ascending numbers, stored as ranges of consecutive numbers.
struct NumberRanges {
  private var ranges: [ClosedRange<Int64>] = []

  mutating func append(_ number: Int64) {
    if let last = ranges.last, last.upperBound + 1 == number {
      ranges[ranges.count - 1] = last.lowerBound...number
    } else {
      ranges.append(number...number)
    }
  }

  var all: some Sequence<Int64> { ranges.joined() }

  func contains(_ number: Int64) -> Bool {
    let index = ranges.indices.partitionPoint { ranges[$0].upperBound < number }
    return index < ranges.count && ranges[index].contains(number)
  }
}
