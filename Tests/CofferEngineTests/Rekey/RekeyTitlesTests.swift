import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A rekey that changes the title mode.
struct RekeyTitlesTests {
  private func options(_ mode: CreateOptions.Titles) -> RekeyOptions {
    var options = RekeyOptions.batched
    options.changeTitles(to: mode)
    return options
  }

  /// Returns the documents as stored with a title mode.
  private func expected(_ before: [String: [SeenDocument]], _ mode: CreateOptions.Titles) -> [String: [SeenDocument]] {
    guard mode == .none else { return before }
    return before.mapValues { $0.map { SeenDocument(header: $0.header.withoutTitle, text: $0.text) } }
  }

  @Test(.slow, arguments: CreateOptions.Titles.allCases, CreateOptions.Titles.allCases)
  func convertsBetweenAllModes(_ old: CreateOptions.Titles, _ new: CreateOptions.Titles) throws {
    for journal in CreateOptions.Journal.allCases {
      let test = try TestStore {
        $0.titles = old; $0.journal = journal
      }
      try test.fillForRekey()
      let before = try test.store.everything()
      let report = try test.store.rekey(options: options(new)) { step in
        let other = try test.reopened()
        #expect(try other.verify().isSound)
        #expect(try other.everything().mapValues { $0.map(\.text) } == before.mapValues { $0.map(\.text) })
      }
      #expect(report.isFinished && test.store.titles == new)
      #expect(try test.store.everything() == expected(before, new))
      #expect(try DocumentStore.info(at: test.url).titles == new)
      let clear = try test.raw().query("SELECT count(title) FROM coffer_record").rows[0][0]
      #expect(clear == .integer(new == .clear && old != .none ? 29 : 0))
      try test.expectSound()
    }
  }

  @Test(arguments: 1..<7, [CreateOptions.Titles.sealed, .none])
  func resumesInNewMode(_ step: Int, _ mode: CreateOptions.Titles) throws {
    let test = try TestStore { $0.titles = .clear }
    try test.fillForRekey()
    let before = try test.store.everything()
    var steps = 0
    expect(.cancelled) {
      try test.store.rekey(options: options(mode)) { _ in
        if steps == step { throw Interruption() }
        steps += 1
      }
    }
    let store = try test.reopened()
    #expect(store.titles == mode)
    #expect(try store.verify().isSound)
    // Rows with old and new keys can be listed, moved and written.
    try store.write { writer in
      try writer.move(4, to: .bottom)
      try writer.update(28) { $0.text += "!" }
      try writer.insert(Document(title: "late", text: "late"), into: test.notes)
    }
    #expect(try store.rekey(options: .resuming) { _ in }.isFinished)
    let after = try store.everything().values.flatMap { $0 }
    #expect(after.count == 30)
    for document in before.values.flatMap({ $0 }) {
      let found = try #require(after.first { $0.header.id == document.header.id })
      #expect(found.header.title == (mode == .none ? nil : document.header.title))
    }
    #expect(try test.raw().query("SELECT count(title) FROM coffer_record").rows[0][0] == .integer(0))
    #expect(try test.reopened().verify().isSound)
  }

  @Test func rejectsModeChangeInPartialRekey() throws {
    let test = try TestStore()
    try test.fillForRekey()
    let before = try Data(contentsOf: test.url)
    var half = options(.clear)
    half.isKeysOnly = true
    expect(.invalidArgument) { try test.store.rekey(options: half) { _ in } }
    half.isKeysOnly = false
    half.isResuming = true
    expect(.invalidArgument) { try test.store.rekey(options: half) { _ in } }
    #expect(try Data(contentsOf: test.url) == before)
  }

  @Test func longestTitleFitsInHead() throws {
    let test = try TestStore { $0.titles = .clear }
    let long = String(repeating: "x", count: 65_536)
    let attributes = try Attributes(json: "{\"a\":\"\(String(repeating: "y", count: 900_000))\"}")
    try test.store.write { writer in
      expect(.tooLarge) { try writer.insert(Document(title: long + "x", text: "text"), into: test.notes) }
      try writer.insert(Document(title: long, text: "text", attributes: attributes), into: test.notes)
    }
    let before = try test.store.everything()
    #expect(try test.store.rekey(options: options(.sealed)) { _ in }.isFinished)
    #expect(try test.store.everything() == before)
    try test.expectSound()
  }
}

extension DocumentHeader {
  fileprivate var withoutTitle: DocumentHeader {
    DocumentHeader(
      id: id, collection: collection, position: position, parent: parent, title: nil, key: key, attributes: attributes,
      created: created, modified: modified, byteCount: byteCount, isJSON: isJSON)
  }
}
