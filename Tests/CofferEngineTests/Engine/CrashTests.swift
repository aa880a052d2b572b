import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Copies of all files, which simulate a killed process and must open with the last commit.
struct CrashTests {
  /// Copies the files on disk to another folder.
  private func snapshot(_ test: TestStore) throws -> (place: Workplace, url: URL) {
    let place = try Workplace()
    for suffix in ["", "-journal", "-wal"] {
      let file = test.place.file("test.coffer" + suffix)
      guard FileManager.default.fileExists(atPath: file.path) else { continue }
      _ = try place.copy(file)
    }
    return (place, place.file("test.coffer"))
  }

  private func expectSame(
    _ copy: (place: Workplace, url: URL), as wanted: [String: [SeenDocument]], anchor: StoreAnchor,
    key: String = "primary", location: SourceLocation = #_sourceLocation
  ) throws {
    let store = try DocumentStore.open(at: copy.url, key: .published(key), options: .testing)
    #expect(try store.everything() == wanted, sourceLocation: location)
    #expect(try store.anchor() == anchor, sourceLocation: location)
    #expect(try store.verify().isSound, sourceLocation: location)
    // The store accepts further writes.
    try store.write { try $0.insert(Document(text: "after"), into: DocumentCollection("notes")) }
    #expect(try store.verify().isSound, sourceLocation: location)
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      for number in 0..<40 {
        try writer.insert(
          Document(title: "\(number)", text: String(repeating: "\(number)", count: 900), key: DocumentKey("\(number)")),
          into: test.notes)
      }
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func rollsBackUnfinishedWrite(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try fill(test)
    let (before, anchor) = (try test.store.everything(), try test.store.anchor())
    try test.store.write { writer in
      for id in 1...20 { try writer.update(DocumentID(id)) { $0.text += "changed" } }
      for id in 21...30 { try writer.delete(DocumentID(id)) }
      // Pages evicted from the cache are written to the file before the commit.
      try writer.transaction.database.connection.spillEarly()
      for id in 31...40 { try writer.update(DocumentID(id)) { $0.text = String(repeating: "y", count: 50_000) } }
      try expectSame(snapshot(test), as: before, anchor: anchor)
    }
    let after = try test.store.everything()
    #expect(after["notes"]?.count == 30)
    try expectSame(snapshot(test), as: after, anchor: try test.store.anchor())
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func killedRekeyKeepsAllDocuments(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try fill(test)
    let before = try test.store.everything()
    var options = RekeyOptions()
    options.batchSize = 9
    var copies: [(copy: (place: Workplace, url: URL), phase: WorkProgress.Phase)] = []
    try test.store.rekey(to: [.published("next")], options: options) { step in
      copies.append((try snapshot(test), step.phase))
    }
    #expect(copies.count == 8)
    options.isResuming = true
    for (copy, phase) in copies {
      let key: StoreKey = .published(phase == .beginning ? "primary" : "next")
      let store = try DocumentStore.open(at: copy.url, key: key, options: .testing)
      #expect(try store.everything() == before)
      #expect(try store.verify().isSound)
      guard phase != .beginning else { continue }
      #expect(try store.rekey(options: options) { _ in }.isFinished)
      #expect(try store.everything() == before)
      #expect(try store.rekeyStatus().epochs == [2])
    }
  }
}
