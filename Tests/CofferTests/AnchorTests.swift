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
    // A fork that went on is seen, too, as long as the ring holds the anchor's generation.
    expect(.anchorMismatch) { try store.checkAnchor(anchor) }
    for _ in 0..<150 { try store.write { try $0.insert(Document(text: ""), into: test.notes) } }
    #expect(try store.checkAnchor(anchor) == .newer(by: 151))
    expect(.anchorMismatch) { try store.checkAnchor(anchor, options: .descends) }
  }

  @Test func laterStoreIsNewerUnlessExactIsWanted() throws {
    try withTestStore { test in
      let anchor = try test.store.anchor()
      #expect(try test.store.checkAnchor(anchor, options: .exact) == .same)
      #expect(try test.store.checkAnchor(anchor + "\n") == .same)
      for _ in 0..<3 { try test.store.write { try $0.insert(Document(text: ""), into: test.notes) } }
      #expect(try test.store.checkAnchor(anchor) == .descends(by: 3))
      #expect(try test.store.checkAnchor(anchor, options: .descends) == .descends(by: 3))
      #expect(try test.store.verify(anchor: anchor).anchor == .descends(by: 3))
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
    func line(_ changes: [Int: String]) -> String {
      parts.indices.map { changes[$0] ?? parts[$0] }.joined(separator: ":")
    }
    let wrong =
      [
        "", "coffer2", anchor + ":", anchor.uppercased(), " " + anchor, "coffer1" + anchor.dropFirst(7),
        line([1: String(parts[1].dropLast())]), line([5: parts[5] + "00"]), line([6: parts[6].dropLast() + "g"]),
      ] + (2...4).flatMap { place in ["01", "", "-1", "+1", "0", "99999999999999999999"].map { line([place: $0]) } }
    for line in wrong { expect(.invalidArgument) { try test.store.checkAnchor(line) } }
  }

  @Test func anchorOfBeforeARekeyNeedsTheNewPinOrAWord() throws {
    let test = try TestStore()
    let anchor = try test.store.anchor()
    let pin = test.store.pin
    try test.store.rekey { _ in }
    #expect(test.store.pin != pin)
    // Nothing of the old mark can be checked; the generation still shows that it is no older file.
    expect(.anchorMismatch) { try test.store.checkAnchor(anchor) }
    expect(.anchorMismatch) { try test.store.checkAnchor(anchor, options: [.rekeyKnown, .descends]) }
    #expect(try test.store.checkAnchor(anchor, options: .rekeyKnown) == .rekeyed)
    #expect(try test.store.checkAnchor(try test.store.anchor()) == .same)
    var options = OpenOptions.testing
    options.expectedPin = test.store.pin
    let pinned = try DocumentStore.open(at: test.url, key: .published("primary"), options: options)
    #expect(try pinned.checkAnchor(anchor) == .rekeyed)
  }

  @Test func endOfARekeyKeepsAnchorsOfItsMiddle() throws {
    let test = try TestStore()
    try test.fillForRekey()
    var middle: (anchor: String, pin: String)?
    try test.store.rekey(options: .batched) { step in
      if step.phase == .working { middle = (try test.store.anchor(), test.store.pin) }
    }
    let (anchor, pin) = try #require(middle)
    #expect(pin != test.store.pin)
    guard case .descends = try test.store.checkAnchor(anchor) else { throw StoreError(.anchorMismatch, anchor) }
    // The pin of the beginning fits the store at the end.
    var options = OpenOptions.testing
    options.expectedPin = pin
    _ = try DocumentStore.open(at: test.url, key: .published("primary"), options: options)
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
