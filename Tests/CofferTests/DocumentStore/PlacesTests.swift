import CofferEngine
import Foundation
import Testing

@testable import Coffer
@testable import CofferStoreTestSupport

/// Default store locations, opening results and formatted byte counts.
struct PlacesTests {
  @Test func createsFoldersForDefaultLocation() throws {
    let place = try Workplace()
    let url = try DocumentStore.location(named: "my-app/notes", in: place.file("data"))
    #expect(url.path == place.file("data").path + "/my-app/notes.coffer")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("data/my-app").path).isEmpty)
    let mode = try FileManager.default.attributesOfItem(atPath: place.file("data").path)[.posixPermissions] as? Int
    #expect(mode == 0o700)
    #expect(try DocumentStore.location(named: "old.sqlite", in: place.file("data")).lastPathComponent == "old.sqlite")
  }

  @Test(arguments: ["", "/etc/x", "../x", "a/../b", "a//b", ".", "a/"])
  func rejectsNamesOutsideFolder(name: String) throws {
    let place = try Workplace()
    expect(.invalidArgument) { try DocumentStore.location(named: name, in: place.file("data")) }
  }

  @Test func formatsByteCounts() {
    // The old wgIo printed 1.9 MB as 1.00.
    let expected: [(Int64, String)] = [
      (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (1_900_000, "1.9 MB"), (1_949_999, "1.9 MB"),
      (1_950_000, "2.0 MB"), (9_949, "9.9 kB"), (9_950, "10 kB"), (81_920, "82 kB"), (999_499, "999 kB"),
      (999_500, "1.0 MB"), (12_345_678_901, "12 GB"), (.max, "9.2 EB"), (-1_500, "-1.5 kB"), (-1, "-1 byte"),
    ]
    for (bytes, words) in expected { #expect(ByteCount(bytes).description == words) }
  }

  @Test func reportsWhetherOpeningCreatedStore() throws {
    let place = try Workplace()
    let url = place.file("s.coffer")
    var options = OpenOptions.testing
    options.creation.isTest = true
    let made = try DocumentStore.open(
      at: url, key: .published("primary"), creatingIfMissing: true, options: options)
    #expect(made.opening == .created)
    try made.close()
    let again = try DocumentStore.open(
      at: url, key: .published("primary"), creatingIfMissing: true, options: options)
    #expect(again.opening == .opened)
    try again.close()
  }

  @Test func startingAfreshEmptiesStore() throws {
    let test = try TestStore()
    try test.store.write { writer in
      let id = try writer.insert(Document(text: "a", key: "k"), into: test.notes)
      try writer.insert(Document(text: "b", parent: id), into: test.notes)
      try writer.create(DocumentCollection("empty"))
    }
    let (identity, generation) = (test.store.storeID, try test.store.read { $0.generation })
    try test.store.close()
    let key = StoreKey.published("primary")
    let fresh = try DocumentStore.open(at: test.url, key: key, startingAfresh: true, options: .testing)
    #expect(fresh.opening == .reset && fresh.storeID == identity)
    #expect(try fresh.read { try $0.collections() }.isEmpty)
    #expect(try fresh.read { $0.documentCount } == 0)
    #expect(try fresh.read { $0.generation } == generation + 1)
    #expect(try fresh.write { try $0.insert(Document(text: "c", key: "k"), into: test.notes) } == 1)
    #expect(try fresh.verify().isSound)
    try fresh.close()
  }

  @Test func startingAfreshRequiresWritableStore() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "a"), into: test.notes) }
    let before = try test.bytesOnDisk()
    var options = OpenOptions.testing
    options.isReadOnly = true
    let key = StoreKey.published("primary")
    expect(.readOnly) {
      try DocumentStore.open(at: test.url, key: key, startingAfresh: true, options: options)
    }
    expect(.cannotUnlock) {
      try DocumentStore.open(at: test.url, key: .published("next"), startingAfresh: true, options: .testing)
    }
    #expect(try test.bytesOnDisk() == before)
    let missing = test.place.file("missing.coffer")
    options = .testing
    options.creation.isTest = true
    expect(.noSuchFile) { try DocumentStore.open(at: missing, key: key, startingAfresh: true, options: options) }
    let made = try DocumentStore.open(
      at: missing, key: key, creatingIfMissing: true, startingAfresh: true, options: options)
    #expect(made.opening == .created)
    try made.close()
  }
}
