import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferReplication
@testable import CofferStoreTestSupport

/// Read-only copies of a file that replication updates.
struct AdoptionTests {
  /// A store, its replicated file, and a folder of copies.
  private final class Setting {
    let test: TestStore
    let followed: URL
    let folder: ReplicaFolder
    var options = AdoptOptions()

    init(_ journal: CreateOptions.Journal = .writeAheadLog) throws {
      test = try TestStore { $0.journal = journal }
      followed = test.place.file("followed.coffer")
      folder = ReplicaFolder(at: test.place.file("copies"))
      try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: false)
      options.allowsTestKeys = true
      options.wait = .zero
      try write("first")
      try replicate()
    }

    func write(_ text: String) throws {
      try test.store.write { _ = try $0.insert(Document(text: text), into: test.notes) }
    }

    /// Brings the followed file up to date.
    func replicate() throws { try test.store.backup(to: followed, replacing: true) }

    @discardableResult
    func adopt(anchor: StoreAnchor? = nil) throws -> Adoption {
      try folder.adopt(followed, key: .published("primary"), anchor: anchor, options: options)
    }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() }

    var target: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: folder.current.path) }

    func reader() throws -> DocumentStore {
      try DocumentStore.open(at: folder.current, key: .published("primary"), options: .testing)
    }

    func count(in store: DocumentStore) throws -> Int { try store.read { $0.documentCount } }

    /// Expects adoption to fail with an error code and to leave the folder unchanged.
    func expectRefused(
      _ code: StoreError.Code, anchor: StoreAnchor? = nil, location: SourceLocation = #_sourceLocation
    ) throws {
      let (names, target) = (try names(), target)
      expect(code, location: location) { try adopt(anchor: anchor) }
      #expect(try self.names() == names && self.target == target, sourceLocation: location)
    }
  }

  private func copy(_ adoption: Adoption) throws -> Adoption.Copy {
    guard case .adopted(let copy) = adoption else {
      Issue.record("nothing was adopted")
      throw Interruption()
    }
    return copy
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func verifiesNumbersAndLinksCopy(_ journal: CreateOptions.Journal) throws {
    let setting = try Setting(journal)
    let anchor = try setting.test.store.anchor()
    let copy = try copy(try setting.adopt(anchor: anchor))
    #expect(copy.url.lastPathComponent == "0000000001.coffer" && copy.anchor == anchor && copy.relation == .same)
    #expect(copy.documents == 1 && setting.target == "0000000001.coffer")
    #expect(try setting.names() == ["0000000001.coffer", "current"])
    // The copy is in rollback journal mode and read-only.
    let header = try Data(contentsOf: copy.url)[18..<20]
    #expect(Array(header) == [1, 1])
    let mode = try FileManager.default.attributesOfItem(atPath: copy.url.path)[.posixPermissions] as? Int
    #expect(mode == 0o400)
    let reader = try setting.reader()
    #expect(try reader.verify().isSound && !reader.isSuperseded)
  }

  @Test func unchangedFileKeepsCurrentCopy() throws {
    let setting = try Setting()
    let first = try copy(try setting.adopt())
    let inode = try FileManager.default.attributesOfItem(atPath: first.url.path)[.systemFileNumber] as? Int
    #expect(try setting.adopt() == .unchanged(first))
    #expect(try setting.names() == ["0000000001.coffer", "current"])
    #expect(try FileManager.default.attributesOfItem(atPath: first.url.path)[.systemFileNumber] as? Int == inode)
  }

  @Test func detectsStoppedReplication() throws {
    let setting = try Setting()
    try setting.adopt()
    try setting.write("confirmed")
    try setting.expectRefused(.rolledBack, anchor: try setting.test.store.anchor())
  }

  @Test func supersedesReadersAndRemovesOldCopies() async throws {
    let setting = try Setting()
    setting.options.keptCopies = 2
    try setting.adopt()
    let reader = try setting.reader()
    let waiting = Task { try await reader.superseded() }
    for number in 2...4 {
      try setting.write("\(number)")
      try setting.replicate()
      #expect(try copy(try setting.adopt()).documents == number)
    }
    try await waiting.value
    #expect(reader.isSuperseded)
    #expect(try setting.names() == ["0000000003.coffer", "0000000004.coffer", "current"])
    // The reader can still read its open file after the file was removed from the folder.
    #expect(try setting.count(in: reader) == 1)
    #expect(try setting.count(in: setting.reader()) == 4)
  }

  @Test func closingStoreEndsSupersededWait() async throws {
    let setting = try Setting()
    try setting.adopt()
    let reader = try setting.reader()
    let waiting = Task { try await reader.superseded() }
    try await reader.close()
    await #expect(throws: StoreError(.closed, "")) { try await waiting.value }
    try FileManager.default.removeItem(at: setting.folder.current)
    #expect(!reader.isSuperseded)
  }

  @Test func rejectsOlderFile() throws {
    let setting = try Setting()
    let older = try Data(contentsOf: setting.followed)
    try setting.write("second")
    try setting.replicate()
    try setting.adopt()
    try older.write(to: setting.followed)
    try setting.expectRefused(.rolledBack)
    // Without the link, the newest copy decides, and gets the link again.
    try FileManager.default.removeItem(at: setting.folder.current)
    expect(.rolledBack) { try setting.adopt() }
    #expect(setting.target == "0000000001.coffer")
    try setting.replicate()
    guard case .unchanged = try setting.adopt() else { throw Interruption() }
  }

  /// A former key holder can raise the generation of the old file, so it isn't the reason.
  @Test func rejectsFileFromBeforeRekey() throws {
    let setting = try Setting()
    let before = setting.test.place.file("before.coffer")
    try setting.test.store.backup(to: before)
    _ = try setting.test.store.rekey { _ in }
    try setting.replicate()
    try setting.adopt()
    let old = try DocumentStore.open(at: before, key: .published("primary"), options: .testing)
    for _ in 0..<9 { try old.write { _ = try $0.insert(Document(text: "x"), into: setting.test.notes) } }
    try old.backup(to: setting.followed, replacing: true)
    try setting.expectRefused(.rolledBack)
    let error = #expect(throws: StoreError.self) { try setting.adopt() }
    #expect(error?.message.hasSuffix("the copy is of a later key or phase") == true)
  }

  @Test func rejectsOtherStoreBranchAndKey() throws {
    let setting = try Setting()
    try setting.adopt()
    let other = try Setting()
    #expect(throws: StoreError(.anchorMismatch, "")) {
      try setting.folder.adopt(other.followed, key: .published("primary"), options: setting.options)
    }
    #expect(throws: StoreError(.anchorMismatch, "")) {
      try setting.folder.adopt(setting.followed, key: .published("wrong"), options: setting.options)
    }
    #expect(throws: StoreError(.cannotUnlock, "")) {
      try other.folder.adopt(other.followed, key: .published("wrong"), options: other.options)
    }
    // Creates two branches with the same generation.
    let branch = setting.test.place.file("branch.coffer")
    try setting.test.store.backup(to: branch)
    try setting.write("here")
    try setting.replicate()
    try setting.adopt()
    let there = try DocumentStore.open(at: branch, key: .published("primary"), options: .testing)
    try there.write { _ = try $0.insert(Document(text: "there"), into: setting.test.notes) }
    try there.backup(to: setting.followed, replacing: true)
    try setting.expectRefused(.anchorMismatch)
  }

  @Test func adoptsNewBranchOnlyWithPin() throws {
    let setting = try Setting()
    let branch = setting.test.place.file("branch.coffer")
    try setting.test.store.backup(to: branch)
    for number in 1...5 { try setting.write("lost \(number)") }
    try setting.replicate()
    try setting.adopt()
    let promoted = try DocumentStore.open(at: branch, key: .published("primary"), options: .testing)
    let promotion = try promoted.promote(anchor: nil)
    try promoted.backup(to: setting.followed, replacing: true)
    // The generation of the branch is lower than the generation of the copy.
    try setting.expectRefused(.rolledBack)
    setting.options.pin = setting.test.store.pin
    try setting.expectRefused(.rolledBack)
    setting.options.pin = promotion.pin
    #expect(try copy(try setting.adopt(anchor: promotion.anchor)).anchor == promotion.anchor)
    // The old branch is rejected from now on.
    try setting.replicate()
    try setting.expectRefused(.rolledBack)
    setting.options.pin = nil
    try setting.expectRefused(.rolledBack)
  }

  @Test func rejectsTornFile() throws {
    let setting = try Setting()
    try setting.test.store.write { writer in
      for number in 1...200 {
        _ = try writer.insert(Document(text: String(repeating: "\(number) ", count: 2000)), into: setting.test.notes)
      }
    }
    try setting.replicate()
    try setting.adopt()
    let before = [UInt8](try Data(contentsOf: setting.followed))
    try setting.test.store.write { writer in
      for id in Int64(2)...40 { try writer.update(DocumentID(id)) { $0.text = String(repeating: "x", count: 4000) } }
    }
    try setting.replicate()
    let after = [UInt8](try Data(contentsOf: setting.followed))
    // Simulates a replication that was killed while writing pages in order.
    let changed = stride(from: 0, to: min(before.count, after.count), by: 4096).filter {
      before[$0..<$0 + 4096] != after[$0..<$0 + 4096]
    }
    #expect(changed.count > 20)
    for count in stride(from: 1, to: changed.count, by: 5) {
      var torn = before.count >= after.count ? before : before + after[before.count...]
      for page in changed.prefix(count) { torn.replaceSubrange(page..<page + 4096, with: after[page..<page + 4096]) }
      try Data(torn).write(to: setting.followed)
      let (names, target) = (try setting.names(), setting.target)
      do {
        let adoption = try setting.adopt()
        // The first pages of the change may leave the old state intact.
        guard case .unchanged = adoption else {
          Issue.record("a file with \(count) of \(changed.count) pages was adopted")
          continue
        }
      } catch let error as StoreError {
        #expect([.damaged, .setMismatch, .rolledBack].contains(error.code), "\(error)")
      }
      #expect(try setting.names() == names && setting.target == target)
    }
    try Data(after).write(to: setting.followed)
    #expect(try copy(try setting.adopt()).documents == 201)
  }

  /// A text outside its row's page doesn't affect the set hash or the structure.
  @Test func detectsTornTextOfChangedDocument() throws {
    let setting = try Setting()
    setting.options.opensChangedOnly = true
    try setting.test.store.write { writer in
      _ = try writer.insert(Document(text: String(repeating: "a", count: 50_000)), into: setting.test.notes)
    }
    try setting.replicate()
    try setting.adopt()
    try setting.test.store.write { try $0.update(2) { $0.text = String(repeating: "b", count: 50_000) } }
    try setting.replicate()
    let raw = try Database(setting.followed.path, mode: .readWrite)
    try raw.execute("UPDATE coffer_body SET ct = zeroblob(length(ct)) WHERE id = 2")
    try raw.close()
    try setting.expectRefused(.damaged)
  }

  @Test func detectsTornTextOfUnchangedDocument() throws {
    let setting = try Setting()
    try setting.test.store.write { writer in
      _ = try writer.insert(Document(text: String(repeating: "a", count: 50_000)), into: setting.test.notes)
    }
    try setting.replicate()
    try setting.adopt()
    try setting.write("another")
    try setting.replicate()
    let raw = try Database(setting.followed.path, mode: .readWrite)
    try raw.execute("UPDATE coffer_body SET ct = zeroblob(length(ct)) WHERE id = 2")
    try raw.close()
    try setting.expectRefused(.damaged)
    setting.options.opensChangedOnly = true
    try setting.adopt()
    expect(.damaged) { try setting.reader().read { try $0.text(of: 2) } }
  }

  @Test func copyHasAttachments() throws {
    let setting = try Setting()
    let photo = [UInt8](repeating: 7, count: 200_000)
    let attached = try setting.test.store.write { try $0.attach(photo, to: 1, name: "photo.jpeg") }
    try setting.replicate()
    try setting.adopt()
    let reader = try setting.reader()
    #expect(try reader.read { try $0.attachments(of: 1) } == [attached])
    let other = try setting.test.store.write { tx throws in
      try tx.attach([1, 2], to: 1, name: "note.txt")
      return try tx.replace(attached.id, with: .bytes([8]))
    }
    try setting.replicate()
    try setting.adopt()
    // The reader of the earlier copy still has what was replaced.
    #expect(try reader.read { try $0.content(of: attached.id) } == photo)
    try setting.reader().read { reader throws in
      #expect(Set(try reader.attachments(of: 1).map(\.name)) == ["note.txt", "photo.jpeg"])
      #expect(try reader.content(of: other.id) == [8])
    }
  }

  /// Also if only changes are opened: a chunk doesn't affect the set hash or the structure.
  @Test(arguments: [false, true]) func detectsTornAttachment(opensChangedOnly: Bool) throws {
    let setting = try Setting()
    setting.options.opensChangedOnly = opensChangedOnly
    try setting.adopt()
    try setting.test.store.write { tx in
      _ = try tx.attach([UInt8](repeating: 7, count: 200_000), to: 1, name: "photo.jpeg")
    }
    for change in ["UPDATE coffer_chunk SET ct = zeroblob(length(ct))", "DELETE FROM coffer_chunk"] {
      try setting.replicate()
      let raw = try Database(setting.followed.path, mode: .readWrite)
      try raw.execute("\(change) WHERE chunk = (SELECT max(chunk) FROM coffer_chunk)")
      try raw.close()
      try setting.expectRefused(.damaged)
    }
    try setting.replicate()
    try setting.adopt()
  }

  @Test func rejectsEditedLink() throws {
    let setting = try Setting()
    try setting.adopt()
    let link = setting.folder.current
    try setting.write("second")
    try setting.replicate()
    for target in ["/etc/passwd", "../test.coffer", "0000000009.coffer", "1.coffer", "0000000000.coffer"] {
      try FileManager.default.removeItem(at: link)
      try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: target)
      try setting.expectRefused(.alreadyExists)
    }
    try FileManager.default.removeItem(at: link)
    try Data("mine".utf8).write(to: link)
    try setting.expectRefused(.alreadyExists)
    #expect(try Data(contentsOf: link) == Data("mine".utf8))
    try FileManager.default.removeItem(at: link)
    #expect(try copy(try setting.adopt()).url.lastPathComponent == "0000000002.coffer")
  }

  /// A process killed between the two steps of an adoption leaves the link at the copy before the newest.
  @Test func finishesInterruptedAdoption() throws {
    let setting = try Setting()
    try setting.adopt()
    let states = try (2...4).map { number in
      try setting.write("\(number)")
      try setting.replicate()
      try setting.adopt()
      return try Data(contentsOf: setting.followed)
    }
    let link = setting.folder.current
    func point(to number: Int) throws {
      try FileManager.default.removeItem(at: link)
      try FileManager.default.createSymbolicLink(
        atPath: link.path, withDestinationPath: "000000000\(number).coffer")
    }
    try point(to: 1)
    try setting.expectRefused(.alreadyExists)
    try point(to: 3)
    try states[1].write(to: setting.followed)
    expect(.rolledBack) { try setting.adopt() }
    #expect(setting.target == "0000000004.coffer")
    try setting.expectRefused(.rolledBack)
    try point(to: 3)
    try states[2].write(to: setting.followed)
    guard case .unchanged = try setting.adopt() else { throw Interruption() }
    #expect(setting.target == "0000000004.coffer")
  }

  @Test func reportsDamagedOrLockedCopy() throws {
    let setting = try Setting()
    let first = try copy(try setting.adopt()).url
    try setting.test.store.rekey(to: [.published("next")])
    try setting.replicate()
    setting.options.pin = setting.test.store.pin
    #expect(throws: StoreError(.anchorMismatch, "")) {
      try setting.folder.adopt(setting.followed, key: .published("next"), options: setting.options)
    }
    let both = StoreKey.anyOf([.published("next"), .published("primary")])
    #expect(try copy(try setting.folder.adopt(setting.followed, key: both, options: setting.options)).documents == 1)
    try FileManager.default.removeItem(at: first)
    let second = setting.folder.url.appending(path: "0000000002.coffer")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: second.path)
    try Data(repeating: 0, count: 8192).write(to: second)
    do {
      _ = try setting.folder.adopt(setting.followed, key: both, options: setting.options)
      Issue.record("a copy that can't be compared was followed")
    } catch {
      #expect(error.code == .alreadyExists && error.message.contains("0000000002.coffer"), "\(error)")
    }
  }

  @Test func removesLeftoversAndKeepsForeignFiles() throws {
    let setting = try Setting()
    let mark = "0123456789abcdef"
    let remains = [".0000000001.coffer.\(mark).new", ".0000000001.coffer.\(mark).new-journal", ".current.\(mark).new"]
    let foreign = [".x.\(mark).new", "notes.coffer", ".0000000001.coffer.\(mark)", "12.coffer", ".current.new"]
    for name in remains + foreign { try Data("x".utf8).write(to: setting.folder.url.appending(path: name)) }
    try setting.adopt()
    #expect(try Set(setting.names()) == Set(foreign + ["0000000001.coffer", "current"]))
  }

  @Test func concurrentAdoptionsExcludeEachOther() throws {
    let setting = try Setting()
    let lock = try FolderLock(setting.folder.url.path, wait: .zero)
    try setting.expectRefused(.locked)
    lock.end()
    try setting.adopt()
  }

  @Test func reportsMissingFolderAndFile() throws {
    let setting = try Setting()
    #expect(throws: StoreError(.ioFailure, "")) {
      try ReplicaFolder(at: setting.test.place.file("none")).adopt(
        setting.followed, key: .published("primary"), options: setting.options)
    }
    try FileManager.default.removeItem(at: setting.followed)
    try setting.expectRefused(.noSuchFile)
    try Data(repeating: 0, count: 8192).write(to: setting.followed)
    try setting.expectRefused(.notAStore)
    try Data().write(to: setting.followed)
    try setting.expectRefused(.notAStore)
  }

  @Test func newCopyKeepsReadPermissions() throws {
    let setting = try Setting()
    try setting.adopt()
    let first = setting.folder.url.appending(path: "0000000001.coffer").path
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: first)
    try setting.write("second")
    try setting.replicate()
    let second = try copy(try setting.adopt())
    let mode = try FileManager.default.attributesOfItem(atPath: second.url.path)[.posixPermissions] as? Int
    #expect(mode == 0o440)
  }

  @Test func adoptsRekeyUnderNewPin() throws {
    let setting = try Setting()
    try setting.adopt()
    try setting.test.store.rekey()
    try setting.replicate()
    try setting.expectRefused(.anchorMismatch)
    setting.options.pin = setting.test.store.pin
    #expect(try copy(try setting.adopt()).documents == 1)
  }
}
