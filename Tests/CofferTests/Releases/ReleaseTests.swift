import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import Foundation
import Testing

@testable import CofferStoreTestSupport

@Suite struct ReleaseTests {
  /// Returns a store with documents of every kind, with its first release.
  private func released(_ change: (inout CreateOptions) -> Void = { _ in }) throws -> TestStore {
    let test = try TestStore(change)
    try fill(test)
    try test.store.makeRelease(signedBy: Publishing.key)
    return test
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      let parent = try writer.insert(Document(title: "one", text: "alpha"), into: test.notes)
      try writer.insert(
        Document(title: "two", text: "beta", key: "k2", attributes: ["a": 1], parent: parent), into: test.notes)
      try writer.insert(Document(text: String(repeating: "long ", count: 1000)), into: DocumentCollection("others"))
      try writer.attach(.bytes(Array("file".utf8)), to: parent, name: "file.txt")
    }
  }

  // MARK: Making

  @Test func opensReleaseAsReleased() throws {
    let test = try released()
    let store = try test.asReleased()
    #expect(store.release?.number == 1 && store.release?.documents == 3 && store.release?.collections == 2)
    try store.read { reader in
      #expect(try reader.text(of: 1) == "alpha")
      #expect(try reader.headers(in: test.notes).map(\.title) == ["one", "two"])
      #expect(try reader.id(forKey: "k2", in: test.notes) == 2)
      let attachment = try reader.attachments(of: 1)[0].id
      #expect(try reader.content(of: attachment) == Array("file".utf8))
      #expect(try reader.content(of: attachment, in: 1..<3) == Array("il".utf8))
    }
    #expect(try store.verify().isSound)
    expect(.readOnly) { try store.write { try $0.delete(1) } }
  }

  @Test func provesAttachmentOncePerTransaction() throws {
    let test = try TestStore()
    try fill(test)
    let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let id = try test.store.write { try $0.attach(content, to: 1, name: "large").id }
    try test.store.makeRelease(signedBy: Publishing.key)
    let store = try test.asReleased()
    let proof = try store.read { reader throws in
      var (memory, checks) = ([UInt8](repeating: 0, count: 10), 0)
      let (transaction, chunks) = (reader.transaction, try reader.transaction.chunks(of: id))
      try memory.withUnsafeMutableBytes { memory in
        try chunks.read(0..<10, from: transaction.database, into: memory) { checks += 1 }
      }
      #expect(checks == 4)
      #expect(try reader.content(of: id, in: 70_000..<70_010) == Array(content[70_000..<70_010]))
      return transaction.lastProof
    }
    #expect(proof != nil)
    // Only a proof of the whole content opens the last chunk, too.
    try test.raw().execute(
      "UPDATE coffer_chunk SET ct = zeroblob(length(ct)) WHERE chunk = (SELECT max(chunk) FROM coffer_chunk)")
    expect(.damaged) { try store.read { try $0.content(of: id, in: 0..<10) } }
    for (range, isProved) in [(0..<10, true), (199_000..<200_000, false)] {
      func read() throws -> [UInt8] {
        try store.read { reader throws in
          reader.transaction.lastProof = proof
          return try reader.content(of: id, in: range)
        }
      }
      if isProved { #expect(try read() == Array(content[range])) } else { expect(.damaged) { try read() } }
    }
  }

  @Test func numbersReleases() throws {
    let test = try released()
    let first = try #require(try DocumentStore.releases(at: test.url).first)
    let time = Timestamp(millisecondsSince1970: first.time.millisecondsSince1970 + 1)
    let expires = Timestamp(millisecondsSince1970: time.millisecondsSince1970 + 1)
    let second = try test.store.makeRelease(signedBy: Publishing.key, at: time, expires: expires)
    #expect((second.number, second.time, second.expires) == (2, time, expires))
    let releases = try DocumentStore.releases(at: test.url)
    #expect(releases == [first, second])
    #expect(second.text.contains("previous \(Hexadecimal.text(try sha256(Array(first.text.utf8))))\n"))
  }

  @Test func rejectsEarlierTime() throws {
    let test = try released()
    let time = try #require(try DocumentStore.releases(at: test.url).first).time
    expect(.invalidArgument) { try test.store.makeRelease(signedBy: Publishing.key, at: time) }
    let later = Timestamp(millisecondsSince1970: time.millisecondsSince1970 + 1)
    expect(.invalidArgument) { try test.store.makeRelease(signedBy: Publishing.key, at: later, expires: later) }
    #expect(try DocumentStore.releases(at: test.url).count == 1)
  }

  @Test func rejectsOtherSigningKey() throws {
    let test = try released()
    let other = try Publishing.newKey(in: test.place)
    expect(.invalidArgument) { try test.store.makeRelease(signedBy: other) }
    #expect(try DocumentStore.releases(at: test.url).count == 1)
  }

  @Test func rejectsRealKeyForTestStore() throws {
    let test = try TestStore()
    let real = try Publishing.newKey(in: test.place, isTest: false)
    expect(.testKeyRefused) { try test.store.makeRelease(signedBy: real) }
    expect(.testKeyRefused) { try test.store.makeRelease(signedBy: Publishing.key, next: real.publisher) }
    try test.store.makeRelease(signedBy: Publishing.key)
    expect(.testKeyRefused) { try test.asReleased(by: real.publisher) }
  }

  @Test func rejectsDamagedStore() throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    try raw.execute("DELETE FROM coffer_record WHERE id = 2")
    try raw.close()
    expect(.setMismatch) { try test.store.makeRelease(signedBy: Publishing.key) }
    #expect(try DocumentStore.releases(at: test.url).isEmpty)
  }

  @Test func releasesEmptyStore() throws {
    let test = try TestStore()
    try test.store.makeRelease(signedBy: Publishing.key)
    #expect(try test.asReleased().release?.documents == 0)
  }

  // MARK: Publishers

  @Test func rejectsStoreWithoutRelease() throws {
    let test = try TestStore()
    expect(.notAsReleased) { try test.asReleased() }
  }

  @Test func rejectsOtherPublisher() throws {
    let test = try released()
    let other = try Publishing.newKey(in: test.place).publisher
    expect(.notAsReleased) { try test.asReleased(by: other) }
  }

  @Test func followsAnnouncedSigningKeys() throws {
    let test = try released()
    let (second, third) = (try Publishing.newKey(in: test.place), try Publishing.newKey(in: test.place))
    try test.store.makeRelease(signedBy: Publishing.key, next: second.publisher)
    expect(.invalidArgument) { try test.store.makeRelease(signedBy: Publishing.key) }
    try test.store.makeRelease(signedBy: second)
    try test.store.makeRelease(signedBy: second, next: third.publisher)
    try test.store.makeRelease(signedBy: third)
    for publisher in [try Publishing.publisher, second.publisher, third.publisher] {
      #expect(try test.asReleased(by: publisher).release?.number == 5)
    }
  }

  @Test func keepsSigningKeyNamedAsNext() throws {
    let test = try TestStore()
    #expect(try test.store.makeRelease(signedBy: Publishing.key, next: Publishing.publisher).next == nil)
    try test.store.makeRelease(signedBy: Publishing.key)
  }

  @Test(.enabled(if: SecondReader.isPresent, SecondReader.absence)) func secondReaderProvesRelease() throws {
    let test = try released()
    let next = try Publishing.newKey(in: test.place)
    func proved(_ publisher: Publisher) throws -> Int64? {
      try SecondReader.read(
        test.url, ["--key-file", PublishedKeys.url("primary").path, "--publisher", publisher.line])["release"].int
    }
    #expect(try proved(Publishing.publisher) == 1)
    #expect(throws: SecondReader.Failure(status: 21)) { try proved(next.publisher) }
    try test.store.makeRelease(signedBy: Publishing.key, next: next.publisher)
    try test.store.makeRelease(signedBy: next)
    #expect(try proved(Publishing.publisher) == 3)
    #expect(try proved(next.publisher) == 3)
    try test.store.write { try $0.update(1) { $0.text = "forged" } }
    #expect(throws: SecondReader.Failure(status: 21)) { try proved(Publishing.publisher) }
  }

  // MARK: Remembered proofs

  private func remembering(_ test: TestStore, _ memory: URL, _ url: URL? = nil) throws -> DocumentStore {
    var options = Publishing.options(try Publishing.publisher)
    options.proofFile = memory
    return try DocumentStore.open(at: url ?? test.url, key: .published("primary"), options: options)
  }

  @Test func remembersProof() throws {
    let test = try released()
    let memory = test.place.file("proof")
    #expect(try remembering(test, memory).release?.number == 1)
    let remembered = try Data(contentsOf: memory)
    let store = try remembering(test, memory)
    #expect(try Data(contentsOf: memory) == remembered)
    try store.read { reader in
      #expect(try reader.text(of: 1) == "alpha")
      #expect(try reader.headers(in: DocumentCollection("others")).count == 1)
      let attachment = try reader.attachments(of: 1)[0].id
      #expect(try reader.content(of: attachment) == Array("file".utf8))
    }
    #expect(try store.verify().isSound)
  }

  /// Rows in several blocks of the file, in the order of lists and in any other.
  @Test func readsManyRowsOfRememberedProof() throws {
    let test = try released()
    let texts = (0..<1000).map { "text \($0)" }
    let ids = try test.store.write { transaction in
      try texts.map { try transaction.insert(Document(text: $0), into: "many") }
    }
    try test.store.write { transaction in
      for id in ids.prefix(900).dropFirst(300) where id.rawValue.isMultiple(of: 3) { try transaction.delete(id) }
    }
    try test.store.makeRelease(signedBy: Publishing.key)
    let memory = test.place.file("proof")
    _ = try remembering(test, memory)
    let store = try remembering(test, memory)
    let kept = try test.store.read { try $0.headers(in: "many").map(\.id) }
    #expect(kept.count == 800)
    #expect(try store.read { try $0.headers(in: "many").map(\.id) } == kept)
    try store.read { reader in
      for id in kept.reversed() + kept.shuffled() {
        let text = try reader.text(of: id)
        #expect(text == texts[Int(id.rawValue - ids[0].rawValue)])
      }
    }
    // Another session proves a changed state, and replaces the file, which the first one goes on reading.
    try test.store.write { try $0.move(2, to: .top) }
    #expect(try remembering(test, memory).read { try $0.text(of: kept[5]) } == texts[5])
    #expect(try store.read { try $0.headers(in: "many").count } == 800)
    // A file that is cut while a store is open.
    let other = try remembering(test, memory)
    var remembered = try Data(contentsOf: memory)
    remembered.replaceSubrange(55..<63, with: Data(repeating: 0x7F, count: 8))
    try FileHandle(forWritingTo: memory).truncate(atOffset: 100)
    expect(.ioFailure) { try other.read { try $0.text(of: kept[0]) } }
    // A damaged file, in which the numbers of a block fall, gives no other text.
    try remembered.write(to: memory)
    let damaged = try remembering(test, memory)
    for id in kept.prefix(20) {
      let text = try? damaged.read { try $0.text(of: id) }
      #expect(text == nil || text == texts[Int(id.rawValue - ids[0].rawValue)])
    }
  }

  /// The rows are forged and the state isn't, so opening doesn't notice it, but reading does.
  @Test func rejectsRowsForgedBehindProof() throws {
    let test = try released()
    let forged = test.place.file("forged.coffer")
    try test.store.backup(to: forged)
    let editor = try DocumentStore.open(at: forged, key: .published("primary"), options: .testing)
    try editor.write { try $0.update(1) { $0.text = "forged" } }
    try editor.close()
    try test.store.write { try $0.move(2, to: .top) }
    let memory = test.place.file("proof")
    _ = try remembering(test, memory)
    let raw = try test.raw()
    try raw.execute("ATTACH '\(forged.path)' AS other")
    try raw.execute("INSERT OR REPLACE INTO main.coffer_record SELECT * FROM other.coffer_record WHERE id = 1")
    try raw.close()
    let store = try remembering(test, memory)
    expect(.notAsReleased) { try store.read { try $0.text(of: 1) } }
    #expect(try store.read { try $0.text(of: 2) } == "beta")
    #expect(try store.verify().error?.code == .setMismatch)
  }

  @Test func provesChangedStateAgain() throws {
    let test = try released()
    let memory = test.place.file("proof")
    _ = try remembering(test, memory)
    let first = try Data(contentsOf: memory)
    try test.store.write { try $0.move(2, to: .top) }
    #expect(try remembering(test, memory).read { try $0.text(of: 2) } == "beta")
    #expect(try Data(contentsOf: memory) != first)
    try test.store.write { try $0.update(1) { $0.text = "forged" } }
    expect(.notAsReleased) { try remembering(test, memory) }
  }

  /// A proof of another store or publisher, and a file that was cut, prove nothing.
  @Test func ignoresOtherProofs() throws {
    let test = try released()
    let memory = test.place.file("proof")
    _ = try remembering(test, memory)
    let proof = try Data(contentsOf: memory)
    let copy = test.place.file("copy.coffer")
    try test.store.makeEditableCopy(at: copy, keys: [.published("primary")])
    #expect(try remembering(test, memory, copy).read { try $0.text(of: 1) } == "alpha")
    #expect(try Data(contentsOf: memory) != proof)
    for count in [0, 15, proof.count / 2, proof.count - 1] {
      try proof.prefix(count).write(to: memory)
      #expect(try remembering(test, memory).read { try $0.text(of: 1) } == "alpha")
      #expect(try Data(contentsOf: memory) == proof)
    }
    try (proof + [0]).write(to: memory)
    #expect(try remembering(test, memory).release?.number == 1)
    #expect(try Data(contentsOf: memory) == proof)
  }

  /// A key, for example.
  @Test func proofNeverReplacesOtherFile() throws {
    let test = try released()
    let file = test.place.file("other")
    for text in ["coffer", "coffer-proof-2\n", String(repeating: "text\n", count: 100)] {
      try Data(text.utf8).write(to: file)
      expect(.alreadyExists) { try remembering(test, file) }
      #expect(try Data(contentsOf: file) == Data(text.utf8))
    }
    try Data().write(to: file)
    #expect(try remembering(test, file).release?.number == 1)
  }

  @Test func proofNeverReplacesStore() throws {
    let test = try released()
    let bytes = try Data(contentsOf: test.url)
    #expect(throws: StoreError.self) { try remembering(test, test.url) }
    #expect(try Data(contentsOf: test.url) == bytes)
  }

  // MARK: With other features

  @Test func editedStoreIsNotAsReleased() throws {
    let test = try released()
    let changes: [(inout WriteTransaction) throws -> Void] = [
      { writer in try writer.update(1) { $0.text = "forged" } },
      { writer in try writer.update(1) { $0.title = "forged" } },
      { writer in try writer.update(2) { $0.attributes["a"] = 2 } },
      { writer in try writer.setKey(of: 2, to: "other") },
      { writer in try writer.setParent(of: 2, to: nil) }, { writer in try writer.delete(3) },
      { writer in try writer.insert(Document(text: "more"), into: test.notes) },
      { writer in try writer.rename(DocumentCollection("others"), to: "else") },
      { writer in try writer.create(DocumentCollection("empty")) },
      { writer in try writer.move(3, into: test.notes) },
      { writer in try writer.attach(.bytes([1]), to: 1, name: "more") },
      { writer in try writer.detach(writer.attachments(of: 1)[0].id) },
      { writer in try writer.rename(writer.attachments(of: 1)[0].id, to: "other") },
    ]
    let original = try Data(contentsOf: test.url)
    try test.store.close()
    for (number, change) in changes.enumerated() {
      let url = test.place.file("edited-\(number).coffer")
      try original.write(to: url)
      #expect(try test.asReleased(at: url).release?.number == 1)
      let editor = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      try editor.write { try change(&$0) }
      try editor.close()
      expect(.notAsReleased) { try test.asReleased(at: url) }
      // The publisher can release it as it is now.
      let publishing = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      #expect(try publishing.makeRelease(signedBy: Publishing.key).number == 2)
      #expect(try test.asReleased(at: url).release?.number == 2)
    }
  }

  /// The order is a copy's own, as are IDs.
  @Test func movedDocumentIsAsReleased() throws {
    let test = try released()
    try test.store.write { try $0.move(2, to: .top) }
    #expect(try test.asReleased().release?.number == 1)
  }

  @Test(arguments: [CreateOptions.Titles.sealed, .clear, .none])
  func copiesWithFamilyKeepReleases(_ titles: CreateOptions.Titles) throws {
    let test = try released { $0.titles = titles }
    let copy = test.place.file("copy.coffer")
    try test.store.makeEditableCopy(at: copy, keys: [.published("next")])
    #expect(try test.asReleased(at: copy, .published("next")).release?.number == 1)
    let backup = test.place.file("backup.coffer")
    try test.store.backup(to: backup)
    #expect(try test.asReleased(at: backup).release?.number == 1)
    try test.store.close()
    _ = try DocumentStore.compact(at: test.url)
    #expect(try test.asReleased().release?.number == 1)
    let restored = test.place.file("restored.coffer")
    try DocumentStore.restore(at: restored, from: backup)
    #expect(try test.asReleased(at: restored).release?.number == 1)
  }

  @Test func rekeyKeepsReleases() throws {
    let test = try released()
    try test.store.rekey(to: [.published("next")])
    #expect(try test.asReleased(.published("next") as StoreKey).release?.number == 1)
    #expect(try DocumentStore.releases(at: test.url).count == 1)
    try test.store.makeRelease(signedBy: Publishing.key)
    #expect(try test.asReleased(.published("next") as StoreKey).release?.number == 2)
  }

  @Test func rekeyWithoutTitlesIsNotAsReleased() throws {
    let test = try released()
    var options = RekeyOptions()
    options.changeTitles(to: .none)
    try test.store.rekey(to: [], options: options)
    expect(.notAsReleased) { try test.asReleased() }
  }

  /// A plain copy has other identities, so that nothing links it to its source.
  @Test func plainCopyHasNoReleases() throws {
    let test = try released()
    let copy = test.place.file("copy.coffer")
    try test.store.copy(to: copy, keys: [.published("next")])
    #expect(try DocumentStore.releases(at: copy).isEmpty)
    expect(.notAsReleased) { try test.asReleased(at: copy, .published("next")) }
  }

  @Test func salvageHasNoReleases() throws {
    let test = try released()
    try test.store.close()
    let salvaged = test.place.file("salvaged.coffer")
    _ = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: salvaged, keys: [.published("next")], options: .testing)
    #expect(try DocumentStore.releases(at: salvaged).isEmpty)
  }

  @Test func mergeKeepsOwnReleases() throws {
    let test = try released()
    let copy = test.place.file("copy.coffer")
    try test.store.makeEditableCopy(at: copy, keys: [.published("primary")])
    try test.store.write { try $0.update(1) { $0.text = "newer" } }
    try test.store.makeRelease(signedBy: Publishing.key)
    let edited = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
    _ = try edited.merge(test.store)
    #expect(try edited.read { try $0.text(of: 1) } == "newer")
    #expect(try DocumentStore.releases(at: copy).map(\.number) == [1])
    expect(.notAsReleased) { try test.asReleased(at: copy) }
  }

  /// Unchanged documents open in a session that began before the change, and others don't.
  @Test func editDuringSessionIsNoticed() throws {
    let test = try released()
    let store = try test.asReleased()
    try test.store.write { try $0.update(1) { $0.text = "newer" } }
    expect(.notAsReleased) { try store.read { try $0.text(of: 1) } }
    #expect(try store.read { try $0.text(of: 2) } == "beta")
    #expect(try store.verify().error?.code == .notAsReleased)
  }

  @Test func releaseDoesNotUseIndexes() throws {
    let test = try released()
    try test.store.write { try $0.setIndexes([.words(), .titles], of: test.notes) }
    #expect(try test.store.read { try $0.search(ranked: "alpha", in: test.notes).matches.count } == 1)
    let store = try test.asReleased()
    expect(.noIndex) { try store.read { try $0.search(ranked: "alpha", in: test.notes) } }
    #expect(try store.read { try $0.headers(in: test.notes).count } == 2)
    #expect(try store.verify().isSound)
  }

  @Test func unknownFeatureKeepsReleases() throws {
    let test = try released()
    let raw = try test.raw()
    try raw.execute("CREATE TABLE coffer_x_else(a INTEGER)")
    try raw.execute("INSERT INTO coffer_x_else VALUES(1)")
    try raw.close()
    try test.store.write { try $0.update(1) { $0.text = "newer" } }
    #expect(try DocumentStore.releases(at: test.url).count == 1)
  }
}
