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

/// Devices that are removed from a folder, and the others, which go on with a new secret.
struct RemovalTests {
  private let place: Workplace
  private let laptop: SimulatedDevice
  private let phone: SimulatedDevice
  private let tablet: SimulatedDevice

  init() throws {
    place = try Workplace()
    laptop = try SimulatedDevice(first: "laptop", in: place)
    try laptop.write("first")
    try laptop.sync()
    phone = try SimulatedDevice(joining: "phone", by: laptop, in: place)
    tablet = try SimulatedDevice(joining: "tablet", by: laptop, in: place)
    for device in [phone, tablet, laptop, phone, tablet] {
      carry(to: device)
      try device.sync()
    }
    carry()
  }

  /// Copies all files that other devices have to a device.
  private func carry(to device: SimulatedDevice) {
    for other in [laptop, phone, tablet] where other !== device { device.folder.merge(other.folder) }
  }

  private func carry() {
    for device in [laptop, phone, tablet] { carry(to: device) }
  }

  private func id(of device: SimulatedDevice) throws -> SyncDevice.ID { try device.session().status().devices[0].id }

  /// The names of the subfolders that a device has used, and of the present one.
  private func subfolders(of device: SimulatedDevice) throws -> (former: [String], present: String) {
    let session = try device.session()
    let former = try session.memory.formers.map { former in
      try SyncKeys(family: session.family, folder: session.memory.folder, secret: former.secret)
        .subfolder(of: session.memory.device)
    }
    return (former, try session.keys.subfolder(of: session.memory.device))
  }

  @Test func removedDeviceIsLeftOut() throws {
    _ = try laptop.session().remove(id(of: tablet))
    try laptop.write("after the removal")
    try laptop.sync()
    // The tablet was offline.
    try tablet.write("late")
    try tablet.sync()
    carry()
    let report = try phone.sync()
    #expect(report.problems.map(\.kind) == [.removed])
    #expect(report.problems.first?.label == "tablet")
    let path = try #require(report.problems.first?.path)
    #expect(path.hasPrefix("phone/\(try subfolders(of: tablet).present)/"))
    #expect(try phone.session().status().problems == report.problems)
    #expect(try laptop.sync().problems.map(\.kind) == [.removed])
    for device in [laptop, phone] { #expect(try texts(device) == ["first", "after the removal"]) }
    let told = try tablet.sync()
    #expect(told.problems.map(\.kind) == [.removed])
    #expect(told.publishedBytes == 0)
    #expect(try secret(for: tablet.session().memory.agreement) == nil)
    #expect(try tablet.session().status().problems == told.problems)
    #expect(try texts(tablet) == ["first", "late"])
  }

  /// The removed device removes the other one before it hears of its own removal.
  @Test func mutualRemovalStopsOthers() throws {
    _ = try laptop.session().remove(id(of: phone))
    try laptop.write("of the laptop")
    try laptop.sync()
    _ = try phone.session().remove(id(of: laptop))
    carry(to: tablet)
    try tablet.write("of the tablet")
    let stopped = try tablet.sync()
    #expect(stopped.publishedBytes == 0)
    #expect(stopped.problems.map(\.kind) == [.removed, .removed])
    #expect(Set(stopped.problems.map(\.label)) == ["laptop", "phone"])
    #expect(try tablet.session().status().problems == stopped.problems)
    let laptopID = try id(of: laptop)
    expect(.invalidArgument) { try tablet.session().remove(laptopID) }
    #expect(try texts(tablet) == ["first", "of the tablet"])
    // A person keeps the laptop's file.
    let path = try #require(
      stopped.problems.first { $0.label == "phone" }?.path.split(separator: "/").map(String.init))
    tablet.folder.contents[path[1]]![path[2]] = nil
    #expect(try tablet.sync().problems.map(\.kind) == [])
    #expect(try texts(tablet) == ["first", "of the laptop", "of the tablet"])
    let devices = try tablet.session().status().devices
    #expect(devices.filter(\.isRemoved).map(\.label) == ["phone"])
  }

  @Test func devicesWithDifferentSecretsAreTold() throws {
    for device in [laptop, phone] { _ = try device.session().remove(id(of: tablet)) }
    carry()
    for (device, other) in [(laptop, "phone"), (phone, "laptop")] {
      let problems = try device.sync().problems
      #expect(problems.map(\.kind) == [.removed])
      #expect(problems.map(\.label) == [other])
      #expect(try device.session().status().problems == problems)
    }
  }

  @Test func rekeyKeepsMemoryOfLaterVersion() throws {
    try laptop.store.engine.writing { transaction throws(StoreError) in
      try transaction.writer.changeReplicas { replicas throws(StoreError) in replicas.syncMemory = [255, 1, 2] }
      try transaction.commit()
    }
    #expect(try laptop.store.rekey(to: [.published("next")]).isSyncing)
    let memory = try laptop.store.engine.reading { transaction throws(StoreError) in try transaction.replicas.syncMemory
    }
    #expect(memory?.withBytes { Array($0) } == [255, 1, 2])
  }

  @Test func otherFilesCauseNoSnapshot() throws {
    let subfolder = try subfolders(of: laptop).present
    for number in 0..<80 {
      let name = String(repeating: "0", count: 38) + String(format: "%02x", number)
      laptop.folder.contents[subfolder]![name] = [UInt8](repeating: 0, count: 1 << 20)
    }
    let last = try laptop.session().memory.last.sequence
    try laptop.write("small")
    try laptop.sync()
    #expect(try laptop.session().memory.last.sequence == last + 1)
  }

  @Test func otherDevicesGoOn() throws {
    try phone.write("unpublished")
    _ = try laptop.session().remove(id(of: tablet))
    carry(to: phone)
    #expect(try phone.sync().problems.isEmpty)
    // Only the file with the new secret is left of what they published before.
    for device in [laptop, phone] {
      let former = try subfolders(of: device).former[0]
      #expect(device.folder.contents[former]!.count == (device === laptop ? 1 : 0))
    }
    for number in 0..<3 {
      for device in [laptop, phone] {
        try device.write("\(number) of \(device.name)")
        carry(to: device)
        #expect(try device.sync().problems.isEmpty)
      }
    }
    for device in [laptop, phone, laptop] {
      carry(to: device)
      try device.sync()
    }
    #expect(try texts(laptop).count == 8)
    #expect(try texts(laptop) == texts(phone))
    for device in [laptop, phone] {
      #expect(!device.folder.contents[try subfolders(of: device).present]!.isEmpty)
      #expect(try device.store.verify().isSound)
    }
    let devices = try phone.session().status().devices
    #expect(devices.map(\.isRemoved) == devices.map { $0.label == "tablet" })
  }

  @Test func newDeviceJoinsAfterwards() throws {
    _ = try laptop.session().remove(id(of: tablet))
    let desk = try SimulatedDevice(joining: "desk", by: laptop, in: place)
    try desk.write("of the desk")
    try desk.sync()
    laptop.folder.contents = desk.folder.contents
    #expect(try laptop.sync().problems.isEmpty)
    #expect(try texts(laptop) == ["first", "of the desk"])
    #expect(throws: StoreError.self) { try desk.session().remove(id(of: tablet)) }
  }

  @Test func restoredDeviceGetsSecret() throws {
    let backup = try phone.backup()
    _ = try laptop.session().remove(id(of: tablet))
    try phone.putBack(backup, asRestored: true)
    carry()
    #expect(try phone.sync().isNewDevice)
    try phone.write("after the restore")
    try phone.sync()
    carry()
    #expect(try laptop.sync().problems.isEmpty)
    #expect(try texts(laptop) == ["first", "after the restore"])
  }

  /// A restored store has the key of the device that it was.
  @Test func restoredDeviceIsRemovedWithItsFormerName() throws {
    let backup = try tablet.backup()
    try tablet.write("of the tablet")
    try tablet.sync()
    try tablet.putBack(backup, asRestored: true)
    #expect(try tablet.sync().isNewDevice)
    for _ in 0..<2 {
      carry()
      try laptop.sync()
    }
    _ = try laptop.session().remove(id(of: tablet))
    try laptop.write("after the removal")
    try laptop.sync()
    carry()
    #expect(try tablet.sync().problems.map(\.kind) == [.removed])
    #expect(try !texts(tablet).contains("after the removal"))
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == texts(laptop))
  }

  @Test func backupOfRemovingDeviceGetsSecret() throws {
    let backup = try laptop.backup()
    _ = try laptop.session().remove(id(of: tablet))
    try laptop.write("after the removal")
    try laptop.sync()
    try laptop.putBack(backup, asRestored: true)
    let report = try laptop.sync()
    #expect(report.isNewDevice)
    #expect(report.problems.isEmpty)
    #expect(try texts(laptop) == ["first", "after the removal"])
  }

  /// The file with the secret stays under the name that the laptop had.
  @Test func restoredDeviceFindsItsFileWithSecret() throws {
    _ = try laptop.session().remove(id(of: tablet))
    let backup = try laptop.backup()
    try laptop.write("after the backup")
    try laptop.sync()
    try laptop.putBack(backup, asRestored: true)
    let report = try laptop.sync()
    #expect(report.isNewDevice)
    #expect(report.problems.isEmpty)
    #expect(try laptop.session().status().problems.isEmpty)
  }

  @Test func lostSecretIsReported() throws {
    _ = try laptop.session().remove(id(of: tablet))
    laptop.folder.contents[try subfolders(of: laptop).former[0]] = [:]
    let problems = try laptop.sync().problems
    #expect(problems.map(\.kind) == [.rolledBack])
    #expect(try laptop.session().status().problems == problems)
  }

  @Test(arguments: 0..<14) func stoppedRemovalIsContinued(calls: Int) throws {
    laptop.folder.callsUntilFailure = calls
    let tablet = try id(of: self.tablet)
    _ = try? laptop.session().remove(tablet)
    laptop.folder.callsUntilFailure = nil
    try laptop.sync()
    if try !laptop.session().status().devices.contains(where: \.isRemoved) {
      _ = try laptop.session().remove(tablet)
    }
    try laptop.write("afterwards")
    try laptop.sync()
    carry()
    #expect(try phone.sync().problems.isEmpty)
    #expect(try texts(phone) == ["first", "afterwards"])
    #expect(try self.tablet.sync().problems.map(\.kind) == [.removed])
  }

  // MARK: What a dishonest device says of others

  /// Returns the new secret if the laptop sealed it for a key pair.
  private func secret(for agreement: [UInt8]) throws -> [UInt8]? {
    let session = try laptop.session()
    let former = try #require(session.memory.formers.last)
    let keys = try SyncKeys(family: session.family, folder: session.memory.folder, secret: former.secret)
    let device = session.memory.device
    let name = try keys.name(of: #require(former.notice), of: device)
    let file = try #require(try SyncFile(name, in: keys.subfolder(of: device), of: laptop.folder, keys))
    _ = try SyncPreamble(file)
    return try SyncSecretBox.find(in: file, for: [agreement], keys.folder)
  }

  /// Publishes a snapshot by a device that has changed its memory.
  private func publish(by device: SimulatedDevice, _ change: (inout SyncMemory) throws -> Void) throws {
    let later = Timestamp(millisecondsSince1970: 4_000_000_000_000)
    let session = try SyncSession(device.store.engine, with: device.folder, now: { later })
    try change(&session.memory)
    try session.publishSnapshot()
    carry()
  }

  private func publication(_ sequence: UInt64) -> SyncMemory.Publication {
    SyncMemory.Publication(
      file: SyncMemory.File(sequence: sequence, hash: [UInt8](repeating: 7, count: SyncFileHeader.hashCount)))
  }

  @Test(arguments: [false, true]) func inventedLineGetsNoSecret(isForked: Bool) throws {
    let (uid, agreement) = (try UniqueID.random(), try SyncMemory.newSecret())
    try publish(by: tablet) { memory in
      var line = SyncMemory.Line(uid, after: publication(1))
      (line.isForked, line.label, line.recipient) = (isForked, "phone", try SyncMemory.recipient(of: agreement))
      memory.lines[uid] = line
    }
    for device in [laptop, phone, laptop] {
      try device.sync()
      carry()
    }
    #expect(try laptop.session().status().devices.contains { $0.id.uid == uid })
    _ = try laptop.session().remove(id(of: tablet))
    #expect(try secret(for: agreement) == nil)
    #expect(try secret(for: phone.session().memory.agreement) != nil)
  }

  @Test func lineThatOthersEndGetsSecret() throws {
    let name = try phone.session().memory.device
    try publish(by: tablet) { $0.lines[name]!.isForked = true }
    try laptop.sync()
    #expect(try laptop.session().memory.lines[name]!.isForked)
    #expect(try laptop.session().status().devices.contains { $0.id.uid == name })
    _ = try laptop.session().remove(id(of: tablet))
    #expect(try secret(for: phone.session().memory.agreement) != nil)
  }

  /// The copies have one key pair until they learn of each other.
  @Test func copiesGetSecret() throws {
    let copy = try SimulatedDevice(cloneOf: phone, name: "copy", in: place.url)
    for device in [phone, copy] {
      try device.write("of the \(device.name)")
      try device.sync()
      laptop.folder.merge(device.folder)
    }
    try laptop.sync()
    #expect(try texts(laptop) == ["first", "of the phone", "of the copy"])
    _ = try laptop.session().remove(id(of: tablet))
    #expect(try secret(for: copy.session().memory.agreement) != nil)
  }

  /// Every device with the folder's secret can write a file under another device's name.
  @Test func fileReplacesNoRecipient() throws {
    let agreement = try SyncMemory.newSecret()
    try publish(by: phone) { $0.own.recipient = try SyncMemory.recipient(of: agreement) }
    _ = try laptop.session().remove(id(of: tablet))
    #expect(try secret(for: agreement) == nil)
    #expect(try secret(for: phone.session().memory.agreement) != nil)
  }

  @Test func newDeviceReadsRecipientsInOwnFiles() throws {
    let name = try phone.session().memory.device
    try publish(by: tablet) { $0.lines[name]!.recipient = try SyncMemory.recipient(of: SyncMemory.newSecret()) }
    let desk = try SimulatedDevice(joining: "desk", by: tablet, in: place)
    #expect(try desk.session().memory.lines[name]!.recipient == phone.session().memory.own.recipient)
  }

  /// A device that was offline since the last removal has no file that a new device can read.
  @Test func remainingDeviceNamesRecipient() throws {
    _ = try laptop.session().remove(id(of: tablet))
    let desk = try SimulatedDevice(joining: "desk", by: laptop, in: place)
    let watch = try SimulatedDevice(joining: "watch", by: laptop, in: place)
    desk.folder.merge(watch.folder)
    try desk.sync()
    _ = try desk.session().remove(id(of: watch))
    try desk.write("of the desk")
    try desk.sync()
    phone.folder.merge(desk.folder)
    for _ in 0..<2 { try phone.sync() }
    #expect(try texts(phone) == ["first", "of the desk"])
  }

  @Test func recipientOfSmallOrderStopsNoRemoval() throws {
    let name = try phone.session().memory.device
    let session = try laptop.session()
    session.memory.lines[name]!.recipient = SyncMemory.noRecipient
    try session.saveMemory()
    try publish(by: phone) { $0.own.recipient = [1] + [UInt8](repeating: 0, count: 31) }
    _ = try laptop.session().remove(id(of: tablet))
    #expect(try laptop.session().status().devices.filter(\.isRemoved).map(\.label) == ["tablet"])
  }

  @Test func lineOfAnotherDeviceCoversNothing() throws {
    let name = try laptop.session().memory.device
    try publish(by: tablet) { $0.lines[name] = SyncMemory.Line(try UniqueID.random(), after: publication(1 << 40)) }
    try laptop.sync()
    let (memory, theirs) = (try laptop.session().memory, try tablet.session().memory)
    #expect(memory.lines[theirs.device]!.file == theirs.last)
    #expect(memory.own.covered <= memory.last.sequence)
  }

  @Test func refusesUnknownDevices() throws {
    for unknown in [try id(of: laptop), SyncDevice.ID(uid: try UniqueID.random())] {
      #expect { try laptop.session().remove(unknown) } throws: { error in
        (error as? StoreError)?.code == .invalidArgument
      }
    }
  }

  @Test func memoryIsReadAsWritten() throws {
    _ = try laptop.session().remove(id(of: tablet))
    let memory = try laptop.session().memory
    #expect(memory.formers.count == 1)
    #expect(memory.formers[0].notice != nil)
    #expect(memory.bytes.withUnsafeBytes { SyncMemory($0) } == memory)
  }

  /// Somebody who changes the file with the secret keeps the devices from reading it, and gets no other effect.
  @Test func changedSecretIsReported() throws {
    _ = try laptop.session().remove(id(of: tablet))
    let (former, _) = try subfolders(of: laptop)
    let (name, whole) = laptop.folder.contents[former[0]]!.first!
    carry()
    for index in stride(from: 200, to: whole.count, by: 50) {
      phone.folder.contents[former[0]]![name]![index] ^= 1
      #expect(try phone.sync().problems.map(\.kind) == [.damaged], "byte \(index)")
      phone.folder.contents[former[0]]![name]! = whole
    }
    #expect(try phone.sync().problems.isEmpty)
  }
}
