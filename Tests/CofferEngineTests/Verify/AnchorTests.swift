import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

struct AnchorTests {
  @Test func detectsOlderFile() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "1"), into: test.notes) }
    let older = try Data(contentsOf: test.url)
    try test.store.write { try $0.insert(Document(text: "2"), into: test.notes) }
    let anchor = try test.store.anchor()
    try test.store.close()
    try older.write(to: test.url)
    let store = try test.reopened()
    #expect(try store.verify().isSound)
    expect(.rolledBack) { try store.relation(to: anchor) }
    #expect(try store.verify(against: anchor).error == StoreError(.rolledBack, ""))
  }

  @Test func detectsDivergedHistory() throws {
    let test = try TestStore()
    let older = try Data(contentsOf: test.url)
    try test.store.write { try $0.insert(Document(text: "1"), into: test.notes) }
    let anchor = try test.store.anchor()
    try test.store.close()
    try older.write(to: test.url)
    let store = try test.reopened()
    try store.write { try $0.insert(Document(text: "1"), into: test.notes) }
    expect(.anchorMismatch) { try store.relation(to: anchor) }
    #expect(try store.verify(.quick, against: anchor).error == StoreError(.anchorMismatch, ""))
    try store.write { try $0.insert(Document(text: "2"), into: test.notes) }
    // A fork with further commits is detected while the ring holds the anchor's generation.
    expect(.anchorMismatch) { try store.relation(to: anchor) }
    for _ in 0..<400 { try store.write { try $0.insert(Document(text: ""), into: test.notes) } }
    #expect(try store.relation(to: anchor) == .newer(by: 401))
    expect(.anchorMismatch) { try store.relation(to: anchor, requiring: .descendant) }
  }

  @Test func acceptsLaterStoreUnlessExactIsRequired() throws {
    try withTestStore { test in
      let anchor = try test.store.anchor()
      #expect(try test.store.relation(to: anchor, requiring: .same) == .same)
      #expect(StoreAnchor("\(anchor)\n") == anchor)
      for _ in 0..<3 { try test.store.write { try $0.insert(Document(text: ""), into: test.notes) } }
      #expect(try test.store.relation(to: anchor) == .descendant(by: 3))
      #expect(try test.store.relation(to: anchor, requiring: .descendant) == .descendant(by: 3))
      #expect(try test.store.verify(against: anchor).anchor == .descendant(by: 3))
      expect(.anchorMismatch) { try test.store.relation(to: anchor, requiring: .same) }
    }
  }

  @Test func rejectsAnchorOfOtherStore() throws {
    let (one, other) = (try TestStore(), try TestStore())
    expect(.anchorMismatch) { try one.store.relation(to: try other.store.anchor()) }
  }

  @Test func rejectsInvalidLines() throws {
    let test = try TestStore()
    let anchor = try test.store.anchor().description
    let parts = anchor.split(separator: ":").map(String.init)
    func line(_ changes: [Int: String]) -> String {
      parts.indices.map { changes[$0] ?? parts[$0] }.joined(separator: ":")
    }
    let wrong =
      [
        "", "coffer3", anchor + ":", anchor.uppercased(), " " + anchor, "coffer2" + anchor.dropFirst(7),
        line([1: String(parts[1].dropLast())]), line([5: parts[5] + "00"]), line([6: parts[6].dropLast() + "g"]),
      ] + (2...4).flatMap { place in ["01", "", "-1", "+1", "0", "99999999999999999999"].map { line([place: $0]) } }
    for line in wrong {
      expect(.invalidArgument) { try StoreAnchor(parsing: line) }
      #expect(StoreAnchor(line) == nil)
    }
  }

  @Test func anchorBeforeRekeyRequiresPinOrOption() throws {
    let test = try TestStore()
    let anchor = try test.store.anchor()
    let pin = test.store.pin
    try test.store.rekey { _ in }
    #expect(test.store.pin != pin)
    // The old mark can't be checked, but the generation shows that the file isn't older.
    expect(.anchorMismatch) { try test.store.relation(to: anchor) }
    expect(.anchorMismatch) { try test.store.relation(to: anchor, requiring: .descendant, allowingRekey: true) }
    #expect(try test.store.relation(to: anchor, allowingRekey: true) == .rekeyed)
    #expect(try test.store.relation(to: try test.store.anchor()) == .same)
    var options = OpenOptions.testing
    options.pin = test.store.pin
    let pinned = try DocumentStore.open(at: test.url, key: .published("primary"), options: options)
    #expect(try pinned.relation(to: anchor) == .rekeyed)
  }

  @Test func acceptsAnchorTakenDuringRekey() throws {
    let test = try TestStore()
    try test.fillForRekey()
    var middle: (anchor: StoreAnchor, pin: StorePin)?
    try test.store.rekey(options: .batched) { step in
      if step.phase == .working { middle = (try test.store.anchor(), test.store.pin) }
    }
    let (anchor, pin) = try #require(middle)
    #expect(pin != test.store.pin)
    guard case .descendant = try test.store.relation(to: anchor) else {
      throw StoreError(.anchorMismatch, "\(anchor)")
    }
    // The pin reported during the rekey matches the finished store.
    var options = OpenOptions.testing
    options.pin = pin
    _ = try DocumentStore.open(at: test.url, key: .published("primary"), options: options)
  }

  @Test func changesWithEveryWriteAndSlotChange() throws {
    let test = try TestStore()
    var seen: [StoreAnchor] = [try test.store.anchor()]
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
