import Coffer
import CofferCopies
import CofferDocuments
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

@Suite struct ReleaseFolderTests {
  /// A data set with a release, the folder that it's published to, and a customer's copy of it.
  private struct Setting {
    let test: TestStore
    let folder: URL
    let copy: URL

    /// - Parameter creation: Changes the options of the data set.
    init(_ creation: (inout CreateOptions) -> Void = { _ in }) throws {
      test = try TestStore(creation)
      (folder, copy) = (test.place.file("public"), test.place.file("copy.coffer"))
      try test.store.write { writer in
        let parent = try writer.insert(Document(title: "one", text: "alpha"), into: test.notes)
        try writer.insert(
          Document(title: "two", text: "beta", key: "k2", attributes: ["a": 1], parent: parent), into: test.notes)
        try writer.insert(Document(title: "three", text: "gamma"), into: DocumentCollection("others"))
        // All later files of this data set are small beside the one with all documents.
        try writer.insert(
          Document(title: "large", text: String(repeating: "large ", count: 20_000)), into: test.notes)
        try writer.attach(.bytes(Array("file".utf8)), to: parent, name: "file.txt")
      }
      try test.store.makeRelease(signedBy: Publishing.key)
      try publish()
      try create()
    }

    func open(_ url: URL? = nil) throws -> DocumentStore {
      try DocumentStore.open(
        at: url ?? copy, key: .anyOf([.published("primary"), .published("identity")]), options: .testing)
    }

    /// Changes the data set, and makes and publishes the next release.
    @discardableResult
    func release(
      signedBy key: SigningKey? = nil, expires: Timestamp? = nil, next: Publisher? = nil,
      for customers: [ReleaseCustomer]? = nil, _ change: (inout WriteTransaction) throws -> Void
    ) throws -> PublicationReport {
      try test.store.write { try change(&$0) }
      try test.store.makeRelease(signedBy: try key ?? Publishing.key, expires: expires, next: next)
      return try publish(signedBy: key, for: customers)
    }

    @discardableResult
    func publish(
      to url: URL? = nil, signedBy key: SigningKey? = nil, for customers: [ReleaseCustomer]? = nil
    ) throws -> PublicationReport {
      try test.store.publishRelease(
        to: url ?? folder, for: try customers ?? [ReleaseFolderTests.anna], signedBy: try key ?? Publishing.key)
    }

    func source(
      _ folder: URL? = nil, as customer: String = "anna", key: StoreKey = .published("identity"),
      by publisher: Publisher? = nil, at time: Timestamp = Timestamp(Date()), allowingOlder: Bool = false
    ) throws -> ReleaseSource {
      ReleaseSource(
        at: folder ?? self.folder, by: try publisher ?? Publishing.publisher, as: customer, key: key, time: time,
        allowsOlder: allowingOlder)
    }

    @discardableResult
    func create(_ url: URL? = nil, from source: ReleaseSource? = nil) throws -> UpdateReport {
      try DocumentStore.create(
        at: url ?? copy, from: try source ?? self.source(), keys: [.published("identity")], options: .testing)
    }

    @discardableResult
    func update(_ url: URL? = nil, from source: ReleaseSource? = nil, policy: MergePolicy = .mine) throws
      -> UpdateReport
    {
      let store = try open(url)
      defer { try? store.close() }
      return try store.update(from: try source ?? self.source(), policy: policy)
    }

    func edit(_ change: (inout WriteTransaction) throws -> Void) throws {
      let store = try open()
      try store.write { try change(&$0) }
      try store.close()
    }

    /// Requires a refused update, which leaves the copy as it is.
    func expectRefusal(
      _ code: StoreError.Code, location: SourceLocation = #_sourceLocation, _ work: () throws -> Void
    ) throws {
      let bytes = try Data(contentsOf: copy)
      expect(code, location: location) { try work() }
      #expect(try Data(contentsOf: copy) == bytes, sourceLocation: location)
    }

    func released(_ url: URL? = nil, by publisher: Publisher? = nil) throws -> Int64? {
      let store = try test.asReleased(at: url ?? copy, .published("identity"), by: publisher)
      defer { try? store.close() }
      return store.release?.number
    }

    /// The names in the folder, without the index.
    var names: Set<String> {
      get throws { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)).subtracting(["index"]) }
    }

    func file(_ name: String) -> URL { folder.appending(path: name) }
    func copyOfFolder(_ name: String) throws -> URL {
      let url = test.place.file(name)
      try FileManager.default.copyItem(at: folder, to: url)
      return url
    }
  }

  private static var anna: ReleaseCustomer {
    get throws {
      try ReleaseCustomer(name: "anna", recipient: Recipient(identity: PublishedKeys.url("identity")))
    }
  }

  /// Returns a new customer with the file of the identity.
  private func customer(_ name: String, in place: Workplace) throws -> (customer: ReleaseCustomer, identity: URL) {
    let file = place.file("\(name).identity")
    try KeyLine.generate(.identity, isTest: true).write(toNewFile: file.path)
    return (try ReleaseCustomer(name: name, recipient: Recipient(identity: file)), file)
  }

  // MARK: Updating

  @Test(arguments: [CreateOptions.Titles.sealed, .clear]) func updatesCopyToRelease(
    _ titles: CreateOptions.Titles
  ) throws {
    let setting = try Setting { $0.titles = titles }
    #expect(try setting.released() == 1)
    let made = try setting.release { writer in
      try writer.update(1) { $0.text = "alpha 2" }
      try writer.update(2) { $0.attributes["b"] = 2 }
      try writer.delete(3)
      let id = try writer.insert(Document(title: "five", text: "delta"), into: DocumentCollection("new"))
      try writer.attach(.bytes(Array("second".utf8)), to: id, name: "second.txt")
      try writer.rename(writer.attachments(of: 1)[0].id, to: "renamed.txt")
      try writer.rename(setting.test.notes, to: "renamed")
    }
    #expect(made.release == 2 && made.changedDocuments == 3 && made.files.map(\.name) == ["1-2.update"])
    let report = try setting.update()
    #expect(report.from == 1 && report.to == 2 && report.merge.conflicts.isEmpty)
    #expect(try setting.released() == 2)
    let copy = try setting.open()
    #expect(try copy.read { try $0.text(of: 1) } == "alpha 2")
    let file = try copy.read { try $0.content(of: $0.attachments(of: 1)[0].id) }
    #expect(file == Array("file".utf8))
    #expect(try copy.verify().isSound)
    #expect(try DocumentStore.info(at: setting.copy).titles == titles)
  }

  private static let changes: [@Sendable (inout WriteTransaction) throws -> Void] = [
    { writer in try writer.setKey(of: 2, to: "other") }, { writer in try writer.setParent(of: 2, to: nil) },
    { writer in try writer.move(2, to: .top) }, { writer in try writer.detach(writer.attachments(of: 1)[0].id) },
    { writer in try writer.attach(.bytes([1]), to: 3, name: "more") },
    { writer in try writer.create(DocumentCollection("empty")) }, { _ in }, { writer in try writer.delete(1) },
  ]

  /// Each kind of change alone leads to the release.
  @Test func updatesByEachChange() throws {
    let setting = try Setting()
    for (number, change) in Self.changes.enumerated() {
      try setting.release(change)
      try setting.update()
      #expect(try setting.released() == Int64(number) + 2, "change \(number)")
    }
  }

  @Test func keepsEdits() throws {
    let setting = try Setting()
    try setting.release { writer in
      try writer.update(1) { $0.text = "theirs" }
      try writer.update(2) { $0.text = "beta 2" }
    }
    try setting.edit { writer in
      try writer.update(1) { $0.text = "mine" }
      try writer.update(2) { $0.title = "my title" }
      try writer.insert(Document(title: "own", text: "own"), into: setting.test.notes)
    }
    let other = setting.test.place.file("other.coffer")
    try FileManager.default.copyItem(at: setting.copy, to: other)
    let report = try setting.update()
    #expect(report.merge.conflicts.map(\.action) == [.kept])
    let copy = try setting.open()
    #expect(try copy.read { try $0.text(of: 1) } == "mine")
    #expect(try copy.read { try [$0.header(of: 2).title, $0.text(of: 2)] } == ["my title", "beta 2"])
    #expect(try copy.read { try $0.count(in: setting.test.notes) } == 4)
    expect(.notAsReleased) { try setting.released() }
    try setting.update(other, policy: .theirs)
    #expect(try setting.open(other).read { try $0.text(of: 1) } == "theirs")
  }

  @Test func listsEditsSinceRelease() throws {
    let setting = try Setting()
    let copy = try setting.open()
    let one = try copy.changes(sinceReleaseOf: setting.source())
    #expect(one.isEmpty)
    try copy.write { writer in
      let headers = try writer.headers(in: setting.test.notes)
      try writer.update(headers.first { $0.title == "one" }!.id) { $0.text = "mine" }
      try writer.delete(headers.first { $0.title == "large" }!.id)
      try writer.insert(Document(title: "new", text: "mine"), into: setting.test.notes)
    }
    let edits = try copy.changes(sinceReleaseOf: setting.source())
    #expect(
      edits.changed.map(\.after?.title) == ["one"] && edits.changed.map(\.parts).allSatisfy { $0.contains(.text) })
    #expect(edits.removed.map(\.before?.title) == ["large"] && edits.added.map(\.after?.title) == ["new"])
    // The next release changes other documents, and one that was edited here.
    try setting.release { writer in
      for header in try writer.headers(in: setting.test.notes) where header.title != "large" {
        try writer.update(header.id) { $0.text += " again" }
      }
    }
    expect(.invalidArgument) {
      try copy.changes(sinceReleaseOf: setting.source())
    }
    try copy.update(from: setting.source())
    let later = try copy.changes(sinceReleaseOf: setting.source())
    #expect(later.changed.map(\.after?.title) == ["one"])
    #expect(later.removed.map(\.before?.title) == ["large"] && later.added.map(\.after?.title) == ["new"])
    try copy.close()
  }

  @Test func provesReleaseOfEditedCopy() throws {
    let setting = try Setting()
    let copy = try setting.open()
    let other = try Publishing.newKey(in: setting.test.place)
    expect(.notAsReleased) { try copy.changes(sinceReleaseOf: setting.source(by: other.publisher)) }
    // A holder of a slot forges the record of the release in the copy.
    try copy.close()
    let database = try Database(setting.copy.path, mode: .readWrite)
    try database.execute("UPDATE coffer_x_release SET note = replace(note, 'documents 4', 'documents 3')")
    try database.close()
    expect(.notAsReleased) { try setting.open().changes(sinceReleaseOf: setting.source()) }
  }

  /// The content of an attachment that the base has doesn't travel again.
  @Test func refusesToKeepAttachmentWithoutContent() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    try setting.edit { try $0.delete(1) }
    try setting.expectRefusal(.invalidArgument) { try setting.update(policy: .theirs) }
    try setting.expectRefusal(.invalidArgument) { try setting.update(policy: .both) }
    try setting.update()
    let copy = try setting.open()
    #expect(try copy.read { try !$0.exists(1) } && copy.verify().isSound)
  }

  @Test func planListsFilesAndChangesNothing() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    try setting.release { try $0.update(1) { $0.text = "third" } }
    try FileManager.default.removeItem(at: setting.file("2-3.update"))
    let store = try setting.open()
    let anchor = try store.anchor()
    let plan = try store.planUpdate(from: setting.source())
    #expect(plan.from == 1 && plan.to == 3 && plan.files.map(\.name) == ["3.anna.key", "1-2.update", "2-3.update"])
    #expect(plan.files.map(\.isThere) == [true, true, false])
    #expect(try store.anchor() == anchor)
    // The update stops at the missing file, and goes on from there.
    expect(.noSuchFile) { try store.update(from: setting.source()) }
    #expect(try DocumentStore.releases(at: setting.copy).map(\.number) == [1, 2])
    try store.close()
    #expect(try setting.released() == 2)
    let new = try DocumentStore.planStore(from: setting.source())
    #expect(new.from == 0 && new.files.map(\.name) == ["3.anna.key", "0-1.update", "1-2.update", "2-3.update"])
  }

  @Test func updatesRekeyedCopyAndOneOfManyReleasesAgo() throws {
    let setting = try Setting()
    let copy = try setting.open()
    try copy.rekey(to: [.published("identity")])
    try copy.close()
    let late = setting.test.place.file("late.coffer")
    try FileManager.default.copyItem(at: setting.copy, to: late)
    for number in 2...6 {
      try setting.release { try $0.update(1) { $0.text = "release \(number)" } }
      if number.isMultiple(of: 2) { try setting.update() }
    }
    try setting.update(late)
    let new = setting.test.place.file("new.coffer")
    try setting.create(new)
    for url in [setting.copy, late, new] {
      #expect(try setting.released(url) == 6)
      #expect(try DocumentStore.releases(at: url).map(\.number) == Array(1...6))
    }
    #expect(try setting.update().from == 6)
  }

  /// Two stores' clocks and commits after a release don't change what the next file carries.
  @Test func updatesAfterCommitsBetweenReleaseAndPublication() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    try setting.update()
    try setting.test.store.write { try $0.move(2, to: .top) }
    try setting.publish()
    try setting.release { try $0.update(2) { $0.text = "third" } }
    try setting.update()
    #expect(try setting.released() == 3)
  }

  @Test func refusesExpiredRelease() throws {
    let setting = try Setting()
    let expires = Timestamp(millisecondsSince1970: Timestamp(Date()).millisecondsSince1970 + 600_000)
    try setting.release(expires: expires) { try $0.update(1) { $0.text = "second" } }
    try setting.expectRefusal(.rolledBack) { try setting.update(from: setting.source(at: expires)) }
    expect(.rolledBack) {
      try setting.create(setting.test.place.file("new.coffer"), from: setting.source(at: expires))
    }
    try setting.update(from: setting.source(at: expires, allowingOlder: true))
    #expect(try setting.released() == 2)
  }

  @Test func refusesOlderFolder() throws {
    let setting = try Setting()
    let older = try setting.copyOfFolder("older")
    try setting.release { try $0.update(1) { $0.text = "second" } }
    try setting.update()
    try setting.expectRefusal(.rolledBack) { try setting.update(from: setting.source(older)) }
    #expect(try setting.update(from: setting.source(older, allowingOlder: true)).to == 2)
    #expect(try setting.released() == 2)
  }

  @Test func followsSigningKeys() throws {
    let setting = try Setting()
    let next = try Publishing.newKey(in: setting.test.place)
    try setting.release(next: next.publisher) { try $0.update(1) { $0.text = "second" } }
    try setting.test.store.write { try $0.update(1) { $0.text = "third" } }
    try setting.test.store.makeRelease(signedBy: next)
    expect(.invalidArgument) { try setting.publish() }
    try setting.publish(signedBy: next)
    let other = try Publishing.newKey(in: setting.test.place)
    try setting.expectRefusal(.notAsReleased) { try setting.update(from: setting.source(by: other.publisher)) }
    // Files that another key signed aren't carried on, so the copy of the first release takes all documents.
    #expect(try setting.names == ["0-3.update", "2-3.update", "3.anna.key"])
    try setting.update()
    #expect(try setting.released() == 3)
    #expect(try setting.released(by: next.publisher) == 3)
  }

  // MARK: The second reader

  @discardableResult
  private func read(
    _ setting: Setting, _ words: String..., folder: URL? = nil, as customer: String = "anna",
    key: String = "identity", by publisher: Publisher? = nil
  ) throws -> JSON {
    let keys = [key, "primary"].flatMap { ["--key-file", PublishedKeys.url($0).path] }
    let publisher = try publisher ?? Publishing.publisher
    return try SecondReader.readRelease(
      folder ?? setting.folder, ["--publisher", publisher.line, "--customer", customer] + keys + words)
  }

  /// The files alone give the documents of the publisher's store, and those of each customer's copy.
  @Test(
    .slow, .enabled(if: SecondReader.isPresent, SecondReader.absence), arguments: CreateOptions.Titles.allCases,
    [true, false])
  func secondReaderReadsFiles(_ titles: CreateOptions.Titles, _ isPadded: Bool) throws {
    let setting = try Setting {
      $0.titles = titles
      $0.isPadded = isPadded
    }
    let before = setting.test.place.file("before.coffer")
    let new = try read(setting, "--compare", setting.copy.path)
    #expect(new["way"].array.map(\.string) == ["0-1.update"] && new["documents"].object.count == 4)
    let content = [UInt8](repeating: 7, count: 200_000)
    let changes = Self.changes + [{ writer in try writer.attach(.bytes(content), to: 2, name: "large.bin") }]
    for (number, change) in changes.enumerated() {
      try setting.release(change)
      try? FileManager.default.removeItem(at: before)
      try FileManager.default.copyItem(at: setting.copy, to: before)
      try setting.update()
      let update = "\(number + 1)-\(number + 2).update"
      let read = try read(setting, "--copy", before.path, "--compare", setting.copy.path)
      #expect(read["way"].array.map(\.string) == [update], "change \(number)")
      let hash = try setting.test.store.engine.read { try $0.contentHash() }
      #expect(read["content_hash"].string == Hexadecimal.text(hash))
    }
    let whole = try read(setting, "--compare", setting.test.url.path)
    #expect(whole["release"].int == Int64(changes.count) + 1)
  }

  @Test(.enabled(if: SecondReader.isPresent, SecondReader.absence)) func secondReaderRefusesWhatUpdateRefuses() throws {
    let setting = try Setting()
    let older = try setting.copyOfFolder("older")
    let next = try Publishing.newKey(in: setting.test.place)
    let expires = Timestamp(millisecondsSince1970: Timestamp(Date()).millisecondsSince1970 + 600_000)
    try setting.release(next: next.publisher) { try $0.update(1) { $0.text = "second" } }
    try setting.release(signedBy: next, expires: expires) { try $0.update(1) { $0.text = "third" } }
    #expect(try read(setting)["release"].int == 3)
    #expect(try read(setting, by: next.publisher)["release"].int == 3)
    func expectStatus(_ status: Int32, location: SourceLocation = #_sourceLocation, _ read: () throws -> Void) {
      #expect(throws: SecondReader.Failure(status: status), sourceLocation: location, performing: read)
    }
    let other = try Publishing.newKey(in: setting.test.place)
    expectStatus(21) { try read(setting, by: other.publisher) }
    expectStatus(21) { try read(setting, folder: older, by: next.publisher) }
    expectStatus(21) { try read(setting, "--at", expires.description) }
    expectStatus(13) { try read(setting, as: "bert") }
    expectStatus(12) { try read(setting, key: "primary") }
    try setting.update()
    expectStatus(21) { try read(setting, "--copy", setting.copy.path, folder: older) }
    try setting.edit { try $0.update(1) { $0.text = "mine" } }
    expectStatus(21) { try read(setting, "--copy", setting.copy.path) }
    let file = setting.file("2-3.update")
    var bytes = try Data(contentsOf: file)
    bytes[100] ^= 1
    try bytes.write(to: file)
    expectStatus(21) { try read(setting) }
    try FileManager.default.removeItem(at: file)
    #expect(try read(setting)["way"].array.map(\.string) == ["0-3.update"])
    try FileManager.default.removeItem(at: setting.file("0-3.update"))
    expectStatus(10) { try read(setting) }
    let index = setting.file("index")
    let text = try String(contentsOf: index, encoding: .utf8)
    for changed in [text.replacing("update 0 3", with: "update 0 2"), text + "\n", ""] {
      try Data(changed.utf8).write(to: index)
      expectStatus(21) { try read(setting) }
    }
  }

  /// The script of the example, which has 59 lines.
  @Test(.enabled(if: SecondReader.isPresent, SecondReader.absence)) func exampleChecksSignatures() throws {
    let setting = try Setting()
    let script = SecondReader.project.appending(path: "Examples/releases/check_release.py")
    #expect(
      try String(contentsOf: script, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false).count
        <= 61)
    func isAccepted(_ place: URL? = nil, by publisher: Publisher? = nil) throws -> Bool {
      let words = [(place ?? setting.folder).path, (try publisher ?? Publishing.publisher).line]
      return try SecondReader.run(["python3", script.path] + words).status == 0
    }
    let next = try Publishing.newKey(in: setting.test.place)
    try setting.release(next: next.publisher) { try $0.update(1) { $0.text = "second" } }
    #expect(try isAccepted() && isAccepted(setting.test.url) && isAccepted(setting.copy))
    #expect(try !isAccepted(by: next.publisher))
    try setting.release(signedBy: next) { try $0.update(1) { $0.text = "third" } }
    #expect(try isAccepted() && isAccepted(setting.test.url) && isAccepted(by: next.publisher))
    let other = try Publishing.newKey(in: setting.test.place)
    #expect(try !isAccepted(by: other.publisher) && !isAccepted(setting.test.url, by: other.publisher))
    let index = setting.file("index")
    let text = try String(contentsOf: index, encoding: .utf8)
    for changed in [
      text.replacing("update 0 3", with: "update 0 2"), text.replacing("documents 4", with: "documents 5"),
      text.replacing("number 2", with: "number 1"),
    ] {
      #expect(changed != text)
      try Data(changed.utf8).write(to: index)
      #expect(try !isAccepted())
    }
    try Data(text.utf8).write(to: index)
    let file = setting.file("2-3.update")
    try (Data(contentsOf: file) + [0]).write(to: file)
    #expect(try !isAccepted())
    let expired = try TestStore()
    try expired.store.engine.addRelease(
      of: expired.store.anchor(), signedBy: Publishing.key, at: Timestamp(millisecondsSince1970: 0),
      expires: Timestamp(millisecondsSince1970: 1000), next: nil, progress: nil)
    #expect(try !isAccepted(expired.url))
  }

  // MARK: Customers

  @Test func revokesCustomer() throws {
    let setting = try Setting()
    let (bert, identity) = try customer("bert", in: setting.test.place)
    try setting.publish(for: [try Self.anna, bert])
    let copy = setting.test.place.file("bert.coffer")
    try setting.create(copy, from: setting.source(as: "bert", key: .keyFile(identity)))
    let (first, anna) = (try Data(contentsOf: setting.file("1.bert.key")), setting.file("2.anna.key"))
    try setting.release { try $0.update(1) { $0.text = "second" } }
    func update() throws { try setting.update(copy, from: setting.source(as: "bert", key: .keyFile(identity))) }
    expect(.keyNeeded) { try update() }
    // Neither another customer's key file nor the customer's own for another release opens this one.
    for bytes in [try Data(contentsOf: anna), first] {
      try bytes.write(to: setting.file("2.bert.key"))
      expect(.cannotUnlock) { try update() }
    }
    try setting.update()
    #expect(try setting.released() == 2 && setting.open(copy).read { try $0.text(of: 1) } == "alpha")
    // A customer who is there again reads what was missed, too.
    try setting.release(for: [try Self.anna, bert]) { try $0.update(2) { $0.text = "third" } }
    try update()
    #expect(try setting.open(copy).read { try $0.text(of: 1) } == "second")
  }

  /// A revocation between two releases.
  @Test func publishingAgainKeepsOtherKeyFiles() throws {
    let setting = try Setting()
    let (bert, identity) = try customer("bert", in: setting.test.place)
    try setting.publish(for: [try Self.anna, bert])
    func contents(_ name: String) throws -> Data { try Data(contentsOf: setting.file(name)) }
    let first = try contents("1.anna.key")
    let index = try contents("index")
    try setting.publish()
    #expect(try contents("1.anna.key") == first && contents("index") == index)
    #expect(try setting.names == ["0-1.update", "1.anna.key"])
    // A customer with another identity, and a damaged file.
    try setting.publish(for: [try ReleaseCustomer(name: "anna", recipient: Recipient(identity: identity))])
    #expect(try contents("1.anna.key") != first)
    for text in [
      String(decoding: first, as: UTF8.self).replacing("wrapped ", with: "wrapped 00"), "",
      String(repeating: "0", count: 2_000),
    ] {
      try Data(text.utf8).write(to: setting.file("1.anna.key"))
      try setting.publish()
      try setting.create(setting.test.place.file("\(UUID().uuidString).coffer"))
    }
    // An index that someone else signed says nothing about the files.
    let attacker = try Publishing.newKey(in: setting.test.place)
    let parsed = try #require(ReleaseIndex(String(decoding: index, as: UTF8.self)))
    try Data(try ReleaseIndex(parsed.releases, parsed.updates, signedBy: attacker).text.utf8)
      .write(to: setting.file("index"))
    let second = try contents("1.anna.key")
    try setting.publish()
    #expect(try contents("1.anna.key") != second)
  }

  @Test func rejectsOtherTextInPlaceOfKeyFile() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    let file = setting.file("2.anna.key")
    let text = try String(contentsOf: file, encoding: .utf8)
    for other in ["", "text\n", text + "\n", text.replacing("wrapped ", with: "wrapped x")] {
      try Data(other.utf8).write(to: file)
      try setting.expectRefusal(.keyFileInvalid) { try setting.update() }
    }
  }

  @Test(arguments: ["", "a/b", ".", "A", String(repeating: "a", count: 65)]) func rejectsName(_ name: String) throws {
    expect(.invalidArgument) { try ReleaseCustomer(name: name, recipient: try Self.anna.recipient) }
    let setting = try Setting()
    try setting.release { _ in }
    try setting.expectRefusal(.invalidArgument) { try setting.update(from: setting.source(as: name)) }
  }

  // MARK: Publishing

  @Test func rejectsStoresThatAreNotReleased() throws {
    let setting = try Setting()
    let place = setting.test.place.file("other")
    let other = try Publishing.newKey(in: setting.test.place)
    expect(.invalidArgument) { try setting.publish(to: place, signedBy: other) }
    let anna = try Self.anna
    expect(.invalidArgument) { try setting.publish(to: place, for: [anna, anna]) }
    // A copy has the releases, but not what leads from one to the next.
    let copy = try setting.open()
    expect(.invalidArgument) { try copy.publishRelease(to: place, for: [anna], signedBy: Publishing.key) }
    try copy.makeRelease(signedBy: Publishing.key)
    try copy.publishRelease(to: place, for: [anna], signedBy: Publishing.key)
    #expect(try setting.create(setting.test.place.file("new.coffer"), from: setting.source(place)).to == 2)
    // This store lacks that release.
    expect(.invalidArgument) { try setting.publish(to: place) }
    try setting.test.store.write { try $0.update(1) { $0.text = "edited" } }
    expect(.notAsReleased) { try setting.publish() }
  }

  /// A former key holder could open what is sealed under a key that a rekey doesn't change.
  @Test func publishesNewFilesAfterRekey() throws {
    let setting = try Setting()
    try setting.test.store.rekey(to: [.published("primary")])
    expect(.invalidArgument) { try setting.publish() }
    let made = try setting.release { try $0.update(1) { $0.text = "second" } }
    #expect(made.files.map(\.name) == ["0-2.update"])
    try setting.update()
    #expect(try setting.released() == 2)
    let next = try setting.release { try $0.update(1) { $0.text = "third" } }
    #expect(next.files.map(\.name) == ["2-3.update"])
    try setting.update()
    #expect(try setting.released() == 3)
  }

  @Test func leavesOtherFilesAlone() throws {
    let setting = try Setting()
    try Data("text".utf8).write(to: setting.file("readme.txt"))
    try setting.release { try $0.update(1) { $0.text = "second" } }
    #expect(try setting.names == ["0-1.update", "1-2.update", "2.anna.key", "readme.txt"])
    let other = setting.test.place.file("other")
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
    try Data("text".utf8).write(to: other.appending(path: "readme.txt"))
    expect(.alreadyExists) { try setting.publish(to: other) }
  }

  /// Files of a publication that was stopped are replaced or removed by the next one.
  @Test func continuesStoppedPublication() throws {
    let setting = try Setting()
    let before = try setting.copyOfFolder("before")
    try setting.release { try $0.update(1) { $0.text = "second" } }
    try FileManager.default.removeItem(at: setting.file("index"))
    try FileManager.default.copyItem(at: before.appending(path: "index"), to: setting.file("index"))
    try Data("cut".utf8).write(to: setting.file("1-2.update"))
    try setting.publish()
    try setting.update()
    #expect(try setting.released() == 2)
    #expect(try setting.names == ["0-1.update", "1-2.update", "2.anna.key"])
  }

  /// The file with all documents is made again when the files after it are as long as half of it, and what no reader needs
  /// goes.
  /// A file that is missing or cut, among those that the index lists.
  @Test func publishesRemovedFilesAgain() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    for name in ["0-1.update", "0-2.update", "1-2.update"]
    where FileManager.default.fileExists(atPath: setting.file(name).path) {
      try FileManager.default.removeItem(at: setting.file(name))
    }
    #expect(try setting.publish().files.count == 1)
    let copy = setting.test.place.file("new.coffer")
    try setting.create(copy)
    #expect(try setting.open(copy).read { try $0.text(of: 1) } == "second")
    try setting.update()
    #expect(try setting.released() == 2)
  }

  @Test func keepsUsefulFiles() throws {
    let setting = try Setting()
    let late = setting.test.place.file("late.coffer")
    try FileManager.default.copyItem(at: setting.copy, to: late)
    var bases: Set<String> = []
    for number in 2...9 {
      try setting.release { try $0.update(1) { $0.text = String(repeating: "\(number)", count: 12_000) } }
      let sizes = try setting.names.filter { $0.hasSuffix(".update") }.map { name in
        (name, try Data(contentsOf: setting.file(name)).count)
      }
      let whole = try #require(sizes.first { $0.0.hasPrefix("0-") })
      #expect(sizes.filter { $0.0 != whole.0 }.reduce(0) { $0 + $1.1 } < 2 * whole.1)
      bases.insert(whole.0)
      try setting.update()
      #expect(try setting.released() == Int64(number))
    }
    #expect(bases.count == 2)
    try setting.update(late)
    #expect(try setting.released(late) == 9)
  }

  @Test func rejectsPlainCopyAndReleaseOpenedForReading() throws {
    let setting = try Setting()
    let plain = setting.test.place.file("plain.coffer")
    try setting.test.store.copy(to: plain, keys: [.published("identity")])
    try setting.release { try $0.update(1) { $0.text = "second" } }
    expect(.notAsReleased) { try setting.update(plain) }
    let store = try setting.test.asReleased(at: setting.copy, .published("identity"))
    try setting.expectRefusal(.readOnly) { try store.update(from: setting.source()) }
  }

  // MARK: Attacks

  /// A mirror serves a file that was cut, changed or exchanged.
  @Test func rejectsOtherBytes() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    let file = setting.file("1-2.update")
    let bytes = try Data(contentsOf: file)
    var changed: [Data] = [
      Data(), bytes.prefix(bytes.count - 1), bytes + [0], try Data(contentsOf: setting.file("0-1.update")),
    ]
    for index in [0, 100, bytes.count / 2, bytes.count - 1] {
      var one = bytes
      one[index] ^= 1
      changed.append(one)
    }
    for one in changed {
      try one.write(to: file)
      try setting.expectRefusal(.notAsReleased) { try setting.update() }
    }
    try FileManager.default.removeItem(at: file)
    try setting.expectRefusal(.noSuchFile) { try setting.update() }
    try bytes.write(to: file)
    try setting.update()
  }

  /// A customer can open the files and write any row, and sign with another key.
  @Test func rejectsIndexOfAttacker() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    let file = setting.file("index")
    let text = try String(contentsOf: file, encoding: .utf8)
    let index = try #require(ReleaseIndex(text))
    let attacker = try Publishing.newKey(in: setting.test.place)
    func signed(_ key: SigningKey, _ change: (inout ReleaseUpdate) -> Void) throws -> String {
      var updates = index.updates
      change(&updates[updates.count - 1])
      return try ReleaseIndex(index.releases, updates, signedBy: key).text
    }
    let release = index.newest.note
    var others = [
      // The attacker's file, and the attacker's release.
      try signed(attacker) { $0.digest = [UInt8](repeating: 0, count: 32) },
      text.replacing(Hexadecimal.text(index.updates[1].digest), with: String(repeating: "0", count: 64)),
      text.replacing(release.description, with: try attacker.sign(release.text).description),
      // Texts of another form.
      "", "text\n", text + "\n", text.replacing("update 1 2", with: "update 01 2"), String(text.dropLast(40)),
    ]
    // An index without the files, which hides nothing: there's no way to the release that it names.
    others.append(try ReleaseIndex(index.releases, [], signedBy: Publishing.key).text)
    for other in others {
      try Data(other.utf8).write(to: file)
      try setting.expectRefusal(.notAsReleased) { try setting.update() }
      expect(.notAsReleased) { try setting.create(setting.test.place.file("new.coffer")) }
    }
    try Data(text.utf8).write(to: file)
    try setting.update()
  }

  /// The signing key was replaced, and stolen. The files are true, so only the signatures tell.
  @Test func rejectsIndexOfFormerKey() throws {
    let setting = try Setting()
    let next = try Publishing.newKey(in: setting.test.place)
    try setting.release(next: next.publisher) { try $0.update(1) { $0.text = "second" } }
    try setting.update()
    try setting.release(signedBy: next) { try $0.update(1) { $0.text = "third" } }
    let file = setting.file("index")
    let text = try String(contentsOf: file, encoding: .utf8)
    let index = try #require(ReleaseIndex(text))
    let forged = try #require(SignedRelease(Publishing.key.sign(index.newest.note.text)))
    let releases = index.releases.dropLast() + [forged]
    try Data(try ReleaseIndex(Array(releases), index.updates, signedBy: Publishing.key).text.utf8).write(to: file)
    try setting.expectRefusal(.notAsReleased) { try setting.update() }
    expect(.notAsReleased) { try setting.create(setting.test.place.file("new.coffer")) }
    try Data(text.utf8).write(to: file)
    try setting.update()
    #expect(try setting.released() == 3)
  }

  /// A new copy would keep the changed text, and refuse the publisher's folder from then on.
  @Test func rejectsChangedTextOfEarlierRelease() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    let file = setting.file("index")
    let text = try String(contentsOf: file, encoding: .utf8)
    let index = try #require(ReleaseIndex(text))
    let first = index.releases[0].note
    let changed = first.description.replacing("expires none", with: "expires 2000-01-01T00:00:00.000Z")
    #expect(changed != first.description)
    try Data(text.replacing(first.description, with: changed).utf8).write(to: file)
    expect(.notAsReleased) { try setting.create(setting.test.place.file("new.coffer")) }
    try setting.expectRefusal(.notAsReleased) { try setting.update() }
    try Data(text.utf8).write(to: file)
    try setting.create(setting.test.place.file("new.coffer"))
  }

  @Test func rejectsFolderOfOtherDataSet() throws {
    let (one, two) = (try Setting(), try Setting())
    for setting in [one, two] { try setting.release { try $0.update(1) { $0.text = "second" } } }
    try one.expectRefusal(.notAsReleased) { try one.update(from: two.source()) }
    // Files of another data set under this one's index.
    try FileManager.default.removeItem(at: one.file("1-2.update"))
    try FileManager.default.copyItem(at: two.file("1-2.update"), to: one.file("1-2.update"))
    try one.expectRefusal(.notAsReleased) { try one.update() }
    expect(.invalidArgument) { try one.publish(to: two.folder) }
  }

  /// An index that someone else could write isn't signed again.
  @Test func publishesOnlyLinesOfOwnIndex() throws {
    let setting = try Setting()
    try setting.release { try $0.update(1) { $0.text = "second" } }
    let text = try String(contentsOf: setting.file("index"), encoding: .utf8)
    let index = try #require(ReleaseIndex(text))
    var updates = index.updates
    updates[1].digest = [UInt8](repeating: 0, count: 32)
    let attacker = try Publishing.newKey(in: setting.test.place)
    try Data(try ReleaseIndex(index.releases, updates, signedBy: attacker).text.utf8).write(to: setting.file("index"))
    try setting.release { try $0.update(2) { $0.text = "third" } }
    let published = try String(contentsOf: setting.file("index"), encoding: .utf8)
    #expect(!published.contains(String(repeating: "0", count: 64)))
    try setting.update()
    #expect(try setting.released() == 3)
  }

  /// Copies of older releases take the file with all documents.
  @Test func keepsNewestFilesFromReleaseToRelease() throws {
    let updates = try [(0, 3), (1, 2), (2, 3), (3, 4), (4, 5)].map { from, to in
      ReleaseUpdate(
        from: Int64(from), to: Int64(to), identity: try UniqueID.random(), payloadCount: 0, commitment: [],
        earlier: nil, byteCount: 1, digest: [])
    }
    #expect(ReleaseIndex.newest(updates, deltas: 2) == [updates[0], updates[3], updates[4]])
    #expect(ReleaseIndex.newest(updates, deltas: 4) == updates)
    #expect(
      ReleaseIndex.useful(ReleaseIndex.newest(updates, deltas: 2), to: 5) == [updates[0], updates[3], updates[4]])
  }
}
