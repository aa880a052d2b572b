import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Texts, heads and names that a holder of their key replaced by others with the same GCM tag.
struct SameTagTests {
  private func store(_ name: String) throws -> (store: DocumentStore, place: Workplace) {
    let place = try Workplace()
    let url = try place.copy(try Vectors.attackedStore(name))
    let (kind, secret) = try #require(try Vectors.json("attacks/\(name)")["opener"].object.first)
    return (
      try DocumentStore.open(at: url, key: .named(kind, try #require(secret.string)), options: .testing), place
    )
  }

  @Test func rekeySkipsForgedText() throws {
    let (store, place) = try store("same-tag-body")
    let report = try store.rekey(options: .resuming) { _ in }
    #expect(report.skipped.map(\.id) == [7] && !report.isFinished)
    expect(.damaged) { try store.read { try $0.text(of: 7) } }
    withExtendedLifetime(place) {}
  }

  @Test func rekeyReportsForgedHead() throws {
    let (store, place) = try store("same-tag-head")
    let report = try store.rekey(options: .resuming) { _ in }
    #expect(!report.setMatches && !report.isFinished)
    #expect(try store.verify().error?.code == .setMismatch)
    withExtendedLifetime(place) {}
  }

  @Test(arguments: ["same-tag-body", "same-tag-body-active"])
  func copyRejectsForgedText(_ name: String) throws {
    let (store, place) = try store(name)
    expect(.damaged) {
      try store.copy(to: place.file("copy.coffer"), keys: [.published("next")])
    }
    #expect(!FileManager.default.fileExists(atPath: place.file("copy.coffer").path))
  }

  @Test(arguments: ["same-tag-body", "same-tag-body-active"])
  func duplicateRejectsForgedText(_ name: String) throws {
    let (store, place) = try store(name)
    expect(.damaged) { try store.write { try $0.duplicate(name == "same-tag-body" ? 7 : 2) } }
    withExtendedLifetime(place) {}
  }

  @Test func restorationRejectsForgedText() throws {
    let (backup, place) = try store("same-tag-body-active")
    let (store, otherPlace) = try store("same-tag-body-active")
    try store.write { try $0.delete(2) }
    expect(.damaged) { try store.restore([2], from: backup) }
    #expect(try !store.read { try $0.exists(2) })
    withExtendedLifetime((place, otherPlace)) {}
  }

  @Test(arguments: ["same-tag-body", "same-tag-body-active"])
  func otherChangesKeepForgedTextDamaged(_ name: String) throws {
    let (store, place) = try store(name)
    let id: DocumentID = name == "same-tag-body" ? 7 : 2
    // Sealing the document again doesn't approve of the text.
    _ = try? store.write { try $0.update(id) { $0.title = "changed" } }
    _ = try? store.write { try $0.move(id, into: "elsewhere") }
    #expect(try store.verify().damaged.map(\.id).contains(id))
    withExtendedLifetime(place) {}
  }
}
