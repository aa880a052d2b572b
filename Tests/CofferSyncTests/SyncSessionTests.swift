import Coffer
import CofferFoundation
import CofferSQLite
import CofferSyncSimulation
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferRecords
@testable import CofferStoreTestSupport
@testable import CofferSync

/// Two devices that exchange files, and what their runs report about the folder.
struct SyncSessionTests {
  private let place: Workplace
  private let laptop: SimulatedDevice
  private let phone: SimulatedDevice

  init() throws {
    place = try Workplace()
    laptop = try SimulatedDevice(first: "laptop", in: place)
    try laptop.write("first")
    try laptop.sync()
    phone = try SimulatedDevice(joining: "phone", by: laptop, in: place)
  }

  /// Copies all files both ways.
  private func carry() {
    phone.folder.merge(laptop.folder)
    laptop.folder.merge(phone.folder)
  }

  /// The names of a device's last files, from the first on if it has few.
  private func files(of device: SimulatedDevice) throws -> (subfolder: String, names: [String]) {
    let session = try device.session()
    let uid = session.memory.device
    let files = session.memory.own.publications.map(\.file).filter { $0.sequence > 0 }
    return (try session.keys.subfolder(of: uid), try files.map { try session.keys.name(of: $0, of: uid) })
  }

  @Test func joiningBringsAllDocuments() throws {
    #expect(try texts(phone) == ["first"])
    #expect(try phone.store.verify().isSound)
    let ids = try phone.store.write { try $0.insert(Document(text: "second"), into: "notes").rawValue }
    #expect(ids >= 1 << 40)
  }

  @Test func runsBringChangesBothWays() throws {
    try laptop.write("from laptop")
    try phone.write("from phone")
    #expect(try laptop.sync().publishedDocuments == 1)
    #expect(try phone.sync().publishedDocuments == 1)
    carry()
    #expect(try laptop.sync().taken.count == 2)
    let report = try phone.sync()
    #expect(report.taken.map(\.label) == ["laptop"])
    #expect(try texts(laptop) == ["first", "from laptop", "from phone"])
    #expect(try texts(phone) == texts(laptop))
  }

  @Test func runWithoutNewsWritesNothing() throws {
    carry()
    try laptop.sync()
    let (files, generation) = (laptop.folder.contents, try laptop.store.anchor())
    #expect(try laptop.sync() == FolderSyncReport())
    #expect(laptop.folder.contents == files)
    #expect(try laptop.store.anchor() == generation)
  }

  @Test func concurrentTextsStayBesideEachOther() throws {
    let id = try laptop.store.read { try $0.headers(in: "notes")[0].id }
    for device in [laptop, phone] {
      try device.store.write { tx in _ = try tx.update(id) { $0.text = "of \(device.name)" } }
      try device.sync()
    }
    carry()
    for device in [laptop, phone, laptop] {
      try device.sync()
      carry()
    }
    #expect(try texts(laptop) == ["of laptop", "of phone"])
    #expect(try texts(phone) == ["of laptop", "of phone"])
  }

  @Test func statusListsDevicesAndUnpublishedChanges() throws {
    #expect(try laptop.session().status().hasUnpublishedChanges == false)
    try laptop.write("second")
    #expect(try laptop.session().status().hasUnpublishedChanges)
    try phone.write("third")
    try phone.sync()
    carry()
    try laptop.sync()
    let status = try laptop.session().status()
    #expect(status.devices.map(\.isThisStore) == [true, false] && !status.hasUnpublishedChanges)
    #expect(status.devices.allSatisfy { $0.lastDate != nil })
  }

  @Test func statusListsOtherVersions() throws {
    let id = try laptop.store.read { try $0.headers(in: "notes")[0].id }
    #expect(try laptop.session().status().otherVersions.isEmpty)
    // A document that somebody else put behind the other one isn't another version.
    let behind = try laptop.store.read { try $0.header(of: id).position.bytes } + [0x80, 1, 2, 3, 0x80]
    let position = try #require(DocumentPosition(behind))
    try laptop.store.write { tx in
      let transaction = tx.transaction
      let notes = try #require(try transaction.collections().first { $0.name == "notes" })
      let id = try DocumentID.next(transaction.state.nextID, unless: nil)
      try transaction.writer.insert(
        Document(text: "behind"), id: id, in: notes, isNew: false, position: position, now: .now())
    }
    for _ in 0..<2 {
      for device in [laptop, phone] {
        try device.store.write { tx in _ = try tx.update(id) { $0.text = "\(UUID())" } }
        try device.sync()
      }
      carry()
      for device in [laptop, phone, laptop] {
        try device.sync()
        carry()
      }
    }
    let versions = try laptop.session().status().otherVersions
    #expect(versions.map(\.document) == [id, id])
    #expect(try phone.session().status().otherVersions.count == 2)
    try laptop.store.write { tx in _ = try tx.update(versions[0].version) { $0.text = "edited" } }
    #expect(try laptop.session().status().otherVersions == versions)
    try laptop.store.write { try $0.move(versions[0].version, to: .top) }
    #expect(try laptop.session().status().otherVersions == [versions[1]])
    try laptop.store.write { try $0.delete([versions[1].version]) }
    #expect(try laptop.session().status().otherVersions.isEmpty)
  }

  @Test func cutFileIsReportedUntilItIsWhole() throws {
    carry()
    try laptop.write("second")
    try laptop.sync()
    let (subfolder, names) = try files(of: laptop)
    let whole = try #require(laptop.folder.contents[subfolder]?[names.last!])
    for count in [0, 100, 300, whole.count - 1] {
      phone.folder.contents[subfolder]![names.last!] = Array(whole.prefix(count))
      for report in [try phone.sync().problems, try phone.session().status().problems] {
        #expect(report.map(\.kind) == [.waiting], "\(count) bytes")
        #expect(report.first?.advice.contains("isn't whole") == true)
      }
    }
    phone.folder.contents[subfolder]![names.last!] = whole
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "second"])
  }

  @Test func heldBackDeviceLooksSilent() throws {
    try laptop.write("second")
    try laptop.sync()
    let status = try phone.session().status()
    #expect(status.problems.isEmpty)
    #expect(status.devices.map(\.fileCount) == [1, 1])
    #expect(try texts(phone) == ["first"])
  }

  @Test func appDecidesBetweenConcurrentTexts() throws {
    let id = try laptop.store.read { try $0.headers(in: "notes")[0].id }
    for device in [laptop, phone] {
      try device.store.write { tx in _ = try tx.update(id) { $0.text = "of \(device.name)" } }
      try device.sync()
    }
    carry()
    struct Undecided: Error {}
    #expect(throws: Undecided.self) { try laptop.sync(.custom { _ in throw Undecided() }) }
    #expect(try texts(laptop) == ["of laptop"])
    try laptop.sync(
      .custom { conflict in
        #expect(conflict.myText == "of laptop")
        #expect(conflict.theirText == "of phone")
        return .mine
      })
    carry()
    try phone.sync()
    #expect(try texts(laptop) == ["of laptop"])
    #expect(try texts(phone) == ["of laptop"])
  }

  @Test func filesShowNoContents() throws {
    try laptop.write("a secret text")
    try laptop.sync()
    try phone.sync()
    carry()
    #expect(laptop.folder.contents.count == 2)
    for (subfolder, files) in laptop.folder.contents {
      #expect(subfolder.count == 32)
      for (name, bytes) in files where name != "join.coffer" {
        #expect(name.count == 40)
        // The size is one of a few classes.
        #expect((bytes.count - 200) % 8 == 0)
        for word in ["secret", "laptop", "phone", "notes"] {
          #expect(!String(decoding: bytes, as: UTF8.self).contains(word))
        }
      }
    }
  }

  // MARK: What a carrier does

  @Test func missingFileIsWaitedFor() throws {
    for number in 1...3 {
      try laptop.write("text \(number)")
      try laptop.sync()
    }
    carry()
    let (subfolder, names) = try files(of: laptop)
    let kept = phone.folder.contents[subfolder]!.removeValue(forKey: names[2])
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.waiting])
    #expect(report.problems.first?.number == 3)
    #expect(report.problems.first?.label == "laptop")
    #expect(try texts(phone) == ["first", "text 1"])
    phone.folder.contents[subfolder]![names[2]] = kept
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "text 1", "text 2", "text 3"])
  }

  @Test func damagedFilesChangeNothing() throws {
    try laptop.write("changed")
    try laptop.sync()
    carry()
    let (subfolder, names) = try files(of: laptop)
    let whole = phone.folder.contents[subfolder]![names[1]]!
    for count in [0, 100, 168, whole.count - 1] {
      phone.folder.contents[subfolder]![names[1]] = Array(whole[..<count])
      #expect(try phone.sync().taken.isEmpty, "\(count) bytes")
    }
    for index in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[index] ^= 1
      phone.folder.contents[subfolder]![names[1]] = bytes
      #expect(try phone.sync().taken.isEmpty, "byte \(index)")
    }
    #expect(try phone.sync().problems.map(\.kind) == [.damaged])
    #expect(try texts(phone) == ["first"])
    phone.folder.contents[subfolder]![names[1]] = whole
    #expect(try phone.sync().taken.count == 1)
    #expect(try texts(phone) == ["first", "changed"])
  }

  @Test func exchangedAndForeignFilesAreIgnored() throws {
    for number in 1...2 {
      try laptop.write("text \(number)")
      try laptop.sync()
    }
    carry()
    let (subfolder, names) = try files(of: laptop)
    let files = phone.folder.contents[subfolder]!
    phone.folder.contents[subfolder]![names[1]] = files[names[2]]
    phone.folder.contents[subfolder]![names[2]] = files[names[1]]
    phone.folder.contents[subfolder]!["\(names[1]).sync-conflict"] = files[names[1]]
    phone.folder.contents["photos"] = ["picture": [1, 2, 3]]
    #expect(try phone.sync().taken.isEmpty)
    #expect(try texts(phone) == ["first"])
  }

  @Test func lostFileIsReported() throws {
    try laptop.write("changed")
    try laptop.sync()
    carry()
    try phone.sync()
    let (subfolder, names) = try files(of: laptop)
    phone.folder.contents[subfolder]![names[1]] = nil
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.rolledBack])
    #expect(report.problems.first?.path.hasSuffix(names[1]) == true)
    #expect(try phone.session().status().problems == report.problems)
  }

  @Test func deviceHealsFolderThatWasPutBack() throws {
    let earlier = laptop.folder.contents
    try laptop.write("changed")
    try laptop.sync()
    laptop.folder.contents = earlier
    #expect(try laptop.sync().problems.map(\.kind) == [.rolledBack])
    #expect(try laptop.sync().problems.isEmpty)
    let (subfolder, _) = try files(of: laptop)
    phone.folder.contents[subfolder] = laptop.folder.contents[subfolder]
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "changed"])
  }

  /// A carrier sees the names of files, and can copy files.
  @Test(arguments: zip([65, 2], [nil, .max] as [Int?]))
  func plantedFilesCauseNoSnapshot(count: Int, byteCount: Int?) throws {
    try laptop.write("second")
    try laptop.sync()
    let (subfolder, names) = try files(of: laptop)
    let file = try #require(laptop.folder.contents[subfolder]?[names.last!])
    for number in 100..<100 + count {
      laptop.folder.contents[subfolder]!["\(names.last!.prefix(32))00000\(number)"] = number == 100 ? [] : file
    }
    laptop.folder.seemingByteCount = byteCount
    try laptop.write("third")
    #expect(try laptop.sync().problems.isEmpty)
    #expect(try laptop.session().memory.own.covered == 0)
  }

  @Test func returnedFilesCauseNoSnapshot() throws {
    var returned: [String: [UInt8]] = [:]
    while try laptop.session().memory.own.covered == 0 {
      returned = try #require(laptop.folder.contents.values.first)
      try laptop.write("more")
      try laptop.sync()
    }
    let covered = try laptop.session().memory.own.covered
    let (subfolder, _) = try files(of: laptop)
    laptop.folder.contents[subfolder]!.merge(returned) { current, _ in current }
    try laptop.write("last")
    try laptop.sync()
    #expect(try laptop.session().memory.own.covered == covered)
    #expect(laptop.folder.contents[subfolder]!.count == 2)
  }

  /// A carrier gives a file the beginning of another file's name.
  @Test func plantedFileHidesNoCoveredFile() throws {
    let (subfolder, names) = try files(of: laptop)
    laptop.folder.contents[subfolder]!["\(names[0].prefix(32))ffffffff"] = []
    try laptop.write("second")
    try laptop.sync()
    let session = try laptop.session()
    try session.publishSnapshot()
    try session.removeCovered()
    let last = try session.keys.name(of: session.memory.last, of: session.memory.device)
    #expect(laptop.folder.contents[subfolder]!.keys.sorted() == [last])
  }

  // MARK: What happens to devices

  @Test(arguments: [false, true]) func restoredDeviceCatchesUp(isMarked: Bool) throws {
    let backup = try laptop.backup()
    try laptop.write("after the backup")
    try laptop.sync()
    try laptop.putBack(backup, asRestored: isMarked)
    try laptop.write("after the restore")
    let report = try laptop.sync()
    #expect(report.isNewDevice)
    #expect(report.problems.isEmpty)
    carry()
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(laptop) == ["first", "after the backup", "after the restore"])
    #expect(try texts(phone) == texts(laptop))
  }

  @Test func bothCopiesOfDeviceKeepTheirChanges() throws {
    let copy = try SimulatedDevice(cloneOf: laptop, name: "copy", in: place.url)
    try laptop.write("of the laptop")
    try copy.write("of the copy")
    try laptop.sync()
    copy.folder.contents = laptop.folder.contents
    #expect(try copy.sync().isNewDevice)
    laptop.folder.contents = copy.folder.contents
    #expect(try !laptop.sync().isNewDevice)
    #expect(try texts(laptop) == ["first", "of the laptop", "of the copy"])
    #expect(try texts(copy) == texts(laptop))
  }

  /// Both copies publish a file with the same number, and other devices take one of them.
  @Test func publishedChangesOfBothCopiesReachAll() throws {
    carry()
    try laptop.sync()
    let third = try SimulatedDevice(joining: "tablet", by: laptop, in: place)
    let copy = try SimulatedDevice(cloneOf: laptop, name: "copy", in: place.url)
    for (device, reader) in [(laptop, phone), (copy, third)] {
      try device.write("of the \(device.name)")
      try device.sync()
      reader.folder.merge(device.folder)
      try reader.sync()
      try reader.write("of the \(reader.name)")
      try reader.sync()
    }
    let devices = [laptop, copy, phone, third]
    var problems: [FolderSyncReport.Problem] = []
    for _ in 0..<3 {
      for device in devices {
        for other in devices { device.folder.merge(other.folder) }
        problems += try device.sync().problems
      }
    }
    let all: Set = ["first", "of the laptop", "of the copy", "of the phone", "of the tablet"]
    for device in devices {
      #expect(try texts(device) == all, "\(device.name)")
      #expect(try device.store.verify().isSound)
    }
    #expect(problems.contains { $0.kind == .forked && $0.label == "laptop" })
    for device in devices { #expect(try device.sync().problems.isEmpty) }
    let names = try devices.map { try $0.session().memory.device }
    #expect(Set(names).count == 4)
  }

  @Test(arguments: 0..<12) func failedRunIsContinued(calls: Int) throws {
    try laptop.write("changed")
    laptop.folder.callsUntilFailure = calls
    _ = try? laptop.sync()
    laptop.folder.callsUntilFailure = nil
    let report = try laptop.sync()
    #expect(report.problems.isEmpty)
    #expect(!report.isNewDevice)
    carry()
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "changed"])
  }

  @Test func twoRunsAtOnceDoNotBothPublish() throws {
    try laptop.write("changed")
    let (one, other) = (try laptop.session(), try laptop.session())
    #expect(try one.run().publishedDocuments == 1)
    #expect { try other.run() } throws: { error in (error as? StoreError)?.code == .locked }
    #expect(try laptop.sync() == FolderSyncReport())
  }

  /// Another process completes the file of this run, as if this run were stopped.
  @Test func runThatAnotherRunCompletesIsLocked() throws {
    try laptop.write("changed")
    laptop.folder.willPublish = { [laptop] in _ = try? laptop.sync() }
    expect(.locked) { try laptop.sync() }
    #expect(try laptop.sync() == FolderSyncReport())
    carry()
    try phone.sync()
    #expect(try texts(phone) == ["first", "changed"])
  }

  @Test func manyRunsLeaveFewFiles() throws {
    for number in 0..<150 {
      try laptop.write("text \(number)")
      try laptop.sync()
    }
    let (subfolder, _) = try files(of: laptop)
    #expect(laptop.folder.contents[subfolder]!.count <= 66)
    phone.folder.contents[subfolder] = laptop.folder.contents[subfolder]
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone).count == 151)
  }

  /// A run reads the attachments of the documents that it takes, and no others.
  @Test func otherAttachmentsAreNotRead() throws {
    let ids = try laptop.store.write { tx in
      let ids = try ["with attachment", "without"].map { try tx.insert(Document(text: $0), into: "notes") }
      try tx.attach([1, 2, 3], to: ids[0], name: "file")
      return ids
    }
    try laptop.sync()
    carry()
    try phone.sync()
    try phone.store.close()
    let database = try Database(phone.url.path, mode: .readWrite)
    try database.execute("UPDATE coffer_attachment SET sealed = zeroblob(length(sealed))")
    try database.close()
    phone.store = try DocumentStore.open(at: phone.url, key: .published("primary"), options: phone.options)
    try laptop.store.write { tx in _ = try tx.update(ids[1]) { $0.text = "changed" } }
    try laptop.sync()
    carry()
    #expect(try phone.sync().problems.isEmpty)
    #expect(try phone.store.read { try $0.text(of: ids[1]) } == "changed")
    try laptop.store.write { tx in _ = try tx.update(ids[0]) { $0.text = "changed" } }
    try laptop.sync()
    carry()
    #expect(try phone.sync().problems.map(\.kind) == [.damaged])
  }

  @Test func memoryIsReadAsWritten() throws {
    carry()
    try laptop.sync()
    let memory = try laptop.session().memory
    #expect(memory.lines.count == 2)
    #expect(memory.bytes.withUnsafeBytes { SyncMemory($0) } == memory)
    for count in 0..<memory.bytes.count {
      #expect(memory.bytes[..<count].withUnsafeBytes { SyncMemory($0) } == nil)
    }
  }

  /// A line of as many files as it can have gets a common file in front of them.
  @Test func lineRemembersFirstAndLastFiles() throws {
    var memory = try laptop.session().memory
    let files = (UInt64(0)..<40).map { number in
      SyncMemory.Publication(
        file: SyncMemory.File(
          sequence: 100 + number, hash: [UInt8](repeating: UInt8(number), count: SyncFileHeader.hashCount)),
        counter: number)
    }
    memory.lines[memory.device]!.begin(with: files)
    #expect(memory.own.publications.map(\.counter) == [0] + (25..<40))
    #expect(memory.bytes.withUnsafeBytes { SyncMemory($0) } == memory)
  }

  /// Another device's lines name each other as their beginnings.
  @Test func cycleOfCopiesEnds() throws {
    carry()
    for _ in 0..<2 {
      try phone.write("of the phone")
      try phone.sync()
      carry()
      try laptop.sync()
    }
    let session = try laptop.session()
    let device = try phone.session().memory.device
    let known = session.memory.lines[device]!.publications
    func publication(_ byte: UInt8) -> SyncMemory.Publication {
      SyncMemory.Publication(
        file: SyncMemory.File(sequence: 1, hash: [UInt8](repeating: byte, count: SyncFileHeader.hashCount)), counter: 1)
    }
    func line(_ publications: [SyncMemory.Publication], isForked: Bool) -> SyncMemory.Line {
      var line = SyncMemory.Line(device)
      line.publications = publications
      line.isForked = isForked
      return line
    }
    var theirs = session.memory
    theirs.lines[device] = line([publication(1)], isForked: true)
    let names = try (0..<3).map { _ in try UniqueID.random() }.sorted()
    theirs.lines[names[0]] = line([publication(2), known.last!], isForked: false)
    for name in names.dropFirst() { theirs.lines[name] = line([publication(2)], isForked: true) }
    try session.learnForks(from: SyncPreamble(theirs))
    #expect(session.memory.lines[device]?.isForked == false)
  }

  /// A copy publishes a file while the original's snapshot removes the files since they parted.
  @Test func copyFindsItsFileAfterOtherSnapshot() throws {
    carry()
    try laptop.sync()
    let copy = try SimulatedDevice(cloneOf: laptop, name: "copy", in: place.url)
    copy.folder.contents = laptop.folder.contents
    for device in [copy, laptop] { try device.write("of the \(device.name)") }
    try copy.sync()
    let (subfolder, names) = try files(of: copy)
    for number in 0..<70 {
      try laptop.write("\(number)")
      try laptop.sync()
    }
    carry()
    try phone.sync()
    let own = copy.folder.contents[subfolder]![names.last!]!
    copy.folder.contents = laptop.folder.contents
    copy.folder.contents[subfolder]![names.last!] = own
    #expect(try copy.sync().isNewDevice)
    for _ in 0..<2 {
      for device in [laptop, phone, copy] {
        for other in [laptop, phone, copy] { device.folder.merge(other.folder) }
        #expect(try device.sync().problems.isEmpty)
      }
    }
    #expect(try texts(copy).isSuperset(of: ["of the copy", "of the laptop", "69"]))
    for device in [laptop, phone] { #expect(try texts(device) == texts(copy)) }
  }

  @Test func otherCopiesForgetFolder() throws {
    let copy = try DocumentStore.openEditableCopy(
      of: laptop.url, at: place.file("editable.coffer"), key: .published("primary"), options: .testing)
    #expect { try copy.syncStatus(of: SyncFolder(at: place.url)) } throws: { error in
      (error as? StoreError)?.code == .invalidArgument
    }
  }
}
