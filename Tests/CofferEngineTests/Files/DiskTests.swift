import Coffer
import CofferPlatform
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A very small file system, and a read-only file system.
@Suite(.enabled(if: SmallDisk.isPossible, "no file system can be mounted here"), .serialized)
struct DiskTests {
  @Test func fullDiskLeavesStoreUnchanged() throws {
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
    #expect(try store.relation(to: anchor) == .same)
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

  @Test func fullDiskRemovesPartialKeyFile() throws {
    let disk = try SmallDisk(kilobytes: 64)
    // Fills the disk.
    let ballast = open(disk.url.appending(path: "ballast").path, O_WRONLY | O_CREAT, 0o600)
    let page = [UInt8](repeating: 1, count: 4096)
    while CofferPlatform.write(ballast, page, page.count) > 0 {}
    close(ballast)
    let file = disk.url.appending(path: "my.key")
    expect(.diskFull) { try StoreKey.generate(at: file) }
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test func reportsKeyChangeWhenRekeyFillsDisk() throws {
    let disk = try SmallDisk(kilobytes: 1024)
    let url = disk.url.appending(path: "full.coffer")
    let store = try DocumentStore.create(at: url, keys: [.published("primary")], options: .testing)
    try store.write { writer in
      for _ in 0..<12 {
        try writer.insert(Document(text: String(repeating: "x", count: 50_000)), into: DocumentCollection("notes"))
      }
    }
    do {
      try store.rekey(to: [.published("next")]) { _ in }
      Issue.record("re-encrypted without room")
    } catch {
      #expect(error.code == .diskFull)
      #expect(error.message.hasPrefix("the key was changed") && error.hint?.contains("isResuming") == true)
    }
    try store.close()
    expect(.cannotUnlock) { try DocumentStore.open(at: url, key: .published("primary"), options: .testing) }
    let again = try DocumentStore.open(at: url, key: .published("next"), options: .testing)
    #expect(try again.rekeyStatus().remaining == 12)
    #expect(try again.verify().isSound)
  }

  @Test func rejectsWALStoreOnReadOnlyDisk() throws {
    let disk = try SmallDisk(kilobytes: 512)
    let url = disk.url.appending(path: "wal.coffer")
    var creation = CreateOptions()
    creation.journal = .writeAheadLog
    try DocumentStore.create(at: url, keys: [.published("primary")], creation: creation, options: .testing).close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.url.path) == ["wal.coffer"])
    try disk.makeReadOnly()
    do {
      _ = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      Issue.record("opened without its log")
    } catch {
      #expect(error.code == .readOnly && error.message.contains("write-ahead log"), "\(error)")
    }
  }

  @Test func fullDiskRemovesPartialStore() throws {
    let disk = try SmallDisk(kilobytes: 16)
    #expect(throws: StoreError.self) {
      try DocumentStore.create(
        at: disk.url.appending(path: "none.coffer"), keys: [.published("primary")], options: .testing)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.url.path) == [])
  }

  @Test func readsStoreOnReadOnlyDisk() throws {
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

  @Test func reportsHotJournalOnReadOnlyDisk() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for _ in 0..<20 { try writer.insert(Document(text: String(repeating: "x", count: 5000)), into: test.notes) }
    }
    let disk = try SmallDisk(kilobytes: 2048)
    try test.store.write { writer in
      try writer.transaction.database.connection.spillEarly()
      for id in 1...20 { try writer.update(DocumentID(id)) { $0.text += "y" } }
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
