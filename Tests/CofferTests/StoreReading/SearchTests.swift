import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

struct SearchTests {
  /// Inserts enough documents for a parallel search, with texts of different lengths.
  private func fill(_ test: TestStore, _ count: Int = 3000) throws {
    let items = ListSource.items(count) { number, item in
      item.title = number % 100 == 0 ? "Title with Anchor \(number)" : "title \(number)"
      item.text = String(repeating: "lorem ipsum \(number) ", count: number % 70)
      if number % 7 == 0 { item.text += "an anchor lies here" }
      if number == 1700 { item.text += String(repeating: "long ", count: 30_000) + "ANCHOR" }
    }
    try test.store.write { _ = try $0.insert(contentsOf: ListSource(items, batch: 200), into: test.notes) }
  }

  private static func numbers(_ isExpected: (Int64) -> Bool) -> [Int64] {
    var numbers: [Int64] = []
    for number in 1...3000 as ClosedRange<Int64> where isExpected(number) { numbers.append(number) }
    return numbers
  }

  private func ids(_ matches: [SearchMatch]) -> [Int64] { matches.map(\.header.id.rawValue) }

  @Test func matchesSingleDocumentLikeSearch() throws {
    try withTestStore { test in
      try fill(test)
      let pattern = try SearchPattern.text("anchor")
      for fields in [SearchPattern.Fields.all, .title, .text] {
        let matches = try test.store.read { try $0.search(for: pattern, in: test.notes, fields: fields) }
        let byID = Dictionary(uniqueKeysWithValues: matches.map { ($0.header.id.rawValue, $0) })
        for number in stride(from: Int64(1), through: 3000, by: 7).map({ $0 / 10 * 10 }) where number > 0 {
          let match = try test.store.read {
            try $0.match(of: pattern, in: DocumentID(rawValue: number), fields: fields)
          }
          #expect(match == byID[number])
        }
      }
      #expect(throws: StoreError.self) {
        try test.store.read { try $0.match(of: pattern, in: DocumentID(rawValue: 5000)) }
      }
    }
  }

  @Test func findsDocumentsInOrder() throws {
    try withTestStore { test in
      try fill(test)
      let matches = try test.store.read { try $0.search(for: .text("anchor"), in: test.notes) }
      #expect(ids(matches) == Self.numbers { $0 % 7 == 0 })
      for match in matches {
        #expect(match.titleRanges == [])
        let range = try #require(match.textRanges.first)
        #expect(range.count == 6 && match.textRanges.count == 1)
        #expect(range.upperBound <= match.header.byteCount)
      }
    }
  }

  @Test func searchesTitlesTextsOrBoth() throws {
    try withTestStore { test in
      try fill(test)
      let both = try test.store.read { try $0.search(for: .text("Anchor", ignoring: .case), in: test.notes) }
      #expect(ids(both) == Self.numbers { $0 % 7 == 0 || $0 % 100 == 0 || $0 == 1700 })
      let titles = try test.store.read { try $0.search(for: .text("Anchor"), in: test.notes, fields: .title) }
      #expect(ids(titles) == Self.numbers { $0 % 100 == 0 })
      #expect(titles[0].titleRanges == [11..<17] && titles[0].textRanges == [])
      let texts = try test.store.read { try $0.search(for: .text("Anchor"), in: test.notes, fields: .text) }
      #expect(texts.isEmpty)
    }
  }

  @Test(arguments: [CreateOptions.Titles.clear, .none])
  func findsOnlyStoredTitles(_ mode: CreateOptions.Titles) throws {
    try withTestStore({ $0.titles = mode }) { test in
      try test.store.write { _ = try $0.insert(Document(title: "Plans", text: "Sail."), into: test.notes) }
      let matches = try test.store.read { try $0.search(for: .text("Plans"), in: test.notes) }
      #expect(matches.count == (mode == .clear ? 1 : 0))
    }
  }

  @Test func searchesByRegularExpression() throws {
    try withTestStore { test in
      try fill(test)
      let matches = try test.store.read {
        try $0.search(for: .regularExpression(#"^title \d{2}7$"#), in: test.notes, fields: .title)
      }
      let expected = (100...999).filter { $0 % 10 == 7 }.map { Int64($0) }
      #expect(ids(matches) == expected)
    }
  }

  @Test(.slow, arguments: [1, 2, 9, 10, 11, 200, 10_000])
  func stopsSearchAtLimit(_ limit: Int) throws {
    try withTestStore { test in
      try fill(test)
      let matches = try test.store.read { try $0.search(for: .text("anchor"), in: test.notes, limit: limit) }
      #expect(ids(matches) == Array(Self.numbers { $0 % 7 == 0 }.prefix(limit)))
      #expect(try test.store.read { try $0.search(for: .text("anchor"), in: test.notes, limit: 0) }.isEmpty)
    }
  }

  @Test func forEachMatchProvidesText() throws {
    try withTestStore { test in
      try fill(test)
      var searched = 0
      var found = 0
      try test.store.read { reader in
        try reader.forEachMatch(of: .text("anchor"), in: test.notes, progress: { searched = $0.done }) { hit in
          found += 1
          let range = hit.match.textRanges[0]
          #expect(String(decoding: hit.document.utf8[range], as: UTF8.self) == "anchor")
          #expect(hit.document.text.hasSuffix("an anchor lies here") || hit.document.header.id == 1700)
        }
      }
      #expect(found == 428 && searched == 3000)
    }
  }

  @Test func findsUncommittedWrites() throws {
    try withTestStore { test in
      try fill(test, 500)
      try test.store.write { writer in
        let id = try writer.insert(Document(text: "a brand new word"), into: test.notes)
        #expect(ids(try writer.search(for: .text("brand new"), in: test.notes)) == [id.rawValue])
      }
    }
  }

  @Test func returnsEmptyResultForMissingCollection() throws {
    try withTestStore { test in
      let found = try test.store.read { try $0.search(for: .text("a"), in: test.notes) }
      #expect(found.isEmpty)
    }
  }

  @Test func throwsOnDamagedDocument() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    _ = try raw.execute("UPDATE coffer_record SET body = zeroblob(length(body)) WHERE id=2000")
    try raw.close()
    var seen: [Int64] = []
    do {
      try test.store.read { reader in
        try reader.forEachMatch(of: .text("anchor"), in: test.notes) { seen.append($0.document.header.id.rawValue) }
      }
      Issue.record("nothing was thrown")
    } catch let error as StoreError {
      #expect(error.code == .damaged && error.documentID == 2000)
    }
    #expect(seen == Self.numbers { $0 < 2000 && $0 % 7 == 0 })
  }

  @Test func progressErrorStopsSearch() throws {
    try withTestStore { test in
      try fill(test)
      var searched = 0
      #expect(throws: Interruption(number: 1)) {
        try test.store.read { reader in
          try reader.forEachMatch(
            of: .text("nowhere"), in: test.notes,
            progress: {
              searched = $0.done
              if searched > 500 { throw Interruption(number: 1) }
            }, { _ in })
        }
      }
      #expect(searched < 3000)
    }
  }

  @Test func canceledSearchThrowsCancellationError() async throws {
    let test = try TestStore()
    try fill(test)
    let (store, notes) = (test.store, test.notes)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.read { try $0.search(for: .text("anchor"), in: notes) }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let count = try await store.read { try $0.search(for: .text("anchor"), in: notes) }.count
    #expect(count == 428)
    try test.expectSound()
  }
}
