import Coffer
import CofferPatterns
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite
@testable import CofferSearch

/// The parser of ranked queries against FTS5's own, and the limits of queries.
@Suite struct WordQueryTests {
  private static let vocabulary = ["a", "b", "c", "ab", "abc", "é", "空", "引"]

  /// A full-text table as in an index, with random documents.
  private struct Table {
    let database: Database
    let rank = FullTextRank()

    init(_ random: inout Pseudorandom, count: Int = 60) throws {
      database = try Database.scratch()
      try WordTokenizer.add(to: database)
      try database.add(rank)
      try database.execute(
        "CREATE VIRTUAL TABLE t USING fts5(title,text,names,content='',tokenize='\(WordTokenizer.declaration(keepingDiacritics: false))')"
      )
      for row in 1...count {
        let texts = (0..<3).map { _ in
          (0..<random.number(below: 8)).map { _ in WordQueryTests.vocabulary.randomElement(using: &random)! }
            .joined(separator: [" ", " ", "。"].randomElement(using: &random)!)
        }
        try Array(texts[1].utf8).withUnsafeBytes { text in
          try database.insertTexts(into: "t", Int64(row), (texts[0], text, texts[2]))
        }
      }
      rank.set(rows: Int64(count), tokens: Int64(5 * count), outdated: [])
    }

    func scores(_ query: String, _ counts: [Bool] = []) throws -> [Int64: Double] {
      rank.countOnly(counts)
      let statement = try database.statement("SELECT rowid,current_rank(t) FROM t WHERE t MATCH ?")
      defer { statement.reset() }
      try statement.bind(query, at: 1)
      var scores: [Int64: Double] = [:]
      while try statement.step() { scores[statement.int64(at: 0)] = statement.double(at: 1) }
      return scores
    }
  }

  private func parse(_ query: String) throws -> WordQuery {
    try WordQuery(query, WordScan(keepingDiacritics: false))
  }

  private static let tokens =
    vocabulary + [
      "AND", "OR", "NOT", "(", ")", "title", "text", "names", ":", "NEAR", "NEAR(", ",", "5", "*", "^", "+", "-", "{",
      "}",
      "\"\"",
      "\"a b\"", "。", "?", "\"", "body", "\"x\"\"y\"", "(", ")", ":",
    ]

  /// Returns a valid query of random form.
  private static func query(_ random: inout Pseudorandom, _ words: inout [String], depth: Int = 0) -> String {
    func word() -> String {
      let word = words.count > 1 ? words.removeLast() : words[0]
      return word + ["", "", "", "*"].randomElement(using: &random)!
    }
    func phrase() -> String {
      switch random.number(below: 6) {
      case 0: word() + " + " + word()
      case 1: "\"\(word()) \(word())\""
      case 2 where depth > 0: "\"\""
      default: word()
      }
    }
    func leaf() -> String {
      let filter = ["", "", "", "title: ", "{text} : ", "- title: ", "text: ", "names: ", "{names title}: "]
        .randomElement(using: &random)!
      switch random.number(below: 6) {
      case 0: return filter + "NEAR(\(phrase()) \(phrase()) \(phrase()), \(random.number(below: 4)))"
      case 1: return filter + "^" + phrase()
      default: return filter + phrase()
      }
    }
    guard depth < 4, random.number(below: 3) > 0 else {
      return (0...random.number(below: 2)).map { _ in leaf() }.joined(separator: " ")
    }
    let operands = (0...random.number(below: 3)).map { _ in query(&random, &words, depth: depth + 1) }
    let separators = [" AND ", " OR ", " NOT ", ") OR (", ") NOT (", ") AND ("]
    let joined = operands.reduce("") { text, operand in
      text.isEmpty ? operand : text + separators.randomElement(using: &random)! + operand
    }
    return "(\(joined))"
  }

  @Test func acceptsWhatFTS5Accepts() throws {
    var random = Pseudorandom(seed: 7)
    let table = try Table(&random, count: 5)
    var accepted = 0
    for _ in 0..<20000 {
      let query = (0...random.number(below: 7)).map { _ in Self.tokens.randomElement(using: &random)! }
        .joined(separator: ["", " "].randomElement(using: &random)!)
      // FTS5 takes a leading star for a command.
      guard query.first != "*" else { continue }
      let isValid = (try? table.scores(query)) != nil
      #expect(((try? parse(query)) != nil) == isValid, "\(query)")
      accepted += isValid ? 1 : 0
    }
    #expect(accepted > 2000)
  }

  @Test func normalFormFindsSameRows() throws {
    var random = Pseudorandom(seed: 8)
    var (found, scored) = (0, 0)
    for round in 0..<20 {
      let table = try Table(&random)
      for _ in 0..<200 {
        var words = ["a"]
        if round % 2 == 0 { words += Self.vocabulary.shuffled(using: &random) } else { words[0] = "abc" }
        if round % 2 == 1 { words = (0..<40).map { _ in Self.vocabulary.randomElement(using: &random)! } }
        let query = Self.query(&random, &words)
        let raw = try table.scores(query)
        // Some of the random queries repeat a word too often.
        guard let parsed = try? parse(query) else { continue }
        let form = try parsed.normalForm.map { try table.scores($0, parsed.phrases.map(\.counts)) } ?? [:]
        #expect(Set(form.keys) == Set(raw.keys), "\(query) as \(parsed.normalForm ?? "")")
        found += raw.count
        // Without NOT and repeated phrases, the score is the same, too.
        guard parsed.phrases.allSatisfy(\.counts), !query.contains("NOT"), words.count > 1, round % 2 == 0 else {
          continue
        }
        for (row, score) in raw { #expect(abs(form[row]! - score) < 1e-9, "\(query)") }
        scored += raw.count
      }
    }
    #expect(found > 10000 && scored > 1000)
  }

  @Test(
    arguments: [
      ("the the THE Thé", "\"the\""), ("a OR b OR a", "\"a\" OR \"b\""),
      ("(a b) AND (b c)", "\"a\" AND \"b\" AND \"c\""),
      ("a NOT b NOT b NOT c", "\"a\" NOT (\"b\" OR \"c\")"), ("a OR (a OR (a))", "\"a\""),
      ("NEAR(a b a)", "NEAR(\"a\" \"b\", 10)"), ("NEAR(a a, 3)", "\"a\""), ("title: a title: a", "title : \"a\""),
      ("title: a a", "title : \"a\" AND \"a\""), ("a a*", "\"a\" AND \"a\" *"), ("\"a a\" \"A  a\"", "\"a a\""),
      ("(a NOT b) NOT c", "\"a\" NOT (\"b\" OR \"c\")"), ("a AND \"\"", nil), ("\"\"", nil), ("", nil),
      ("text: (title: a OR b)", "text : \"b\""),
    ] as [(String, String?)])
  func leavesOutRepeatedOperands(_ query: String, _ form: String?) throws {
    #expect(try parse(query).normalForm == form)
  }

  /// SQLite 3.40 finds other rows if a phrase without columns is behind NOT.
  @Test func filtersOfNoColumnFindNothing() throws {
    for query in [
      "-{title text names}: a", "title: (text: a)", "a AND - title: (title: b)",
      "NEAR(a b) AND (text: (title: (a OR b)))",
    ] {
      #expect(try parse(query).normalForm == nil)
    }
    #expect(try parse("a NOT (-{title text names}: a OR b)").normalForm == "\"a\" NOT \"b\"")
    #expect(try parse("a OR text: (a OR title: b)").normalForm == "\"a\" OR text : \"a\"")
  }

  @Test func countsRepeatedPhrasesOnce() throws {
    #expect(try parse("(the OR x) AND (the OR y)").phrases.map(\.counts) == [true, true, false, true])
    #expect(try parse("a NOT (b OR a)").phrases.map(\.counts) == [true, false, false])
    #expect(try parse("NEAR(a b) OR a OR NEAR(a b, 5)").phrases.map(\.counts) == [true, true, true, true, true])
    var random = Pseudorandom(seed: 9)
    let table = try Table(&random)
    let parsed = try parse("(a OR b) AND (a OR c)")
    let scores = try table.scores(parsed.normalForm!, parsed.phrases.map(\.counts))
    let single = try table.scores("a OR b OR c")
    #expect(scores.count > 10)
    for (row, score) in scores { #expect(abs(score - single[row]!) < 1e-9) }
  }

  // MARK: Limits

  @Test func limitsWords() throws {
    func words(_ count: Int) -> String { (0..<count).map { "w\($0)" }.joined(separator: " ") }
    let most = WordQuery.maximumWordCount
    #expect(try parse(words(most)).phrases.count == most)
    for query in [
      words(most + 1), "\"\(words(most + 1))\"", "x NOT (\(words(most)))", String(repeating: "空", count: most + 1),
    ] {
      #expect(throws: StoreError(.invalidArgument, "")) { try parse(query) }
    }
    #expect(try parse(String(repeating: "the ", count: 1000)).phrases.count == 1)
    let repetitions = WordQuery.maximumRepetitions
    #expect(try parse("\"" + String(repeating: "a ", count: repetitions) + "\"").phrases.count == 1)
    // With the gaps between them, half of the words can be characters.
    let characters = (0...most / 2).map { String(Character(Unicode.Scalar(UInt32(0x4E00 + $0))!)) }
    #expect(try parse("\"\(characters.dropLast().joined(separator: "、"))\"").phrases.count == 1)
    let beginnings = (1...repetitions).map { String(repeating: "a", count: $0) + "*" }.joined(separator: " ")
    #expect(try parse(beginnings + " b* ab c").phrases.count == repetitions + 3)
    for query in [
      "\"" + String(repeating: "a ", count: repetitions + 1) + "\"",
      beginnings + " " + String(repeating: "a", count: 40), "\"\(characters.joined(separator: "、"))\"",
      "NEAR(\"\(String(repeating: "a ", count: 12))\" \"\(String(repeating: "a ", count: 13))\")",
    ] {
      #expect(throws: StoreError(.invalidArgument, "")) { try parse(query) }
    }
    let bytes = WordQuery.maximumByteCount
    #expect(try parse(String(repeating: "x", count: bytes)).phrases.count == 1)
    #expect(throws: StoreError(.invalidArgument, "")) { try parse(String(repeating: "x", count: bytes + 1)) }
  }

  /// The deepest query that is accepted fits into FTS5's stack, with all operators at each level.
  @Test func limitsDepth() throws {
    var random = Pseudorandom(seed: 10)
    let table = try Table(&random, count: 5)
    func query(_ depth: Int) -> String {
      var query = "c NOT (x title: NEAR(\"y\" + a * b, 7)) NOT d"
      for level in 0..<depth - 1 { query = "u\(level) OR v\(level) AND w\(level) NOT title: (\(query))" }
      return query
    }
    let deepest = try #require(try parse(query(WordQuery.maximumDepth)).normalForm)
    _ = try table.scores(deepest)
    #expect(throws: StoreError(.invalidArgument, "")) { try parse(query(WordQuery.maximumDepth + 1)) }
    #expect(throws: StoreError(.invalidArgument, "")) { try parse(String(repeating: "(", count: 4000)) }
  }

  /// A step of FTS5 that finds no row asks whether to stop as it reads the index.
  @Test(arguments: ["x NOT y", "\"x y z\"", "NEAR(x z, 1)", "x* NOT y*", "^z"])
  func stepWithoutRowsCanBeStopped(_ query: String) throws {
    let database = try Database.scratch()
    try WordTokenizer.add(to: database)
    let declaration = WordTokenizer.declaration(keepingDiacritics: false)
    try database.execute("CREATE VIRTUAL TABLE t USING fts5(title,text,names,content='',tokenize='\(declaration)')")
    try database.begin(.immediate)
    let text = Array(String(repeating: "x y p q q q z q q q ", count: 50).utf8)
    for row in 1...1000 {
      try text.withUnsafeBytes { try database.insertTexts(into: "t", Int64(row), ("", $0, "")) }
    }
    try database.commit()
    let questions = Counter()
    try database.connection.setStopCondition(every: 20) {
      questions.count += 1
      return questions.count > 1
    }
    let form = try #require(try parse(query).normalForm)
    #expect(throws: SQLiteError.self) {
      try database.query("SELECT count(*) FROM t WHERE t MATCH ?", form)
    }
    #expect(questions.count > 1)
  }

  private final class Counter: @unchecked Sendable {
    // The test has one thread.
    var count = 0
  }
}
