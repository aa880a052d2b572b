import Coffer
import CofferRecords
import CofferReplication
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Documents changed since an earlier state.
struct StoreTailTests {
  private func filled() throws -> (TestStore, StoreAnchor) {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...6 { _ = try writer.insert(Document(text: "text \(number)"), into: test.notes) }
    }
    return (test, try test.store.anchor())
  }

  private func tail(_ store: DocumentStore, since anchor: StoreAnchor) throws -> StoreTail {
    try store.read { try $0.tail(since: anchor) }
  }

  private func changes(_ tail: StoreTail) -> [Int64: Set<StoreTail.Change>] {
    Dictionary(uniqueKeysWithValues: tail.entries.map { ($0.id.rawValue, $0.changes) })
  }

  @Test func reportsEveryKindOfChangeOnce() throws {
    let (test, base) = try filled()
    try test.store.write { writer in
      _ = try writer.insert(Document(text: "new"), into: test.notes)
      try writer.update(1) { $0.text = "other" }
      try writer.update(2) { $0.created = Timestamp(millisecondsSince1970: 1) }
      try writer.move(3, to: .top)
      try writer.delete(4)
    }
    try test.store.write { writer in
      try writer.update(3) { $0.title = "title" }
      try writer.delete(try writer.insert(Document(text: "short"), into: test.notes))
    }
    let tail = try tail(test.store, since: base)
    #expect(
      changes(tail) == [1: [.changed], 2: [.changed], 3: [.changed, .moved], 4: [.deleted], 7: [.inserted]])
    #expect(tail.namesDeletions && tail.isProved && tail.relation == .descendant(by: 2) && tail.damaged.isEmpty)
    #expect(tail.entries.map(\.id.rawValue) == [1, 2, 3, 4, 7])
    #expect(try self.tail(test.store, since: test.store.anchor()).entries.isEmpty)
  }

  @Test func reportsReusedIDAsDeletedAndInserted() throws {
    let (test, base) = try filled()
    try test.store.write { try $0.delete(3) }
    try test.store.write { _ = try $0.insert(Document(text: "another"), into: test.notes, id: 3) }
    #expect(try changes(tail(test.store, since: base)) == [3: [.deleted, .inserted]])
    // Reuse in another collection is reported the same way. A new document that moves is reported as inserted.
    try test.store.write { writer in
      try writer.delete(4)
      _ = try writer.insert(Document(text: "elsewhere"), into: "others", id: 4)
      _ = try writer.insert(Document(text: "new"), into: test.notes, id: 9)
    }
    try test.store.write { try $0.move(9, into: "others") }
    #expect(
      try changes(tail(test.store, since: base))
        == [3: [.deleted, .inserted], 4: [.deleted, .inserted], 9: [.inserted]])
  }

  @Test func reportsUnknownDeletionsBeyondRing() throws {
    let (test, base) = try filled()
    try test.store.write { try $0.delete(4) }
    for _ in 0..<400 { try test.store.write { try $0.update(1) { $0.text += "." } } }
    let tail = try tail(test.store, since: base)
    #expect(changes(tail) == [1: [.changed]] && !tail.namesDeletions && tail.isProved)
    #expect(tail.relation == .newer(by: 401))
  }

  @Test func reportsMoveToAnotherCollection() throws {
    let (test, base) = try filled()
    try test.store.write { writer in
      try writer.create("others")
      try writer.move(2, into: "others")
    }
    let tail = try tail(test.store, since: base)
    #expect(changes(tail) == [2: [.moved]])
    #expect(tail.changedCollections.count == 1 && tail.entries[0].collection == tail.changedCollections.first)
  }

  @Test func rejectsOlderFileAndOtherBranch() throws {
    let (test, base) = try filled()
    let copy = test.place.file("copy.coffer")
    try test.store.backup(to: copy)
    try test.store.write { try $0.update(1) { $0.text = "here" } }
    let other = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    expect(.rolledBack) { try tail(other, since: test.store.anchor()) }
    expect(.rolledBack) { try other.read { try $0.tail(sinceGeneration: 100) } }
    try other.write { try $0.update(1) { $0.text = "there" } }
    expect(.anchorMismatch) { try tail(other, since: test.store.anchor()) }
    #expect(changes(try tail(other, since: base)) == [1: [.changed]])
  }

  @Test func rejectsMissingRowUnlessSkippingDamage() throws {
    let (test, base) = try filled()
    try test.store.write { try $0.update(1) { $0.text = "new" } }
    try test.store.close()
    let raw = try test.raw()
    try raw.execute("DELETE FROM coffer_record WHERE id = 2")
    try raw.execute("UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = 1")
    try raw.close()
    let store = try test.reopened()
    expect(.damaged) { try tail(store, since: base) }
    let found = try store.read { try $0.tail(since: base, skippingDamage: true) }
    #expect(!found.isProved && found.damaged.map(\.id.rawValue) == [1] && found.entries.isEmpty)
    expect(.setMismatch) {
      try withRawDatabase(test) { try $0.execute("DELETE FROM coffer_record WHERE id = 1") }
      return try tail(store, since: base)
    }
  }

  private func withRawDatabase(_ test: TestStore, _ body: (Database) throws -> Void) throws {
    let raw = try test.raw()
    try body(raw)
    try raw.close()
  }

  /// Compares the tails of random histories with the difference between two states, by text and existence.
  @Test func tailsOfRandomHistoriesMatchDifference() throws {
    for seed in 1...12 {
      var random = Pseudorandom(seed: UInt64(seed))
      let (test, base) = try filled()
      let before = try test.store.everything()["notes", default: []]
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        try test.store.write { writer in
          let ids = try writer.headers(in: test.notes).map(\.id)
          guard let id = ids.randomElement(using: &random) else {
            _ = try writer.insert(Document(text: "first"), into: test.notes)
            return
          }
          switch Int.random(in: 0..<4, using: &random) {
          case 0: _ = try writer.insert(Document(text: "new"), into: test.notes, at: .after(id))
          case 1: try writer.update(id) { $0.text += "x" }
          case 2: try writer.delete(id)
          default: try writer.move(id, to: .top)
          }
        }
      }
      let after = try test.store.everything()["notes", default: []]
      let tail = try tail(test.store, since: base)
      let old = Dictionary(uniqueKeysWithValues: before.map { ($0.header.id, $0) })
      let new = Dictionary(uniqueKeysWithValues: after.map { ($0.header.id, $0) })
      let named = Dictionary(uniqueKeysWithValues: tail.entries.map { ($0.id, $0.changes) })
      for id in Set(old.keys).union(new.keys) {
        switch (old[id], new[id]) {
        case (nil, .some): #expect(named[id] == [.inserted], "seed \(seed)")
        case (.some, nil): #expect(named[id] == [.deleted], "seed \(seed)")
        case (let one?, let other?):
          #expect((one.text != other.text) == (named[id]?.contains(.changed) ?? false), "seed \(seed)")
        case (nil, nil): break
        }
      }
      #expect(Set(named.keys).isSubset(of: Set(old.keys).union(new.keys)), "seed \(seed)")
    }
  }

  @Test(arguments: [false, true])
  func reportsDocumentsWithOtherAttachments(isLong: Bool) throws {
    let (test, _) = try filled()
    try test.store.write { tx in
      try tx.attach([1], to: 2, name: "renamed later")
      try tx.attach([1], to: 3, name: "removed later")
    }
    let anchor = try test.store.anchor()
    try test.store.write { tx in
      try tx.attach([1, 2, 3], to: 1, name: "new")
      try tx.rename(try tx.attachments(of: 2)[0].id, to: "renamed")
    }
    try test.store.write { tx in try tx.detach(tx.attachments(of: 3)[0].id) }
    // After many commits, the ring doesn't list the changes any more.
    if isLong { for number in 0..<600 { try test.store.write { try $0.update(6) { $0.text = "\(number)" } } } }
    let found = changes(try tail(test.store, since: anchor))
    #expect(found[1] == [.changed] && found[2] == [.changed] && found[4] == nil)
    if !isLong { #expect(found == [1: [.changed], 2: [.changed], 3: [.changed]]) }
  }
}
