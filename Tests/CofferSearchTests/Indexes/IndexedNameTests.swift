import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Names of attachments in indexes of words.
@Suite struct IndexedNameTests {
  private let test: TestStore
  private let ids: [DocumentID]

  init() throws {
    test = try TestStore()
    let notes = test.notes
    ids = try test.store.write { tx in
      try (1...4).map { try tx.insert(Document(title: "Trip \($0)", text: "text \($0)"), into: notes) }
    }
    try test.store.index(notes, .words())
  }

  private func search(_ words: String, in store: DocumentStore? = nil) throws -> [RankedMatches.Match] {
    try (store ?? test.store).read { try $0.search(ranked: words, in: test.notes, limit: 500).matches }
  }

  private func found(_ words: String, in store: DocumentStore? = nil) throws -> [DocumentID] {
    try search(words, in: store).map(\.header.id).sorted()
  }

  private func attach(_ name: String, to id: DocumentID) throws -> CofferEngine.Attachment {
    try test.store.write { try $0.attach([1, 2, 3], to: id, name: name) }
  }

  private func expectSound() throws {
    #expect(try test.store.checkIndexes().problems.isEmpty)
    try test.expectSound()
  }

  /// Makes more commits than the ring holds, so that an index compares all rows.
  private func pass() throws {
    for _ in 0..<330 {
      try test.store.engine.writing { transaction throws(StoreError) in
        try transaction.writer.willWrite()
        try transaction.commit()
      }
    }
  }

  /// Changes reach the index through the ring, or by a comparison of all rows.
  @Test(arguments: [false, true], [false, true])
  func followsChangesOfNames(isWritten: Bool, passesRing: Bool) throws {
    func expect(_ wanted: [String: [DocumentID]], _ place: SourceLocation = #_sourceLocation) throws {
      if passesRing { try pass() }
      if isWritten { try test.store.updateIndexes() }
      for (words, ids) in wanted { #expect(try found(words) == ids, "\(words)", sourceLocation: place) }
    }
    if isWritten { try test.store.updateIndexes() }
    let first = try attach("Hafen-Sunset_2024.JPG", to: ids[1])
    try expect(["sunset": [ids[1]], "jpg": [ids[1]], "2024": [ids[1]], "trip": ids])
    _ = try attach("sunset.txt", to: ids[2])
    try expect(["sunset": [ids[1], ids[2]], "trip sunset jpg": [ids[1]]])
    try test.store.write { try $0.rename(first.id, to: "dawn.jpg") }
    try expect(["sunset": [ids[2]], "dawn": [ids[1]]])
    try test.store.write { try $0.detach(first.id) }
    try expect(["dawn": [], "jpg": [], "sunset": [ids[2]]])
    try test.store.write { _ = try $0.delete(ids[2]) }
    try expect(["sunset": []])
    try expectSound()
  }

  @Test func findsNamesInTheirColumn() throws {
    _ = try attach("sunset.jpg", to: ids[0])
    try test.store.write { tx in _ = try tx.update(ids[1]) { $0.text = "a sunset" } }
    #expect(try found("sunset") == [ids[0], ids[1]])
    #expect(try found("names: sunset") == [ids[0]])
    #expect(try found("text: sunset") == [ids[1]])
    #expect(try found("- names: sunset") == [ids[1]])
    #expect(try found("{title names}: sunset") == [ids[0]])
    #expect(try found("trip NOT names: sunset") == [ids[1], ids[2], ids[3]])
    let rows = try test.store.read { try $0.query("SELECT id FROM \"notes.match\"('names: sunset')").rows }
    #expect(rows.map { $0[0] } == [.integer(ids[0].rawValue)])
  }

  @Test func marksMatchingNames() throws {
    let names = ["über Sunset.jpg", "other.txt", "the sunset at SUNSET.heic"]
    let attached = try names.map { try attach($0, to: ids[0]) }
    let match = try #require(try search("sunset").first)
    #expect(match.attachments.map(\.attachment) == [attached[0].id, attached[2].id])
    #expect(match.attachments.map(\.name) == [names[0], names[2]])
    #expect(match.attachments.map(\.ranges) == [[6..<12], [4..<10, 14..<20]])
    #expect(match.titleRanges.isEmpty && match.snippet?.ranges == [])
    #expect(try search("trip").allSatisfy(\.attachments.isEmpty))
    #expect(try search("NEAR(trip sunset, 2) OR sunset").first?.attachments.count == 2)
    let plain = try test.store.read { try $0.search(ranked: "sunset", in: test.notes, withSnippets: false) }
    #expect(plain.matches.map(\.attachments) == [[]])
  }

  /// Words limited to members of values know names, as they know titles.
  @Test func findsNamesBesideMembers() throws {
    let mails: DocumentCollection = "mails"
    let id = try test.store.write { try $0.insert(["from": "sunset@example.org", "text": "hello"], into: mails) }
    try test.store.index(mails, .words(in: "$.text"))
    func found() throws -> Int { try test.store.read { try $0.search(ranked: "sunset", in: mails).total } }
    #expect(try found() == 0)
    _ = try attach("sunset.jpg", to: id)
    #expect(try found() == 1)
    try expectSound()
  }

  @Test func findsNamesThatMergeBrings() throws {
    let copy = test.place.file("copy.coffer")
    try test.store.makeEditableCopy(at: copy, keys: [.published("primary")])
    let other = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    try other.write { _ = try $0.attach([4], to: ids[3], name: "sunset.jpg") }
    #expect(try found("sunset") == [])
    _ = try test.store.merge(other)
    #expect(try found("sunset") == [ids[3]])
    #expect(try found("sunset", in: other) == [ids[3]])
    try expectSound()
  }

  @Test func findsNamesAfterRekey() throws {
    _ = try attach("sunset.jpg", to: ids[2])
    _ = try test.store.rekey()
    #expect(try found("sunset") == [ids[2]])
    _ = try attach("sunset.txt", to: ids[3])
    #expect(try found("sunset") == [ids[2], ids[3]])
    try expectSound()
  }

  /// A damaged attachment has no name. The names of others are found.
  @Test func skipsDamagedAttachment() throws {
    let damaged = try attach("sunset.jpg", to: ids[0])
    _ = try attach("dawn.jpg", to: ids[0])
    try test.store.close()
    let raw = try test.raw()
    try raw.execute(
      "UPDATE coffer_attachment SET sealed=zeroblob(length(sealed)) WHERE attachment=?", damaged.id.rawValue)
    try raw.close()
    let store = try test.reopened()
    #expect(try found("dawn", in: store) == [ids[0]])
    #expect(try found("sunset", in: store) == [])
    #expect(try found("trip", in: store) == ids)
  }

  /// Random changes, after which the search finds what a look at all names finds.
  @Test(arguments: HistorySeeds.first(3)) func agreesWithListedNames(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let words = ["sunset", "dawn", "harbour", "scan"]
    var ids = self.ids
    for step in 0..<120 {
      let id = ids[random.number(below: ids.count)]
      let name = "\(words[random.number(below: words.count)])-\(step).jpg"
      try test.store.write { tx in
        let attachments = try tx.attachments(of: id)
        let one = attachments.isEmpty ? nil : attachments[random.number(below: attachments.count)]
        switch random.number(below: 8) {
        case 0...2: _ = try tx.attach([UInt8(step)], to: id, name: name)
        case 3: if let one { try tx.rename(one.id, to: name) }
        case 4: if let one { try tx.detach(one.id) }
        case 5: if let one { _ = try tx.replace(one.id, with: .bytes([UInt8(step), 1])) }
        case 6: _ = try tx.update(id) { $0.text = "text \(step)" }
        default:
          if ids.count > 3, random.number(below: 2) == 0 {
            _ = try tx.delete(id)
            ids.removeAll { $0 == id }
          } else {
            ids.append(try tx.duplicate(id))
          }
        }
      }
      if random.number(below: 12) == 0 { try test.store.updateIndexes() }
      guard random.number(below: 6) == 0 else { continue }
      for word in words {
        let listed = try test.store.read { tx in
          try ids.filter { id in try tx.attachments(of: id).contains { $0.name.hasPrefix("\(word)-") } }
        }
        #expect(try found(word) == listed.sorted(), "step \(step)")
      }
    }
    try expectSound()
  }
}
