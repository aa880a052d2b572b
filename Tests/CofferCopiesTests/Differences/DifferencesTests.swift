import Coffer
import CofferCopies
import CofferTestSupport
import Foundation
import Testing

import struct CofferEngine.Attachment

@testable import CofferStoreTestSupport

/// Comparison of two stores.
struct DifferencesTests {
  static let notes = DocumentCollection("notes")

  private func original() throws -> TestStore {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...8 {
        try writer.insert(
          Document(title: "t\(number)", text: "text \(number)", key: DocumentKey("k\(number)")), into: Self.notes)
      }
    }
    return test
  }

  /// Returns the removed, added and changed documents, with the changed parts as text.
  private func summary(_ found: StoreDifferences) -> [String] {
    let names: [(StoreDifferences.Difference.Parts, String)] = [
      (.title, "title"), (.text, "text"), (.key, "key"), (.attributes, "attributes"), (.dates, "dates"),
      (.collection, "collection"), (.parent, "parent"), (.place, "place"),
      (.attachments, "attachments"),
    ]
    return found.removed.map { "-\($0.before!.id)" } + found.added.map { "+\($0.after!.title ?? "")" }
      + found.changed.map { difference in
        let parts = names.filter { difference.parts.contains($0.0) }.map(\.1).joined(separator: " ")
        return "\(difference.before!.id): \(parts)"
      }
  }

  private func change(_ store: DocumentStore) throws {
    try store.write { writer throws in
      try writer.update(1, keepingDate: true) { $0.title = "new" }
      try writer.update(2, keepingDate: true) { $0.text = "TEXT 2" }
      try writer.update(3, keepingDate: true) { $0.attributes["pinned"] = true }
      try writer.update(4, keepingDate: true) { $0.key = nil }
      try writer.delete(5)
      try writer.move(DocumentID(6), into: "other", at: .bottom)
      try writer.setParent(of: 7, to: 8)
      try writer.move(DocumentID(8), to: .top)
      try writer.insert(Document(title: "added", text: ""), into: Self.notes)
    }
  }

  private static let expected = [
    "-5", "+added", "1: title", "2: text", "3: attributes", "4: key", "6: collection", "7: parent", "8: place",
  ]

  @Test func comparesByteCopyByIdentity() throws {
    let test = try original()
    let place = try Workplace()
    let copy = try DocumentStore.open(
      at: try place.copy(test.url), key: .published("primary"), options: .testing)
    #expect(try test.store.differences(to: copy).isEmpty && test.store.differences(to: copy).same == 8)
    try change(copy)
    let found = try test.store.differences(to: copy)
    #expect(summary(found) == Self.expected)
    #expect(found.changed.filter(\.isMoved).map { $0.before?.id.rawValue } == [6, 7, 8])
    #expect(found.same == 0)
    let back = try copy.differences(to: test.store)
    #expect(back.added.map { $0.after?.id.rawValue } == [5] && back.removed.count == 1 && back.changed.count == 7)
  }

  @Test(arguments: StoreDifferences.Pairing.all) func comparesAttachments(_ pairing: StoreDifferences.Pairing) throws {
    let test = try original()
    let date = Timestamp(millisecondsSince1970: 1)
    try test.store.write { tx in
      for id: DocumentID in [1, 2, 3, 4] { try tx.attach([1, 2], to: id, name: "file", type: "a/b", date: date) }
    }
    let place = try Workplace()
    let copy = try DocumentStore.open(at: try place.copy(test.url), key: .published("primary"), options: .testing)
    #expect(try test.store.differences(to: copy, by: pairing).isEmpty)
    try copy.write { tx in
      func file(_ id: DocumentID) throws -> Attachment.ID { try #require(try tx.attachment(named: "file", of: id)).id }
      try tx.rename(try file(1), to: "name")
      try tx.detach(try file(2))
      try tx.attach([1, 3], to: 2, name: "file", type: "a/b", date: date)
      try tx.detach(try file(3))
      // The same file again is no difference.
      try tx.detach(try file(4))
      try tx.attach([1, 2], to: 4, name: "file", type: "a/b", date: date)
      try tx.attach([1, 2], to: 5, name: "file", type: "a/b")
    }
    let found = try test.store.differences(to: copy, by: pairing)
    #expect(summary(found) == [1, 2, 3, 5].map { "\($0): attachments" })
    #expect(found.changed.allSatisfy { !$0.isMoved } && found.same == 4)
  }

  @Test func comparesEditableCopyByIdentity() throws {
    let test = try original()
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    #expect(try test.store.differences(to: copy).isEmpty)
    try change(copy)
    #expect(try summary(test.store.differences(to: copy)) == Self.expected)
    let sibling = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("sibling.coffer"), key: .published("primary"), options: .testing)
    #expect(try summary(sibling.differences(to: copy)) == Self.expected)
  }

  /// Generations can be forged, so texts with equal length and generation are decrypted.
  @Test func distinguishesBranchesOfOneGeneration() throws {
    let test = try original()
    let places = (try Workplace(), try Workplace())
    let stores = try [places.0, places.1].map {
      try DocumentStore.open(at: try $0.copy(test.url), key: .published("primary"), options: .testing)
    }
    for (store, text) in zip(stores, ["one", "two"]) {
      try store.write { try $0.update(2, keepingDate: true) { $0.text = text } }
    }
    #expect(try summary(stores[0].differences(to: stores[1])) == ["2: text"])
  }

  @Test func pairsUnrelatedStoresByKeyOrTitle() throws {
    let test = try original()
    let other = try TestStore()
    expect(.invalidArgument) { try test.store.differences(to: other.store) }
    try other.store.write { writer throws in
      try writer.insert(Document(text: "before"), into: "first")
      for number in [2, 1, 3] {
        var document = Document(title: "t\(number)", text: "text \(number)", key: DocumentKey("k\(number)"))
        let old = try test.store.read { try $0.header(of: DocumentID(number)) }
        (document.created, document.modified) = (old.created, old.modified)
        try writer.insert(document, into: Self.notes)
      }
      try writer.insert(Document(title: "t3", text: "text 3"), into: Self.notes)
    }
    let byKey = try test.store.differences(to: other.store, by: .key)
    #expect(byKey.added.count == 2 && byKey.removed.map { $0.before!.id.rawValue } == [4, 5, 6, 7, 8])
    #expect(byKey.changed.count == 1 && byKey.changed[0].parts == .place && byKey.same == 2)
    let byTitle = try test.store.differences(to: other.store, by: .title)
    #expect(byTitle.added.map { $0.after?.title } == [nil, "t3"] && byTitle.changed.count == 1)
  }

  @Test func rejectsDamagedStore() throws {
    let test = try original()
    let place = try Workplace()
    let url = try place.copy(test.url)
    let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    try test.raw().execute("DELETE FROM coffer_record WHERE id = 2")
    expect(.setMismatch) { try test.store.differences(to: copy) }
    expect(.setMismatch) { try copy.differences(to: test.store) }
    let rows = try DocumentStore.rowDifferences(from: url, to: test.url)
    #expect(rows.removed == [2] && rows.added.isEmpty && rows.changed.isEmpty)
  }

  @Test func comparesRowsWithoutKey() throws {
    let test = try original()
    let place = try Workplace()
    let url = try place.copy(test.url)
    #expect(try DocumentStore.rowDifferences(from: url, to: test.url).isEmpty)
    try test.store.write { writer throws in
      try writer.update(3) { $0.text = String(repeating: "long ", count: 3000) }
      try writer.delete(5)
      try writer.insert(Document(text: "new"), into: Self.notes)
    }
    let rows = try DocumentStore.rowDifferences(from: url, to: test.url)
    #expect(rows.removed == [5] && rows.added == [9] && rows.changed == [3])
    let other = try TestStore()
    expect(.invalidArgument) { try DocumentStore.rowDifferences(from: url, to: other.url) }
  }

  @Test func comparesAttachmentRowsWithoutKey() throws {
    let test = try original()
    let place = try Workplace()
    var files = [try place.copy(test.url)]
    var attachments: [Attachment.ID] = []
    try test.store.write { tx in
      for id: DocumentID in [2, 3] { attachments.append(try tx.attach([1], to: id, name: "a").id) }
    }
    files.append(try place.copy(test.url, as: "attached.coffer"))
    try test.store.write { tx throws in
      try tx.rename(attachments[0], to: "b")
      try tx.detach(attachments[1])
    }
    for (file, changed) in zip(files, [[2], [2, 3]] as [[DocumentID]]) {
      let rows = try DocumentStore.rowDifferences(from: file, to: test.url)
      #expect(rows.changed == changed && rows.added.isEmpty && rows.removed.isEmpty)
      #expect(try DocumentStore.rowDifferences(from: test.url, to: file) == rows)
    }
  }
}

extension StoreDifferences.Pairing {
  fileprivate static var all: [Self] { [.identity, .key, .title] }
}
