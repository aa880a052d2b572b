import Coffer
import Foundation
import Testing

@testable import CofferRecords

struct AnchorTests {
  @Test func olderFileIsSeenByTheAnchorAlone() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "1"), into: test.notes) }
    let older = try Data(contentsOf: test.url)
    try test.store.write { try $0.insert(Document(text: "2"), into: test.notes) }
    let anchor = try test.store.anchor()
    try test.store.close()
    try older.write(to: test.url)
    let store = try test.reopened()
    #expect(try store.verify().isSound)
    expect(.rolledBack) { try store.checkAnchor(anchor) }
    #expect(try store.verify(anchor: anchor).error == StoreError(.rolledBack, ""))
  }

  @Test func otherHistoryOfTheSameGenerationIsAMismatch() throws {
    let test = try TestStore()
    let older = try Data(contentsOf: test.url)
    try test.store.write { try $0.insert(Document(text: "1"), into: test.notes) }
    let anchor = try test.store.anchor()
    try test.store.close()
    try older.write(to: test.url)
    let store = try test.reopened()
    try store.write { try $0.insert(Document(text: "1"), into: test.notes) }
    expect(.anchorMismatch) { try store.checkAnchor(anchor) }
    #expect(try store.verify(.quick, anchor: anchor).error == StoreError(.anchorMismatch, ""))
    try store.write { try $0.insert(Document(text: "2"), into: test.notes) }
    // Writes that pass its generation hide it: why the latest is to be kept.
    #expect(try store.checkAnchor(anchor) == .newer(by: 1))
  }

  @Test func laterStoreIsNewerUnlessExactIsWanted() throws {
    try withTestStore { test in
      let anchor = try test.store.anchor()
      #expect(try test.store.checkAnchor(anchor, options: .exact) == .same)
      #expect(try test.store.checkAnchor(anchor + "\n") == .same)
      for _ in 0..<3 { try test.store.write { try $0.insert(Document(text: ""), into: test.notes) } }
      #expect(try test.store.checkAnchor(anchor) == .newer(by: 3))
      #expect(try test.store.verify(anchor: anchor).anchor == .newer(by: 3))
      expect(.anchorMismatch) { try test.store.checkAnchor(anchor, options: .exact) }
    }
  }

  @Test func otherStoreIsAMismatch() throws {
    let (one, other) = (try TestStore(), try TestStore())
    expect(.anchorMismatch) { try one.store.checkAnchor(try other.store.anchor()) }
  }

  @Test func linesThatAreNoAnchorsAreRefused() throws {
    let test = try TestStore()
    let anchor = try test.store.anchor()
    let parts = anchor.split(separator: ":").map(String.init)
    let wrong = [
      "", "coffer1", anchor + ":", anchor.uppercased(), " " + anchor, "coffer2" + anchor.dropFirst(7),
      "coffer1:\(parts[1]):01:\(parts[3])", "coffer1:\(parts[1])::\(parts[3])", "coffer1:\(parts[1]):-1:\(parts[3])",
      "coffer1:\(parts[1]):99999999999999999999:\(parts[3])", "coffer1:\(parts[1].dropLast()):1:\(parts[3])",
      "coffer1:\(parts[1]):1:\(parts[3].dropLast())g", "coffer1:\(parts[1]):+1:\(parts[3])",
    ]
    for line in wrong { expect(.invalidArgument) { try test.store.checkAnchor(line) } }
  }

  @Test func anchorOfBeforeARekeyShowsTheGenerationAlone() throws {
    let test = try TestStore()
    let anchor = try test.store.anchor()
    let pin = test.store.pin
    try test.store.rekey { _ in }
    #expect(test.store.pin != pin)
    // Nothing of the old hash can be checked; the generation still shows that it is no older file.
    #expect(try test.store.checkAnchor(anchor) == .newer(by: 2))
    #expect(try test.store.checkAnchor(try test.store.anchor()) == .same)
  }

  @Test func anchorChangesWithEveryWriteAndSlotChangeOnly() throws {
    let test = try TestStore()
    var seen: [String] = [try test.store.anchor()]
    try test.store.write { try $0.insert(Document(text: ""), into: test.notes) }
    seen.append(try test.store.anchor())
    try test.store.keys.add(.published("next"))
    seen.append(try test.store.anchor())
    _ = try test.store.everything()
    _ = try test.store.verify()
    try test.store.write { _ in }
    #expect(Set(seen).count == 3)
    #expect(try test.reopened().anchor() == seen.last)
  }
}
