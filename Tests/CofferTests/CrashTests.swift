import CofferSQLite
import Foundation
import Testing

@testable import Coffer

/// A copy of all files, taken at any moment, is what a killed process would leave: it opens as it was committed last.
struct CrashTests {
  /// What stands on disk now, as another store.
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
    _ copy: (place: Workplace, url: URL), as wanted: [String: [StoredDocument]], anchor: String,
    key: String = "primary", location: SourceLocation = #_sourceLocation
  ) throws {
    let store = try DocumentStore.open(at: copy.url, key: .published(key), options: .testing)
    #expect(try store.everything() == wanted, sourceLocation: location)
    #expect(try store.anchor() == anchor, sourceLocation: location)
    #expect(try store.verify().isSound, sourceLocation: location)
    // And it goes on from there.
    try store.write { try $0.insert(Document(text: "after"), into: DocumentCollection("notes")) }
    #expect(try store.verify().isSound, sourceLocation: location)
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      for number in 0..<40 {
        try writer.insert(
          Document(title: "\(number)", text: String(repeating: "\(number)", count: 900), key: ExternalKey("\(number)")),
          into: test.notes)
      }
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func unfinishedWriteIsUndone(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try fill(test)
    let (before, anchor) = (try test.store.everything(), try test.store.anchor())
    try test.store.write { writer in
      for id in 1...20 { try writer.update(DocumentID(Int64(id))) { $0.text += "changed" } }
      for id in 21...30 { try writer.delete(DocumentID(Int64(id))) }
      // Pages that leave the cache go into the file before the commit.
      try writer.transaction.database.execute("PRAGMA cache_size = 2; PRAGMA cache_spill = 2")
      for id in 31...40 { try writer.update(DocumentID(Int64(id))) { $0.text = String(repeating: "y", count: 50_000) } }
      try expectSame(snapshot(test), as: before, anchor: anchor)
    }
    let after = try test.store.everything()
    #expect(after["notes"]?.count == 30)
    try expectSame(snapshot(test), as: after, anchor: try test.store.anchor())
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func killAtAnyStepOfARekeyLosesNothing(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try fill(test)
    let before = try test.store.everything()
    var options = RekeyOptions()
    options.batchSize = 9
    var copies: [(copy: (place: Workplace, url: URL), phase: RekeyProgress.Phase)] = []
    try test.store.rekey(to: [.published("next")], options: options) { step in
      copies.append((try snapshot(test), step.phase))
    }
    #expect(copies.count == 8)
    options.isResuming = true
    for (copy, phase) in copies {
      let key: StoreKey = .published(phase == .keys ? "primary" : "next")
      let store = try DocumentStore.open(at: copy.url, key: key, options: .testing)
      #expect(try store.everything() == before)
      #expect(try store.verify().isSound)
      guard phase != .keys else { continue }
      #expect(try store.rekey(options: options) { _ in }.isFinished)
      #expect(try store.everything() == before)
      #expect(try store.rekeyStatus().epochs == [2])
    }
  }
}

/// A file system of a few pages, and one that can't be written.
@Suite(.enabled(if: SmallDisk.isPossible, "no file system can be mounted here"), .serialized)
struct DiskTests {
  @Test func fullDiskIsSaidAndTheStoreIsAsItWas() throws {
    let disk = try SmallDisk(kilobytes: 512)
    let notes = DocumentCollection("notes")
    let store = try DocumentStore.create(
      at: disk.url.appending(path: "full.coffer"), keys: [.published("primary")], options: .testing)
    try store.write { try $0.insert(Document(title: "kept", text: "kept"), into: notes) }
    let anchor = try store.anchor()
    expect(.diskFull) {
      try store.write { writer in
        for _ in 0..<40 { try writer.insert(Document(text: String(repeating: "x", count: 50_000)), into: notes) }
      }
    }
    #expect(try store.checkAnchor(anchor) == .same)
    #expect(try store.titles(in: notes) == ["kept"])
    #expect(try store.verify().isSound)
    expect(.diskFull) {
      try store.write {
        let items = (0..<40).map { _ in ListSource.Item(text: String(repeating: "x", count: 50_000)) }
        _ = try $0.insert(contentsOf: ListSource(items), into: nil)
      }
    }
    try store.write { try $0.insert(Document(title: "small", text: ""), into: notes) }
    #expect(try store.titles(in: notes) == ["kept", "small"])
    #expect(try store.verify().isSound)
  }

  @Test func storeThatFindsNoRoomLeavesNothing() throws {
    let disk = try SmallDisk(kilobytes: 16)
    #expect(throws: StoreError.self) {
      try DocumentStore.create(
        at: disk.url.appending(path: "none.coffer"), keys: [.published("primary")], options: .testing)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.url.path) == [])
  }

  @Test func readOnlyPlaceIsReadAndNotWritten() throws {
    let disk = try SmallDisk(kilobytes: 512)
    let url = disk.url.appending(path: "ro.coffer")
    let notes = DocumentCollection("notes")
    let made = try DocumentStore.create(at: url, keys: [.published("primary")], options: .testing)
    try made.write { try $0.insert(Document(title: "t", text: "x"), into: notes) }
    try made.close()
    try disk.makeReadOnly()
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(store.isReadOnly)
    #expect(try store.titles(in: notes) == ["t"])
    #expect(try store.verify().isSound)
    expect(.readOnly) { try store.write { try $0.insert(Document(text: ""), into: notes) } }
    expect(.readOnly) { try store.rekey { _ in } }
    #expect(throws: StoreError.self) {
      try DocumentStore.create(
        at: disk.url.appending(path: "new.coffer"), keys: [.published("primary")], options: .testing)
    }
    try store.close()
  }

  @Test func killedWritersJournalInAReadOnlyPlaceIsNamed() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for _ in 0..<20 { try writer.insert(Document(text: String(repeating: "x", count: 5000)), into: test.notes) }
    }
    let disk = try SmallDisk(kilobytes: 2048)
    try test.store.write { writer in
      try writer.transaction.database.execute("PRAGMA cache_size = 2; PRAGMA cache_spill = 2")
      for id in 1...20 { try writer.update(DocumentID(Int64(id))) { $0.text += "y" } }
      for name in ["test.coffer", "test.coffer-journal"] {
        try FileManager.default.copyItem(at: test.place.file(name), to: disk.url.appending(path: name))
      }
    }
    try disk.makeReadOnly()
    do {
      _ = try DocumentStore.open(
        at: disk.url.appending(path: "test.coffer"), key: .published("primary"), options: .testing)
      Issue.record("opened without its journal")
    } catch {
      #expect(error.code == .damaged && error.hint?.contains("-journal") == true, "\(error)")
    }
  }
}

/// A file system in memory, of a given size, that goes with its last user.
final class SmallDisk {
  private let place: Workplace
  let url: URL

  static let isPossible: Bool = (try? SmallDisk(kilobytes: 64)) != nil

  init(kilobytes: Int) throws {
    place = try Workplace()
    url = place.file("disk")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    try Self.run(["mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "none", url.path])
  }

  deinit {
    try? Self.run(["umount", url.path])
  }

  func makeReadOnly() throws {
    try Self.run(["mount", "-o", "remount,ro", url.path])
  }

  private static func run(_ command: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Interruption() }
  }
}
