import Coffer
import CofferFoundation
import CofferSyncSimulation
import CofferTestSupport
import Testing

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport
@testable import CofferSync

/// Stores that are made from a snapshot, and have what the device that made it has.
struct JoiningTests {
  private let place: Workplace
  private let laptop: SimulatedDevice

  init() throws {
    place = try Workplace()
    laptop = try SimulatedDevice(first: "laptop", in: place)
  }

  /// Makes a store from a device's folder.
  private func join(
    _ name: String, by device: SimulatedDevice, options: OpenOptions? = nil
  ) throws -> SimulatedDevice {
    try SimulatedDevice(joining: name, by: device, in: place, options: options)
  }

  /// Everything that people see of a store.
  private func contents(_ device: SimulatedDevice) throws -> [String] {
    try device.store.read { reader in
      var lines: [String] = []
      for collection in try reader.collections() {
        lines.append(collection.name)
        for header in try reader.headers(in: DocumentCollection(collection.name)) {
          lines.append("\(header) \(try reader.text(of: header.id))")
          for attachment in try reader.attachments(of: header.id) {
            lines.append("\(attachment.name) \(attachment.date) \(attachment.sha256)")
          }
        }
      }
      return lines
    }
  }

  @Test func keepsParentsKeysAndAttachments() throws {
    let ids = try laptop.store.write { tx in
      let ids = try (0..<40).map { number in
        try tx.insert(
          Document(title: "note \(number)", text: "text \(number)", key: DocumentKey("key \(number)")), into: "notes")
      }
      for (child, parent) in [(3, 30), (30, 31), (5, 4)] { try tx.setParent(of: ids[child], to: ids[parent]) }
      try tx.attach([UInt8](repeating: 7, count: 300_000), to: ids[2], name: "picture", type: "image/png")
      try tx.attach([1, 2, 3], to: ids[2], name: "small")
      try tx.delete(ids[39])
      return ids
    }
    try laptop.store.write { tx in
      try tx.insert(Document(text: "in a dropped collection"), into: "old")
      try tx.drop("old")
    }
    try laptop.sync()
    let phone = try join("phone", by: laptop)
    #expect(try contents(phone) == contents(laptop))
    #expect(try phone.store.verify().isSound)
    // The deletion came, too.
    try laptop.store.write { tx in _ = try tx.update(ids[0]) { $0.text = "changed" } }
    try laptop.sync()
    phone.folder.contents.merge(laptop.folder.contents) { $1 }
    try phone.sync()
    #expect(try contents(phone) == contents(laptop))
  }

  /// Two devices give two documents one key, and make each of two documents the other's parent.
  @Test func settlesSharedKeysAndCyclesAsMergeDoes() throws {
    let ids = try laptop.store.write { tx in
      try (0..<4).map { try tx.insert(Document(title: "\($0)", text: "text"), into: "notes") }
    }
    try laptop.sync()
    let phone = try join("phone", by: laptop)
    for (device, child, parent) in [(laptop, ids[0], ids[3]), (phone, ids[3], ids[0])] {
      try device.store.write { tx in
        try tx.setParent(of: child, to: parent)
        try tx.insert(Document(title: device.name, text: "new", key: "same"), into: "notes")
      }
      try device.sync()
    }
    for device in [laptop, phone, laptop] {
      for other in [laptop, phone] {
        for (name, files) in other.folder.contents {
          device.folder.contents[name, default: [:]].merge(files) { $1 }
        }
      }
      try device.sync()
    }
    #expect(try contents(phone) == contents(laptop))
    let session = try laptop.session()
    try session.publishSnapshot()
    let tablet = try join("tablet", by: laptop)
    #expect(try contents(tablet) == contents(laptop))
    #expect(try tablet.store.verify().isSound)
    let keys = try tablet.store.read { try $0.headers(in: "notes").filter { $0.key != nil }.count }
    #expect(keys == 1)
  }

  @Test func filesOfOthersStopNoJoining() throws {
    try laptop.store.write { try $0.insert(Document(text: "first"), into: "notes") }
    try laptop.sync()
    let folder = SimulatedFolder("phone")
    folder.contents = laptop.folder.contents
    let (other, file) = (String(repeating: "a", count: 32), String(repeating: "b", count: 40))
    folder.contents["lost+found"] = [:]
    folder.contents[other] = [file: []]
    folder.unreadable = ["lost+found", "\(other)/\(file)"]
    func joined() throws -> SimulatedDevice {
      try SimulatedDevice(joining: "phone", by: laptop, folder: folder, in: place)
    }
    for subfolder in laptop.folder.contents.keys { folder.unreadable.insert(subfolder) }
    expect(.readOnly) { try joined() }
    for subfolder in laptop.folder.contents.keys { folder.unreadable.remove(subfolder) }
    #expect(try contents(joined()) == contents(laptop))
  }

  @Test func takesOverMigrations() throws {
    var newer = OpenOptions.simulated
    newer.migrations = [Migration(name: "one") { _ in }]
    let first = try SimulatedDevice(first: "newer", in: place, options: newer)
    try first.store.write { try $0.insert(Document(text: "first"), into: "notes") }
    try first.sync()
    #expect(try contents(join("same", by: first)) == contents(first))
    var older = OpenOptions.simulated
    older.migrations = []
    #expect { try join("older", by: first, options: older) } throws: { error in
      (error as? StoreError)?.code == .otherFormat
    }
    #expect(!FileManager.default.fileExists(atPath: place.file("older.coffer").path))
  }

  /// The options of an app's versions from 0 to 2.
  private func options(version: Int) -> OpenOptions {
    var options = OpenOptions.simulated
    let migrations = [
      Migration("fields") { tx in
        try tx.setIndexes([.field("date", "$.date", as: .text), .words()], of: "notes")
        try tx.insert(Document(text: "welcome", key: "welcome"), into: "notes")
      },
      Migration("archive") { tx in
        try tx.setIndexes([.titles], of: "archive")
        for header in try tx.headers(in: "old") { try tx.move(header.id, into: "archive") }
      },
    ]
    options.migrations = Array(migrations.prefix(version))
    return options
  }

  @Test func buildsIndexesOfMigrations() throws {
    let first = try SimulatedDevice(first: "first", in: place, options: options(version: 0))
    // The collections have other numbers than in a new store.
    try first.store.write { tx in
      try tx.insert(Document(text: "other"), into: "old")
      try tx.insert(Document(text: #"{"date":"2024"}"#, isJSON: true), into: "notes")
    }
    try first.store.close()
    first.store = try DocumentStore.open(
      at: first.url, key: .published("primary"), options: options(version: 1))
    try first.sync()
    for version in [1, 2] {
      let second = try join("version \(version)", by: first, options: options(version: version))
      for store in [first.store, second.store] {
        #expect(try store.read { try $0.query("SELECT id FROM notes WHERE date = '2024'").rows.count } == 1)
        #expect(try store.read { try $0.search(ranked: "welcome", in: "notes").total } == 1)
      }
      #expect(try second.store.read { try $0.indexes(of: "archive") } == (version == 1 ? [] : [.titles]))
      #expect(try second.store.verify(.full).isSound)
      if version == 1 { #expect(try contents(second) == contents(first)) }
    }
  }

  @Test func failedMigrationStopsJoining() throws {
    var newer = OpenOptions.simulated
    newer.migrations = [Migration(name: "one") { _ in }]
    let first = try SimulatedDevice(first: "first", in: place, options: newer)
    try first.sync()
    newer.migrations = [Migration("one") { tx in _ = try tx.text(of: 1000) }]
    expect(.noSuchDocument) { try join("second", by: first, options: newer) }
    #expect(!FileManager.default.fileExists(atPath: place.file("second.coffer").path))
  }

  @Test func rejectsSnapshotWithChangedBytes() throws {
    try laptop.store.write { tx in
      for number in 0..<200 {
        try tx.insert(Document(text: String(repeating: "text \(number) ", count: 100)), into: "notes")
      }
    }
    try laptop.sync()
    let (subfolder, files) = laptop.folder.contents.first!
    let (name, whole) = files.max { $0.value.count < $1.value.count }!
    for index in stride(from: 200, to: whole.count, by: whole.count / 9) {
      laptop.folder.contents[subfolder]![name]![index] ^= 1
      #expect("byte \(index)") {
        try join("phone", by: laptop)
      } throws: { error in
        (error as? StoreError)?.code == .damaged
      }
      #expect(!FileManager.default.fileExists(atPath: place.file("phone.coffer").path))
      laptop.folder.contents[subfolder]![name]![index] ^= 1
    }
    #expect(try contents(join("phone", by: laptop)) == contents(laptop))
  }
}
