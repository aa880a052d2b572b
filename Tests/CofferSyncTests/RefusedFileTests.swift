import Coffer
import CofferFoundation
import CofferSyncSimulation
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport
@testable import CofferSync

/// Files of other devices that can't be merged yet, and memories of a folder that are too large.
struct RefusedFileTests {
  private let place: Workplace
  private let laptop: SimulatedDevice
  private let phone: SimulatedDevice

  init() throws {
    place = try Workplace()
    laptop = try SimulatedDevice(first: "laptop", in: place)
    try laptop.write("first")
    try laptop.sync()
    phone = try SimulatedDevice(joining: "phone", by: laptop, in: place)
    try exchange()
  }

  private func carry() {
    phone.folder.merge(laptop.folder)
    laptop.folder.merge(phone.folder)
  }

  private func exchange() throws {
    for _ in 0..<3 {
      for device in [laptop, phone] {
        try device.sync()
        carry()
      }
    }
  }

  private func texts(_ device: SimulatedDevice) throws -> [String] {
    try device.store.read { reader in
      try reader.headers(in: "notes").map { try reader.text(of: $0.id) }.sorted()
    }
  }

  /// The options of an app with a migration that marks all texts.
  private var newer: OpenOptions {
    var options = laptop.options
    options.migrations = [
      Migration("mark") { tx in
        try tx.setIndexes([.words()], of: "notes")
        for header in try tx.headers(in: "notes") { try tx.update(header.id) { $0.text += "!" } }
      }
    ]
    return options
  }

  private func migrate(_ device: SimulatedDevice) throws {
    try device.store.close()
    device.store = try DocumentStore.open(at: device.url, key: .published("primary"), options: newer)
  }

  // MARK: Migrations

  @Test func devicesWithUnmergedFilesMeetAfterMigration() throws {
    try laptop.write("of laptop")
    try phone.write("of phone")
    try laptop.sync()
    try phone.sync()
    try migrate(laptop)
    try migrate(phone)
    carry()
    // The file of the former version can't be merged, but this device's own files go out.
    let report = try laptop.sync()
    #expect(report.problems.map(\.kind) == [.refused] && report.publishedBytes > 0)
    try exchange()
    #expect(try texts(laptop) == ["first!", "of laptop!", "of phone!"])
    #expect(try texts(phone) == texts(laptop))
    #expect(try laptop.sync().problems.isEmpty)
  }

  @Test func olderDeviceWaitsForItsUpdate() throws {
    try migrate(laptop)
    try laptop.write("of laptop")
    try phone.write("of phone")
    try exchange()
    #expect(try texts(phone) == ["first", "of phone"])
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.refused])
    #expect(report.problems[0].advice.contains("newest version of the app"))
    try migrate(phone)
    try exchange()
    #expect(try texts(laptop) == ["first!", "of laptop", "of phone!"])
    #expect(try texts(phone) == texts(laptop))
    #expect(try phone.store.read { try $0.indexes(of: "notes") } == [.words()])
  }

  /// The newer app's snapshot replaces the files that the older app merged.
  @Test func snapshotOfNewerAppIsNotOlderFolder() throws {
    try laptop.write("second")
    try exchange()
    try migrate(laptop)
    try laptop.sync()
    phone.folder.contents = laptop.folder.contents
    #expect(try phone.sync().problems.map(\.kind) == [.refused])
    #expect(try phone.session().status().problems.isEmpty)
    try migrate(phone)
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == texts(laptop))
  }

  @Test(arguments: [false, true])
  func newDeviceJoinsByFilesOfTwoVersions(hasNewerApp: Bool) throws {
    try migrate(phone)
    try phone.write("of phone")
    try phone.sync()
    // A folder with the first snapshot and the migrated device's changes.
    let folder = SimulatedFolder("tablet")
    let session = try phone.session()
    let subfolder = try session.keys.subfolder(of: session.memory.device)
    carry()
    folder.contents = laptop.folder.contents
    let snapshot = try session.keys.name(of: session.memory.last, of: session.memory.device)
    folder.contents[subfolder]![snapshot] = nil
    let tablet = try SimulatedDevice(
      joining: "tablet", by: laptop, folder: folder, in: place, options: hasNewerApp ? newer : nil)
    #expect(try texts(tablet) == [hasNewerApp ? "first!" : "first"])
    if !hasNewerApp { try migrate(tablet) }
    folder.merge(phone.folder)
    try tablet.sync()
    #expect(try texts(tablet) == texts(phone))
    #expect(try tablet.store.read { try $0.indexes(of: "notes") } == [.words()])
  }

  // MARK: Conflicts

  /// Changes one document on both devices, and brings each the other's file.
  private func changeOnBoth() throws {
    for (device, text) in [(laptop, "of laptop"), (phone, "of phone")] {
      try device.store.write { tx in
        let id = try tx.headers(in: "notes")[0].id
        try tx.update(id) { $0.text = text }
      }
      try device.sync()
    }
    carry()
  }

  @Test func policyFailLeavesConflictToPerson() throws {
    try changeOnBoth()
    let report = try phone.sync(.fail)
    #expect(report.problems.map(\.kind) == [.refused])
    #expect(report.taken.map(\.report.isMerged) == [false] && report.taken[0].report.conflicts.count == 1)
    #expect(try texts(phone) == ["of phone"])
    #expect(try phone.sync(.theirs).problems.isEmpty)
    #expect(try texts(phone) == ["of laptop"])
  }

  @Test func tooLargeMergeStopsNoOtherFile() throws {
    for (device, name) in [(laptop, "one"), (phone, "other")] {
      try device.store.write { tx in
        let id = try tx.headers(in: "notes")[0].id
        try tx.update(id) { $0.attributes[name] = .string(String(repeating: "x", count: 600_000)) }
      }
    }
    try exchange()
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.refused])
    try phone.store.write { tx in
      let id = try tx.headers(in: "notes")[0].id
      try tx.update(id) { $0.attributes["other"] = nil }
    }
    try exchange()
    #expect(try phone.sync().problems.isEmpty && laptop.sync().problems.isEmpty)
  }

  /// Both devices make the other version of a conflict, under different IDs.
  @Test func undoOfReturnedDocumentIsRefused() throws {
    try changeOnBoth()
    try laptop.sync()
    try phone.sync()
    func version(_ device: SimulatedDevice) throws -> DocumentID {
      try device.store.read { try $0.headers(in: "notes")[1].id }
    }
    let (here, there) = (try version(laptop), try version(phone))
    try #require(here != there)
    let deleted = try laptop.store.write { try $0.deleteUndoably([here]) }
    try phone.store.write { tx in _ = try tx.update(there) { $0.text += ", edited" } }
    try exchange()
    #expect(try laptop.store.read { try $0.exists(there) && !$0.exists(here) })
    expect(.alreadyExists) { try laptop.store.write { try $0.restore(deleted) } }
    #expect(try laptop.store.verify().isSound)
  }

  // MARK: Files that break rules

  /// Devices count their generations apart, so the generation of a replica can be later than this device's.
  @Test func takesReplicaWithoutCommits() throws {
    for number in 1...40 { try phone.write("\(number)") }
    try addReplicas(1, high: 1, to: phone)
    try exchange()
    #expect(try laptop.sync().problems.isEmpty)
    #expect(try texts(laptop) == texts(phone))
    #expect(try laptop.store.verify().isSound)
  }

  /// Adds replicas that have no commits.
  private func addReplicas(_ count: Int, high: UInt64, to device: SimulatedDevice) throws {
    try device.store.engine.writing { transaction throws(StoreError) in
      let writer = try transaction.writer
      let revision = writer.revision
      try writer.changeReplicas { replicas throws(StoreError) in
        for low in 1...UInt64(count) {
          _ = try replicas.add(Replica(identity: UniqueID(high: high, low: low), counter: 0, range: 0, rose: revision))
        }
      }
      try transaction.commit()
    }
  }

  @Test func fileWithTooManyReplicasStopsNoOtherFile() throws {
    try addReplicas(1, high: 1, to: laptop)
    let known = try phone.store.engine.reading { transaction throws(StoreError) in try transaction.replicas.entries }
    try addReplicas(Replicas.maximumCount - known.count, high: 2, to: phone)
    try phone.write("of phone")
    try phone.sync()
    carry()
    try laptop.write("of laptop")
    let report = try laptop.sync()
    #expect(report.problems.map(\.kind) == [.refused] && report.publishedDocuments == 1)
    #expect(try texts(laptop) == ["first", "of laptop"])
  }

  /// The memory has no room for a copy's line when the laptop sees the copy's file, or a file that tells of it.
  @Test(arguments: [false, true]) func copyWithoutRoomStopsNoOtherFile(isTold: Bool) throws {
    let tablet = try SimulatedDevice(joining: "tablet", by: laptop, in: place)
    laptop.folder.merge(tablet.folder)
    let copy = try SimulatedDevice(cloneOf: phone, name: "copy", in: place.url)
    for (device, reader) in [(phone, laptop), (copy, tablet)] {
      try device.write("of \(device.name)")
      try device.sync()
      reader.folder.merge(device.folder)
      try reader.sync()
    }
    try save { memory in
      while memory.lines.count < SyncMemory.maximumLines {
        let device = try UniqueID.random()
        memory.lines[device] = SyncMemory.Line(device)
      }
    }
    if isTold {
      try tablet.write("of tablet")
      try tablet.sync()
      let subfolder = try subfolder(of: tablet)
      laptop.folder.contents[subfolder] = tablet.folder.contents[subfolder]
    } else {
      laptop.folder.merge(copy.folder)
    }
    try laptop.write("of laptop")
    let report = try laptop.sync()
    #expect(report.problems.map(\.kind) == [.refused] && report.problems[0].label == (isTold ? "tablet" : "phone"))
    #expect(report.publishedDocuments == 1)
    #expect(try texts(laptop) == ["first", "of laptop", "of phone"])
  }

  /// A commit of a replica that no store has.
  private static let unknown = Dot(replica: UInt32(Replicas.maximumCount) - 1, counter: 1)

  /// Changes the dots of a device's document, as only a key holder can.
  private func forge(
    in device: SimulatedDevice, at index: Int = 0, _ change: (inout DocumentDots) -> Void
  ) throws {
    try device.store.write { tx in
      let id = try tx.headers(in: "notes")[index].id
      let writer = try tx.transaction.writer
      let stamp = writer.dot
      try writer.rewrite(id, changing: [], [], as: .head) { content, _ throws(StoreError) in
        content.history.change { dots in
          dots.stamp = stamp
          change(&dots)
        }
      }
    }
  }

  @Test func fileWithUnknownCommitStopsNoOtherFile() throws {
    try forge(in: phone) { $0.text = Self.unknown }
    try phone.sync()
    carry()
    try laptop.write("of laptop")
    let report = try laptop.sync()
    #expect(report.problems.map(\.kind) == [.damaged] && report.publishedDocuments == 1)
    #expect(try texts(laptop) == ["first", "of laptop"])
  }

  @Test func documentWithUnknownCommitIsNotPublished() throws {
    try forge(in: phone) { $0.stamp = Self.unknown }
    expect(.setMismatch) { try phone.sync() }
  }

  @Test func statusRefusesUnknownCommitOfConflict() throws {
    try changeOnBoth()
    try laptop.sync()
    #expect(try laptop.session().status().otherVersions.count == 1)
    try forge(in: laptop, at: 1) { $0.text = Self.unknown }
    expect(.setMismatch) { try laptop.session().status() }
  }

  // MARK: Files that can't be read

  /// The name of a device's subfolder.
  private func subfolder(of device: SimulatedDevice) throws -> String {
    let session = try device.session()
    return try session.keys.subfolder(of: session.memory.device)
  }

  @Test func foldersOfOthersStopNoExchange() throws {
    try laptop.write("of laptop")
    try laptop.sync()
    carry()
    let other = String(repeating: "a", count: 32)
    for name in ["lost+found", other] { phone.folder.contents[name] = [:] }
    phone.folder.unreadable = ["lost+found", other]
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.waiting] && report.problems[0].path == "phone/\(other)")
    #expect(try phone.session().status().problems == report.problems)
    #expect(try texts(phone) == ["first", "of laptop"])
  }

  @Test func unreadableFilesOfNewDeviceAreWaitedFor() throws {
    let tablet = try SimulatedDevice(joining: "tablet", by: laptop, in: place)
    let folder = tablet.folder
    try tablet.write("of tablet")
    try tablet.sync()
    phone.folder.merge(folder)
    let subfolder = try subfolder(of: tablet)
    let paths = try #require(folder.contents[subfolder]).keys.map { "\(subfolder)/\($0)" }
    phone.folder.unreadable = Set(paths)
    try phone.write("of phone")
    let report = try phone.sync()
    #expect(report.problems.allSatisfy { $0.kind == .waiting })
    #expect(report.problems.map(\.path).sorted() == paths.map { "phone/\($0)" }.sorted())
    #expect(report.publishedDocuments == 1)
    phone.folder.unreadable = []
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "of phone", "of tablet"])
  }

  @Test func unreadableSubfolderOfKnownDeviceIsWaitedFor() throws {
    try laptop.write("of laptop")
    try laptop.sync()
    carry()
    let subfolder = try subfolder(of: laptop)
    phone.folder.unreadable = [subfolder]
    try phone.write("of phone")
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.waiting] && report.problems[0].path == "phone/\(subfolder)")
    #expect(report.problems[0].label == "laptop" && report.publishedDocuments == 1)
    phone.folder.unreadable = []
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "of laptop", "of phone"])
  }

  @Test func unreadableFilesOfRemovedDeviceStopNoExchange() throws {
    let subfolder = try subfolder(of: phone)
    _ = try laptop.session().remove(phone.session().status().devices[0].id)
    laptop.folder.unreadable = [subfolder]
    try laptop.write("of laptop")
    let report = try laptop.sync()
    #expect(report.problems.map(\.kind) == [.waiting] && report.publishedDocuments == 1)
    #expect(try laptop.session().status().problems == report.problems)
  }

  // MARK: The memory

  private func save(_ change: (inout SyncMemory) throws -> Void) throws {
    let session = try laptop.session()
    try change(&session.memory)
    try session.saveMemory()
  }

  @Test func memoryHasRoomForAllDevicesAndDebts() throws {
    try save { memory in
      while memory.lines.count < SyncMemory.maximumLines {
        var line = SyncMemory.Line(try UniqueID.random())
        line.label = String(repeating: "l", count: SyncMemory.labels.upperBound)
        for number in 1...UInt64(SyncMemory.maximumPublications) {
          line.append(SyncMemory.File(sequence: number << 40), counter: .max >> 8)
        }
        memory.lines[line.device] = line
      }
      for _ in 0..<SyncMemory.maximumDebts {
        memory.owed.insert(try UniqueID.random())
        memory.wanted.insert(try UniqueID.random())
      }
      memory.asked = memory.wanted
    }
    #expect(try laptop.session().memory.lines.count == SyncMemory.maximumLines)
    #expect(try laptop.store.verify().isSound)
  }

  /// A device with the folder's secret asks for attachments in a file that the laptop includes already.
  @Test func requestForTooManyAttachmentsBecomesSnapshot() throws {
    let asking = try phone.session()
    for _ in 0...SyncMemory.maximumDebts { asking.memory.wanted.insert(try UniqueID.random()) }
    try asking.publish(.changes, even: true)
    carry()
    try laptop.sync()
    let session = try laptop.session()
    session.memory.lines[asking.memory.device]!.publications.removeLast()
    try session.takeAll()
    #expect(session.memory.lines[asking.memory.device]!.file == asking.memory.last)
    #expect(session.memory.owed.isEmpty && session.memory.owesSnapshot)
  }

  @Test func tooLargeMemoryIsRefused() throws {
    expect(.tooLarge) {
      try save { memory in
        while memory.lines.count <= SyncMemory.maximumLines {
          let device = try UniqueID.random()
          memory.lines[device] = SyncMemory.Line(device)
        }
      }
    }
    expect(.tooLarge) {
      try save { memory in
        for _ in 0..<1 << 17 { memory.wanted.insert(try UniqueID.random()) }
      }
    }
    #expect(try laptop.store.verify().isSound)
    try laptop.write("second")
    #expect(try laptop.sync().publishedDocuments == 1)
  }

  @Test func emptyingStoreThatSyncsIsRefused() throws {
    try laptop.store.close()
    expect(.invalidArgument) {
      try DocumentStore.open(
        at: laptop.url, key: .published("primary"), startingAfresh: true, options: laptop.options)
    }
    laptop.store = try DocumentStore.open(at: laptop.url, key: .published("primary"), options: laptop.options)
    #expect(try texts(laptop) == ["first"])
  }
}
