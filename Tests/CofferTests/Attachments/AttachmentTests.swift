import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Files that belong to documents: attached, listed, read, renamed and removed.
struct AttachmentTests {
  private static let notes = DocumentCollection("notes")

  /// Bytes in which a chunk, a shifted part or a swapped one differs from every other.
  static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = Pseudorandom(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func makeDocument(_ store: DocumentStore) throws -> DocumentID {
    try store.write { try $0.insert(Document(title: "Holiday", text: "text"), into: notes) }
  }

  /// The first file adds tables and a feature, which a session that opens meanwhile sees together or not at all.
  @Test(arguments: [CreateOptions.Journal.rollback, .writeAheadLog])
  func opensWhileFirstFileIsAttached(_ journal: CreateOptions.Journal) throws {
    for _ in 0..<100 {
      let test = try TestStore { $0.journal = journal }
      let id = try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
      let url = test.url
      let opener = Background {
        for _ in 0..<8 {
          try DocumentStore.open(at: url, key: .published("primary"), options: .testing).close()
        }
      }
      try test.store.write { _ = try $0.attach(.bytes([1]), to: id, name: "file") }
      try opener.value()
    }
  }

  @Test(arguments: [0, 1, 2, 4_096, 65_535, 65_536, 65_537, 200_000, 1_048_576], [false, true])
  func readsWhatWasAttached(_ count: Int, isPadded: Bool) throws {
    let test = try TestStore { $0.isPadded = isPadded }
    let id = try Self.makeDocument(test.store)
    let content = Self.bytes(count)
    let attached = try test.store.write { try $0.attach(content, to: id, name: "image.png", type: "image/png") }
    #expect(attached.byteCount == count && attached.document == id && attached.name == "image.png")
    func check(_ store: DocumentStore) throws {
      try store.read { reader throws in
        #expect(try reader.attachments(of: id) == [attached])
        #expect(try reader.attachment(named: "image.png", of: id) == attached)
        #expect(try reader.attachment(named: "other", of: id) == nil)
        #expect(try reader.content(of: attached.id) == content)
        for range in [0..<1, 0..<count, count / 2..<count, 65_530..<65_540, count..<count + 5, 1..<131_073] {
          #expect(try reader.content(of: attached.id, in: range) == Array(content[range.clamped(to: 0..<count)]))
        }
      }
      let verdict = try store.verify()
      #expect(verdict.isSound && verdict.attachments == 1, "\(String(describing: verdict.error))")
    }
    try check(test.store)
    try check(try test.reopened())
  }

  @Test func limitsNameAndMediaType() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    func attach(_ name: String, _ type: String = "") throws {
      try test.store.write { try $0.attach([1], to: id, name: name, type: type) }
    }
    let (longest, type) = (String(repeating: "é", count: 512), String(repeating: "~", count: 255))
    try attach(longest, type)
    expect(.tooLarge) { try attach(longest + "x") }
    for type in [type + "!", "a b", "é", "a\n"] { expect(.invalidArgument) { try attach("a", type) } }
    expect(.invalidArgument) { try attach("") }
    try attach("x")
    let attachments = try test.reopened().read { try $0.attachments(of: id) }
    #expect(attachments.map(\.name) == [longest, "x"] && attachments.map(\.mediaType) == [type, ""])
    expect(.tooLarge) { try test.store.write { try $0.rename(attachments[1].id, to: longest + "x") } }
    try test.expectSound()
  }

  @Test(arguments: [Int64.min, .max]) func limitsDate(_ milliseconds: Int64) throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let date = Timestamp(millisecondsSince1970: milliseconds)
    let attached = try test.store.write { tx throws in
      expect(.invalidArgument) { try tx.attach([1], to: id, name: "file", date: date) }
      let attached = try tx.attach([1], to: id, name: "file")
      expect(.invalidArgument) { try tx.replace(attached.id, with: .bytes([2]), date: date) }
      return attached
    }
    #expect(try test.reopened().read { try $0.attachments(of: id) } == [attached])
    try test.expectSound()
  }

  @Test func removesAndRenames() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let (one, two) = try test.store.write { tx throws in
      (try tx.attach(Self.bytes(70_000), to: id, name: "one"), try tx.attach(Self.bytes(10), to: id, name: "two"))
    }
    expect(.alreadyExists) {
      try test.store.write { try $0.attach([1], to: id, name: "one") }
    }
    expect(.alreadyExists) { try test.store.write { try $0.rename(two.id, to: "one") } }
    try test.store.write { tx throws in
      try tx.detach(one.id)
      try tx.rename(two.id, to: "one")
    }
    expect(.noSuchAttachment) { try test.store.read { try $0.content(of: one.id) } }
    try test.store.read { reader throws in
      #expect(try reader.attachments(of: id).map(\.name) == ["one"])
      #expect(try reader.content(of: two.id) == Self.bytes(10))
    }
    #expect(try test.store.verify().isSound)
    try test.store.write { try $0.delete(id) }
    expect(.noSuchDocument) { try test.store.read { try $0.attachments(of: id) } }
    let verdict = try test.store.verify()
    #expect(verdict.isSound && verdict.attachments == 0)
  }

  @Test func comparesBytesOfNames() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    func names() throws -> [[UInt8]] {
      try test.store.read { reader in try reader.attachments(of: id).map { Array($0.name.utf8) } }
    }
    let attached = try test.store.write { try $0.attach([1], to: id, name: composed) }
    try test.store.write { try $0.rename(attached.id, to: decomposed) }
    #expect(try names() == [Array(decomposed.utf8)])
    _ = try test.store.write { try $0.attach([1, 2], to: id, name: composed) }
    expect(.alreadyExists) { try test.store.write { try $0.attach([1], to: id, name: decomposed) } }
    #expect(try names() == [Array(decomposed.utf8), Array(composed.utf8)])
    try test.store.read { reader throws in
      #expect(try reader.attachment(named: composed, of: id)?.byteCount == 2)
      #expect(try reader.attachment(named: decomposed, of: id)?.byteCount == 1)
    }
    try test.expectSound()
  }

  @Test func failureLeavesTheDocumentAsItWas() throws {
    struct Broken: Sequence, IteratorProtocol {
      var left = 300_000
      mutating func next() -> UInt8? {
        left -= 1
        return left < 0 ? nil : 7
      }
    }
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    try test.store.write { tx throws in
      expect(.tooLarge) {
        try tx.attach(Broken(), to: id, name: String(repeating: "n", count: 1025))
      }
      expect(.invalidArgument) { try tx.attach(Broken(), to: id, name: "") }
      expect(.invalidArgument) { try tx.attach(Broken(), to: id, name: "x", type: "a b") }
      expect(.noSuchDocument) { try tx.attach(Broken(), to: 999, name: "x") }
      try tx.attach(Broken(), to: id, name: String(repeating: "n", count: 1024))
    }
    #expect(throws: Interruption()) {
      try test.store.write { tx throws in
        try tx.attach([1, 2, 3], to: id, name: "second")
        throw Interruption()
      }
    }
    #expect(try test.store.read { try $0.attachments(of: id).count } == 1)
    #expect(try test.store.verify().isSound)
  }

  @Test(arguments: [CreateOptions.Journal.rollback, .writeAheadLog])
  func failureOfFirstAttachmentLeavesStoreUnchanged(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    let id = try Self.makeDocument(test.store)
    let anchor = try test.store.anchor()
    let attachNothing: (borrowing WriteTransaction) -> Void = { tx in
      expect(.noSuchFile) { try tx.attach(.file(test.place.file("missing")), to: id) }
      expect(.cancelled) {
        try tx.attach(.bytes(Self.bytes(700_000)), to: id, name: "stopped") {
          if $0.done > 0 { throw Interruption() }
        }
      }
    }
    try test.store.write { attachNothing($0) }
    #expect(try test.store.relation(to: anchor) == .same)
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('coffer_attachment', 'coffer_chunk')"
    #expect(try test.raw().query(tables).rows[0][0] == .integer(0))
    let attached = try test.store.write { tx throws in
      attachNothing(tx)
      return try tx.attach([1], to: id, name: "file")
    }
    #expect(attached.id.rawValue == 1)
    #expect(try test.reopened().read { try $0.attachments(of: id) } == [attached])
    try test.expectSound()
  }

  // MARK: Rekey

  @Test(arguments: [1, 3, 500]) func rekeySealsEveryChunkAgain(_ batchSize: Int) throws {
    try withTestStore { test in
      let id = try Self.makeDocument(test.store)
      let contents = [0, 10, 200_000, 65_536 * 5].map { Self.bytes($0, seed: UInt64($0)) }
      let attached = try test.store.write { tx throws in
        try contents.enumerated().map { number, content in try tx.attach(content, to: id, name: "\(number)") }
      }
      let chunks = try Self.chunks(test)
      var options = RekeyOptions()
      options.batchSize = batchSize
      options.dropsOtherSlots = true
      let report = try test.store.rekey(to: [.published("next")], options: options)
      #expect(report.isFinished && report.skipped.isEmpty)
      #expect(Set(try Self.chunks(test)).isDisjoint(with: chunks))
      try test.store.read { reader throws in
        #expect(try reader.attachments(of: id) == attached)
        for (attachment, content) in zip(attached, contents) {
          #expect(try reader.content(of: attachment.id) == content)
        }
      }
      try test.store.rekey(to: [.published("primary")], options: options)
    }
  }

  /// Former key holders know the key of the chunks until a rekey has sealed them again.
  @Test func wholeReadFindsChunkForgedUnderOldKeys() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let content = Self.bytes(200_000)
    let attachment = try test.store.write { try $0.attach(content, to: id, name: "large") }.id
    let forged = try test.store.engine.reading { transaction throws(StoreError) in
      let record = try transaction.attachmentRecord(attachment)
      let cipher = try ChunkCipher(record.number, record.keys[0].key, transaction.keys)
      let chunk = [UInt8](repeating: 1, count: record.chunks.length(of: 1))
      var sealed = [UInt8](repeating: 0, count: chunk.count + XAESKey.overhead)
      try chunk.withBytes { chunk throws(StoreError) in
        try sealed.withMutableBytes { sealed throws(StoreError) in
          try cipher.seal(chunk, 1, isLast: false, into: sealed)
        }
      }
      return sealed
    }
    var options = RekeyOptions()
    options.batchSize = 1
    var calls = 0
    expect(.cancelled) {
      try test.store.rekey(to: [.published("primary")], options: options) { _ in
        calls += 1
        if calls == 2 { throw Interruption() }
      }
    }
    #expect(try test.store.read { try $0.content(of: attachment) } == content)
    try test.raw().execute(
      "UPDATE coffer_chunk SET ct = x'\(Hexadecimal.text(forged))' "
        + "WHERE chunk = \(AttachmentChunks.row(of: 1, in: attachment.rawValue))")
    #expect(try test.store.read { try $0.content(of: attachment, in: 65_536..<65_537) } == [1])
    expect(.damaged) { try test.store.read { try $0.content(of: attachment) } }
    expect(.damaged) { try test.store.read { try $0.forEachPart(of: attachment) { _ in } } }
    expect(.damaged) { try test.store.read { try $0.save(attachment, to: test.place.file("saved")) } }
    #expect(try !test.store.verify().isSound)
    // A rekey that goes on doesn't vouch for the chunk.
    options.isResuming = true
    let report = try test.store.rekey(to: [], options: options)
    #expect(report.skippedAttachments.map(\.id) == [attachment])
    expect(.damaged) { try test.store.read { try $0.content(of: attachment) } }
  }

  /// A rekey stops behind each chunk, and another one takes over or goes on.
  @Test(arguments: [false, true]) func stoppedRekeyGoesOn(takesOver: Bool) throws {
    try withTestStore { test in
      let id = try Self.makeDocument(test.store)
      let content = Self.bytes(65_536 * 6 + 1)
      let attachment = try test.store.write { try $0.attach(content, to: id, name: "large") }
      var options = RekeyOptions()
      options.batchSize = 1
      var stopped = 0
      for stop in 1..<12 {
        var calls = 0
        options.isResuming = stop > 1 && !takesOver
        do {
          try test.store.rekey(to: options.isResuming ? [] : [.published("primary")], options: options) { progress in
            calls += 1
            if calls == (takesOver ? stop + 2 : 3) { throw Interruption() }
          }
        } catch let error as StoreError where error.code == .noUnfinishedRekey {
          break
        } catch let error as StoreError where error.code == .cancelled {
          stopped += 1
        }
        #expect(try test.store.read { try $0.content(of: attachment.id) } == content)
        #expect(
          try test.store.read { try $0.content(of: attachment.id, in: 65_000..<200_000) }
            == Array(content[65_000..<200_000]))
        #expect(try test.store.verify().isSound)
      }
      #expect(stopped > 2)
    }
  }

  /// A document is under the new keys when its attachments are, too.
  @Test(arguments: [(3, 2), (4, 2), (5, 1)])
  func statusCountsDocumentsOfAttachments(_ steps: Int, remaining: Int) throws {
    try withTestStore { test in
      let ids = try [Self.makeDocument(test.store), Self.makeDocument(test.store)]
      try test.store.write { tx throws in
        try tx.attach([1], to: ids[1], name: "small")
        try tx.attach(Self.bytes(65_536 * 3), to: ids[0], name: "large")
        try tx.attach(Self.bytes(65_536 * 3), to: ids[0], name: "another")
      }
      var options = RekeyOptions()
      options.batchSize = 1
      var calls = 0
      // After the beginning come the keys, two batches of a document each, and one with the small attachment.
      expect(.cancelled) {
        try test.store.rekey(options: options) { _ in
          calls += 1
          if calls == steps { throw Interruption() }
        }
      }
      #expect(try test.store.rekeyStatus().remaining == remaining)
      options.isResuming = true
      #expect(try test.store.rekey(options: options).isFinished)
      #expect(try test.store.rekeyStatus().remaining == 0)
    }
  }

  // MARK: Copies

  @Test(arguments: [false, true]) func copiesHaveTheAttachments(isEditable: Bool) throws {
    try withTestStore { test in
      let ids = try [Self.makeDocument(test.store), Self.makeDocument(test.store)]
      let contents = [10, 200_000].map { Self.bytes($0) }
      let attached = try test.store.write { tx throws in
        let removed = try tx.attach([1], to: ids[0], name: "removed")
        let attached = try zip(ids, contents).map { try tx.attach($1, to: $0, name: "file", type: "text/plain") }
        try tx.detach(removed.id)
        return attached
      }
      let url = test.place.file("copy.coffer")
      if isEditable {
        try DocumentStore.openEditableCopy(of: test.url, at: url, key: .published("primary"), options: .testing).close()
      } else {
        try test.store.copy(to: url, keys: [.published("primary")])
      }
      let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      for (id, (attachment, content)) in zip(ids, zip(attached, contents)) {
        let found = try copy.read { try $0.attachments(of: id) }
        #expect(found.map(\.name) == ["file"] && found.map(\.sha256) == [attachment.sha256])
        #expect(found.map(\.date) == [attachment.date] && found.map(\.mediaType) == ["text/plain"])
        #expect(try copy.read { try $0.content(of: found[0].id) } == content)
      }
      let verdict = try copy.verify()
      #expect(verdict.isSound && verdict.attachments == 2)
      #expect(try !Set(Self.chunks(test)).contains { try Self.chunks(url).contains($0) })
    }
  }

  // MARK: Lists

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func countsAttachmentsInLists(seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let test = try TestStore()
    var model: [DocumentID: [Int]] = [:]
    func compare(_ reader: borrowing some StoreReading & ~Copyable) throws {
      var listed: [DocumentID: [Int]] = [:]
      let headers = try reader.headers(in: Self.notes)
      for header in headers { listed[header.id] = [header.attachmentCount, header.attachmentByteCount] }
      #expect(listed == model.mapValues { [$0.count, $0.reduce(0, +)] })
      for header in headers.shuffled(using: &random).prefix(5) {
        #expect(try reader.header(of: header.id).attachmentCount == model[header.id]?.count)
      }
    }
    for _ in 0..<6 {
      try test.store.write { tx throws in
        for _ in 0..<40 {
          let id = try tx.insert(Document(text: ""), into: Self.notes)
          try tx.move(id, to: random.next().isMultiple(of: 2) ? .top : .bottom)
          model[id] = []
        }
        for id in model.keys.sorted().shuffled(using: &random).prefix(Int(random.next() % 10)) {
          if let last = try tx.attachments(of: id).last, random.next().isMultiple(of: 2) {
            try tx.detach(last.id)
            model[id]?.removeLast()
          } else {
            let count = Int(random.next() % 100)
            try tx.attach(Self.bytes(count), to: id, name: "\(random.next())")
            model[id]?.append(count)
          }
        }
        try compare(tx)
      }
      try test.store.read { try compare($0) }
    }
  }

  // MARK: Damage

  /// What happens to a chunk affects its attachment, and nothing else.
  @Test(arguments: [
    "DELETE FROM coffer_chunk WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)",
    "UPDATE coffer_chunk SET ct=zeroblob(length(ct)) WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)",
    "UPDATE coffer_chunk SET ct=substr(ct,1,length(ct)-1) WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)",
    "UPDATE coffer_chunk SET chunk=chunk+1 WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)",
    "UPDATE coffer_chunk SET ct=(SELECT ct FROM coffer_chunk WHERE chunk=1<<24) WHERE chunk=2<<24",
  ]) func damagedChunkIsDamageOfItsAttachment(_ sql: String) throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let (one, two) = try test.store.write { tx throws in
      (
        try tx.attach(Self.bytes(100), to: id, name: "one"),
        try tx.attach(Self.bytes(sql.contains("2<<24") ? 100 : 200_000, seed: 2), to: id, name: "two")
      )
    }
    try test.raw().execute(sql)
    let store = try test.reopened()
    #expect(try store.read { try $0.attachments(of: id) } == [one, two])
    #expect(try store.read { try $0.content(of: one.id) } == Self.bytes(100))
    expect(.damaged) { try store.read { try $0.content(of: two.id) } }
    let verdict = try store.verify()
    #expect(verdict.damagedAttachments.map(\.id) == [two.id] && verdict.damaged.isEmpty && verdict.problems.isEmpty)
    #expect(verdict.setMatches && verdict.error?.documentID == id)
  }

  private static func chunks(_ test: TestStore) throws -> [[UInt8]] { try chunks(test.url) }

  private static func chunks(_ url: URL) throws -> [[UInt8]] {
    try Database(url.path, mode: .readOnly).query("SELECT ct FROM coffer_chunk").rows.map { row in
      guard case .blob(let chunk) = row[0] else { return [] }
      return chunk
    }
  }
}
