import Coffer
import CofferPatterns
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Ranked search with marks and excerpts in stores.
@Suite struct RankedSearchTests {
  private func search(_ store: DocumentStore, _ query: String, limit: Int = 20) throws -> RankedMatches {
    try store.read { try $0.search(ranked: query, in: "notes", limit: limit) }
  }

  private func marked(_ match: RankedMatches.Match) -> [String] {
    let snippet = match.snippet!
    return snippet.ranges.map { String(decoding: Array(snippet.text.utf8)[$0], as: UTF8.self) }
  }

  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func marksWordsInEveryKindOfDocument(_ journal: CreateOptions.Journal, keepingDiacritics keeps: Bool) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try test.store.write { scope in
        _ = try scope.insert(Document(title: "Café\0 am Hafen", text: "ein\0Café, 東京タワー"), into: test.notes)
        _ = try scope.insert(["a": "tea in a café", "b": "東京"], into: test.notes)
      }
      try test.store.index(test.notes, .words(keepingDiacritics: keeps))
      // The index lacks this document, until the search adds it in memory.
      _ = try test.store.write { try $0.insert(Document(title: "late", text: "café ภาษาไทย 바람이"), into: test.notes) }
      for query in [
        "café", "CAFE\u{301}", "NEAR(café ein, 3) OR café", "café café CAFÉ", "(café OR x) AND (café OR y)",
      ] {
        let found = try search(test.store, query)
        #expect(found.total == 3)
        #expect(found.matches.allSatisfy { marked($0).contains("café") || marked($0).contains("Café") }, "\(query)")
      }
      #expect(try search(test.store, "cafe").total == (keeps ? 0 : 3))
      let first = try search(test.store, "café NOT (tea OR late)").matches[0]
      #expect(first.titleRanges == [0..<5] && first.snippet?.text == "ein\0Café, 東京タワー")
      #expect(try search(test.store, "title: café").matches.map { $0.snippet?.ranges.count } == [0])
      #expect(try search(test.store, "京タ").matches.map(marked) == [["京タ"]])
      #expect(try search(test.store, "text: 東京").matches.allSatisfy { marked($0) == ["東京"] })
      #expect(try search(test.store, "ไทย OR 바람").matches.map(marked) == [["ไทย", "바람"]])
    }
  }

  @Test func repeatedWordsChangeNothing() throws {
    let test = try TestStore()
    var random = Pseudorandom(seed: 61)
    let words = ["sea", "harbour", "sealed", "store", "key"]
    try test.store.write { scope in
      for _ in 0..<100 {
        let text = (0..<random.number(below: 40)).map { _ in words.randomElement(using: &random)! }.joined(
          separator: " ")
        _ = try scope.insert(Document(text: text), into: test.notes)
      }
    }
    try test.store.index(test.notes, .words())
    for (query, repeated) in [
      ("sea", String(repeating: "sea ", count: 1000)), ("sea OR key", "sea OR (key OR sea) OR KEY"),
      ("sea AND key", "sea key AND key sea"), ("\"sea key\"", "\"sea key\" \"sea  KEY\""),
    ] {
      let (single, many) = (try search(test.store, query, limit: 200), try search(test.store, repeated, limit: 200))
      #expect(single.total > 0 && single.matches == many.matches, "\(query)")
      let rows = try test.store.read {
        try $0.query("SELECT id, rank FROM \"notes.match\"(?) ORDER BY rank, id", repeated).rows
      }
      #expect(rows.compactMap { $0[0].integer } == single.matches.map(\.header.id.rawValue))
    }
  }

  @Test func limitsAreErrorsWithHints() throws {
    let test = try TestStore()
    _ = try test.store.write { try $0.insert(Document(text: "a"), into: test.notes) }
    try test.store.index(test.notes, .words())
    let many = (0...WordQuery.maximumWordCount).map { "w\($0)" }.joined(separator: " OR ")
    for query in [many, String(repeating: "(", count: 11) + "a" + String(repeating: ")", count: 11)] {
      do {
        _ = try search(test.store, query)
        Issue.record("nothing was thrown")
      } catch let error as StoreError {
        #expect(error.code == .invalidArgument && error.hint != nil && error.message.contains { $0.isNumber })
      }
      expect(.invalidArgument) { try test.store.read { try $0.query("SELECT * FROM \"notes.match\"(?)", query) } }
    }
  }

  // MARK: Long texts

  /// FTS5's `snippet()` needed time that grew with the square of the occurrences.
  @Test(arguments: [
    "the", "the OR absent", "\"the the the\"", "NEAR(the th*, 3)", "^the", "th* t*", "the NOT end", "text: the",
    "\"\(String(repeating: "the ", count: 24))\"",
  ])
  func findsWordsThatRepeatInLongText(_ query: String) throws {
    let test = try Self.long.get()
    let found = try search(test.store, query)
    let snippet = try #require(found.matches.first?.snippet)
    #expect(found.total == 1 && !snippet.ranges.isEmpty && snippet.text.utf8.count < 200)
  }

  private static let long = Result {
    let test = try TestStore()
    _ = try test.store.write {
      try $0.insert(Document(text: String(repeating: "the ", count: 200_000)), into: test.notes)
    }
    try test.store.index(test.notes, .words())
    return test
  }

  /// The check that a search passes to its highlighter ends the work in the middle of a text.
  @Test func cancelsWhileReadingLongText() throws {
    let test = try TestStore()
    let text = Array(String(repeating: "word ", count: 1_700_000).utf8)
    let cancellation = Cancellation()
    let scan = WordScan(keepingDiacritics: false)
    let highlighter = Highlighter(try WordQuery("needle", scan), members: nil, scan)
    expect(.cancelled) {
      try test.store.engine.read(cancellation) { transaction in
        var checks = 0
        let result = text.withUnsafeBytes { text in
          Result { () throws(StoreError) in
            try highlighter.places(title: "", text, isValue: false) { () throws(StoreError) in
              checks += 1
              if checks == 2 { cancellation.cancel() }
              try transaction.requireOpen()
            }
          }
        }
        _ = try result.get()
      }
    }
    #expect(highlighter.finder.wordsRead == 2 * PhraseFinder.checkInterval - 1)
    try test.expectSound()
  }

  @Test func canceledSearchThrowsCancellationError() async throws {
    let test = try Self.long.get()
    let store = test.store
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.read { try $0.search(ranked: "the", in: "notes") }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let found = try await store.read { try $0.search(ranked: "the", in: "notes") }
    #expect(found.total == 1)
  }
}
