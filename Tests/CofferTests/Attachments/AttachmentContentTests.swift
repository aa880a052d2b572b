import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Contents from files and streams, into files and streams.
struct AttachmentContentTests {
  private static let notes = DocumentCollection("notes")

  private static func makeDocument(_ store: DocumentStore) throws -> DocumentID {
    try store.write { try $0.insert(Document(title: "Holiday", text: "text"), into: notes) }
  }

  /// Parts of different lengths, one of them empty.
  private struct Parts: AsyncSequence {
    let bytes: [UInt8]
    var failure: (any Error)?

    struct Iterator: AsyncIteratorProtocol {
      var rest: ArraySlice<UInt8>
      let failure: (any Error)?
      var number = 0

      mutating func next() async throws -> [UInt8]? {
        await Task.yield()
        guard !rest.isEmpty else {
          if let failure { throw failure }
          return nil
        }
        number += 1
        let part = Array(rest.prefix(number % 3 == 0 ? 0 : number * 7_919 % 100_000))
        rest = rest.dropFirst(part.count)
        return part
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...], failure: failure) }
  }

  // MARK: Files

  @Test func attachesFile() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let bytes = AttachmentTests.bytes(700_000)
    let file = test.place.file("Photo 1.JPEG")
    try Data(bytes).write(to: file)
    let date = Date(timeIntervalSince1970: 1_000_000)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
    var progress: [Int] = []
    let attached = try test.store.write {
      try $0.attach(.file(file), to: id) {
        progress.append($0.done)
        #expect($0.total == 700_000)
      }
    }
    #expect(attached.name == "Photo 1.JPEG" && attached.mediaType == "image/jpeg" && attached.byteCount == 700_000)
    #expect(attached.date == Timestamp(date) && progress.first == 0 && progress == progress.sorted())
    #expect(progress.last == attached.byteCount)
    #expect(try test.store.read { try $0.content(of: attached.id) } == bytes)
    let other = try test.store.write { tx throws in
      try tx.attach(.file(file), to: id, name: "x.bin", type: "a/b", date: Timestamp(millisecondsSince1970: 5))
    }
    #expect(other.mediaType == "a/b" && other.date == Timestamp(millisecondsSince1970: 5))
  }

  @Test func attachesFileThatIsOpenElsewhere() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let id = try Self.makeDocument(test.store)
    let url = test.place.file("open")
    try Data([1, 2]).write(to: url)
    let handle = try FileHandle(forReadingFrom: url)
    try test.store.write { _ = try $0.attach(.file(url), to: id) }
    try handle.close()
    for suffix in ["", "-wal", "-shm"] {
      let url = URL(filePath: test.url.path + suffix)
      expect(.locked) { try test.store.write { try $0.attach(.file(url), to: id) } }
    }
  }

  @Test func fileThatCannotBeReadLeavesDocumentAsItWas() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    func attach(_ url: URL) throws { try test.store.write { try $0.attach(.file(url), to: id) } }
    expect(.noSuchFile) { try attach(test.place.file("missing")) }
    expect(.invalidArgument) { try attach(test.place.url) }
    expect(.locked) { try attach(test.url) }
    expect(.invalidArgument) { try test.store.write { _ = try $0.attach(.bytes([1]), to: id) } }
    struct Stop: Error {}
    try Data(AttachmentTests.bytes(700_000)).write(to: test.place.file("long"))
    try test.store.write { tx throws in
      expect(.cancelled) {
        try tx.attach(.file(test.place.file("long")), to: id) { if $0.done > 0 { throw Stop() } }
      }
      try tx.attach([1], to: id, name: "short")
    }
    #expect(try test.store.read { try $0.attachments(of: id) }.map(\.name) == ["short"])
    #expect(try test.raw().query("SELECT count(*) FROM coffer_chunk").rows[0][0] == .integer(1))
    try test.expectSound()
    // The store's locks are still there: another process couldn't have written meanwhile.
    #expect(try test.store.write { try $0.attach([2], to: id, name: "after") }.byteCount == 1)
  }

  @Test func savesIntoFile() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let bytes = AttachmentTests.bytes(300_000)
    let attached = try test.store.write { try $0.attach(bytes, to: id, name: "a") }
    let url = test.place.file("out")
    var progress: [Int] = []
    try test.store.read { try $0.save(attached.id, to: url) { progress.append($0.done) } }
    #expect(progress.first == 0 && progress.last == attached.byteCount)
    #expect(try Array(Data(contentsOf: url)) == bytes)
    #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int == 0o600)
    expect(.alreadyExists) { try test.store.read { try $0.save(attached.id, to: url) } }
    try Data([1]).write(to: url)
    try test.store.read { try $0.save(attached.id, to: url, replacing: true) }
    #expect(try Array(Data(contentsOf: url)) == bytes)
    // A store is never replaced.
    expect(.locked) { try test.store.read { try $0.save(attached.id, to: test.url, replacing: true) } }
    let other = test.place.file("other.coffer")
    try test.store.copy(to: other, keys: [.published("primary")])
    expect(.alreadyExists) { try test.store.read { try $0.save(attached.id, to: other, replacing: true) } }
    struct Stop: Error {}
    expect(.cancelled) {
      try test.store.read { try $0.save(attached.id, to: test.place.file("none")) { _ in throw Stop() } }
    }
    #expect(!FileManager.default.fileExists(atPath: test.place.file("none").path))
    // A content that isn't the one that was attached makes no file.
    try test.raw().execute(
      "UPDATE coffer_chunk SET ct=zeroblob(length(ct)) WHERE chunk=(SELECT max(chunk) FROM coffer_chunk)")
    expect(.damaged) { try test.store.read { try $0.save(attached.id, to: test.place.file("none")) } }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: test.place.url.path).filter {
        $0.hasPrefix("none") || $0.contains("coffer-tmp")
      }.isEmpty)
  }

  // MARK: Streams

  @Test(arguments: [0, 1, 300_000, 1_500_000]) func attachesStream(count: Int) async throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let bytes = AttachmentTests.bytes(count)
    let content = try await AttachmentContent.stream(Parts(bytes: bytes))
    // The content can be attached more than once.
    let attached = try await test.store.write { tx in
      [try tx.attach(content, to: id, name: "a.wav"), try tx.attach(content, to: id, name: "b.wav")]
    }
    #expect(attached.map(\.byteCount) == [count, count] && attached.map(\.mediaType) == ["audio/wav", "audio/wav"])
    for attachment in attached {
      #expect(try await test.store.read { try $0.content(of: attachment.id) } == bytes)
      var read: [UInt8] = []
      for try await part in test.store.parts(of: attachment.id) {
        #expect(!part.isEmpty && part.count <= 256 << 10)
        read += part
      }
      #expect(read == bytes)
    }
    try test.expectSound()
  }

  @Test func attachesStreamOfSingleBytes() async throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let bytes = AttachmentTests.bytes(70_000)
    let (stream, continuation) = AsyncStream<UInt8>.makeStream()
    for byte in bytes { continuation.yield(byte) }
    continuation.finish()
    var progress: [WorkProgress] = []
    let content = try await AttachmentContent.stream(stream) { progress.append($0) }
    #expect(progress == [0, 1 << 16, 70_000].map { WorkProgress(done: $0) })
    let attached = try await test.store.write { try $0.attach(content, to: id, name: "a") }
    #expect(try await test.store.read { try $0.content(of: attached.id) } == bytes)
  }

  @Test func streamReportsBytesThatAreRead() async throws {
    let bytes = AttachmentTests.bytes(300_000)
    var progress: [WorkProgress] = []
    _ = try await AttachmentContent.stream(Parts(bytes: bytes)) { progress.append($0) }
    #expect(progress.first == WorkProgress(done: 0) && progress.last == WorkProgress(done: 300_000))
    #expect(progress.count > 2 && progress.map(\.done) == progress.map(\.done).sorted())
    struct Stop: Error {}
    await #expect(throws: Stop.self) {
      try await AttachmentContent.stream(Parts(bytes: bytes)) { if $0.done > 0 { throw Stop() } }
    }
  }

  /// The stream has another part only after both writes.
  @Test func slowStreamDelaysNoWriter() async throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let other = try await DocumentStore.open(at: test.url, key: .published("primary"), options: .testing)
    let (parts, sender) = AsyncStream<[UInt8]>.makeStream()
    let (reports, reporter) = AsyncStream<Int>.makeStream()
    let reading = Task {
      defer { reporter.finish() }
      return try await AttachmentContent.stream(parts) { reporter.yield($0.done) }
    }
    sender.yield([1, 2])
    for await done in reports where done == 2 { break }
    let here = try await test.store.write { try $0.insert(Document(text: "here"), into: Self.notes) }
    let there = try await other.write { try $0.insert(Document(text: "there"), into: Self.notes) }
    sender.yield([3])
    sender.finish()
    let content = try await reading.value
    let attached = try await test.store.write { try $0.attach(content, to: id, name: "memo.wav") }
    #expect(try await test.store.read { try $0.content(of: attached.id) } == [1, 2, 3])
    #expect(try await test.store.read { tx in try [here, there].map { try tx.text(of: $0) } } == ["here", "there"])
    try await other.close()
  }

  @Test func failureOfStreamIsPassedOn() async throws {
    struct Broken: Error {}
    await #expect(throws: Broken.self) {
      try await AttachmentContent.stream(Parts(bytes: AttachmentTests.bytes(600_000), failure: Broken()))
    }
    let task = Task { try await AttachmentContent.stream(Parts(bytes: AttachmentTests.bytes(600_000))) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// The standard library's streams end without an error when their task is cancelled.
  @Test func cancelledStreamGivesNoContent() async throws {
    let (bytes, byteEnd) = AsyncStream<UInt8>.makeStream()
    let (parts, partEnd) = AsyncStream<[UInt8]>.makeStream()
    byteEnd.yield(1)
    partEnd.yield([1, 2])
    for task in [
      Task { try await AttachmentContent.stream(bytes) }, Task { try await AttachmentContent.stream(parts) },
    ] {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    withExtendedLifetime((byteEnd, partEnd)) {}
  }

  @Test func streamOfPartsEndsWithErrorIfAttachmentIsRemoved() async throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let attached = try await test.store.write { try $0.attach(AttachmentTests.bytes(600_000), to: id, name: "a") }
    var iterator = test.store.parts(of: attached.id).makeAsyncIterator()
    #expect(try await iterator.next()?.count == 256 << 10)
    try await test.store.write { try $0.detach(attached.id) }
    do {
      _ = try await iterator.next()
      Issue.record("the removed attachment was read")
    } catch let error as StoreError {
      #expect(error.code == .noSuchAttachment)
    }
  }

  /// A program without a key can overwrite the file with another branch of the store.
  @Test func streamOfPartsEndsWithErrorInShorterContent() async throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let url = test.place.file("branch.coffer")
    try test.store.backup(to: url)
    let attached = try await test.store.write { try $0.attach(AttachmentTests.bytes(600_000), to: id, name: "a") }
    let branch = try await DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    for name in ["a", "b", "c"] { _ = try await branch.write { try $0.attach([1], to: id, name: name) } }
    try await branch.close()
    var iterator = test.store.parts(of: attached.id).makeAsyncIterator()
    #expect(try await iterator.next()?.count == 256 << 10)
    let bytes = try Data(contentsOf: url)
    let file = try FileHandle(forWritingTo: test.url)
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: bytes)
    try file.close()
    #expect(try await test.store.read { try $0.attachment(attached.id).byteCount } == 1)
    await #expect(throws: StoreError(.damaged, "")) { try await iterator.next() }
  }

  @Test func readerThatRemovesAttachmentFindsItMissing() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let attached = try test.store.write { try $0.attach(AttachmentTests.bytes(200_000), to: id, name: "a") }
    try test.store.write { tx throws in
      expect(.noSuchAttachment) { try tx.forEachPart(of: attached.id) { _ in try tx.detach(attached.id) } }
    }
    #expect(try test.store.read { try $0.attachments(of: id) }.isEmpty)
    try test.expectSound()
  }

  // MARK: Replacing, references and counts

  @Test func replacesContent() throws {
    let test = try TestStore()
    let id = try Self.makeDocument(test.store)
    let first = try test.store.write { try $0.attach(AttachmentTests.bytes(200_000), to: id, name: "a.png") }
    let second = try test.store.write { try $0.replace(first.id, with: .bytes([1, 2, 3])) }
    #expect(second.id != first.id && second.name == "a.png" && second.mediaType == "image/png")
    #expect(try test.store.read { try $0.attachments(of: id) } == [second])
    expect(.noSuchAttachment) { try test.store.read { try $0.content(of: first.id) } }
    expect(.noSuchAttachment) { try test.store.write { _ = try $0.replace(first.id, with: .bytes([])) } }
    try test.store.write { tx throws in
      expect(.noSuchFile) { try tx.replace(second.id, with: .file(test.place.file("missing"))) }
    }
    #expect(try test.store.read { try $0.attachments(of: id) } == [second])
    try test.expectSound()
  }

  private struct Note: Codable {
    var body: String
    var cover: AttachmentReference?
  }

  @Test func valueRefersToAttachmentInEveryCopy() throws {
    let test = try TestStore()
    let id = try test.store.write { tx throws in
      let id = try tx.insert(Note(body: "x"), into: Self.notes)
      let cover = try tx.attach(AttachmentTests.bytes(10), to: id, name: "cover")
      try tx.update(id, as: Note.self) { $0.cover = AttachmentReference(cover) }
      return id
    }
    let url = test.place.file("copy.coffer")
    try test.store.copy(to: url, keys: [.published("primary")])
    for store in [test.store, try DocumentStore.open(at: url, key: .published("primary"), options: .testing)] {
      try store.read { reader throws in
        let cover = try #require(try reader.value(Note.self, of: id).cover)
        let attachment = try #require(try reader.attachment(for: cover, of: id))
        #expect(try reader.content(of: attachment.id) == AttachmentTests.bytes(10))
        let other = try #require(AttachmentReference(String(repeating: "0", count: 64)))
        #expect(try reader.attachment(for: other, of: id) == nil)
      }
    }
    #expect(AttachmentReference("abc") == nil && AttachmentReference(String(repeating: "G", count: 64)) == nil)
  }

  @Test(arguments: [false, true]) func headersCountAttachments(hasIndex: Bool) throws {
    let test = try TestStore()
    let ids = try test.store.write { tx throws in
      try (0..<200).map { try tx.insert(Document(title: "t\($0)", text: "word"), into: Self.notes) }
    }
    if hasIndex {
      try test.store.write { _ = try $0.setIndexes([.titles, .substrings, .words()], of: Self.notes) }
    }
    try test.store.write { tx throws in
      for id in ids where id.rawValue % 3 == 0 {
        for number in 0..<Int(id.rawValue % 4) { try tx.attach([0, 1, 2], to: id, name: "\(number)") }
      }
    }
    func check(_ headers: [DocumentHeader]) {
      #expect(headers.count == 200)
      for header in headers {
        let count = header.id.rawValue % 3 == 0 ? Int(header.id.rawValue % 4) : 0
        #expect(header.attachmentCount == count && header.attachmentByteCount == 3 * count)
      }
    }
    try test.store.read { reader throws in
      check(try reader.headers(in: Self.notes))
      check(try ids.map { try reader.header(of: $0) })
      check(try reader.search(for: .text("word"), in: Self.notes).map(\.header))
      var headers: [DocumentHeader] = []
      try reader.forEach(in: Self.notes) { headers.append($0.header) }
      check(headers)
      check(try ids.map { id in try reader.withText(of: id) { $0.header } })
      if hasIndex { check(try reader.search(ranked: "word", in: Self.notes, limit: 500).matches.map(\.header)) }
    }
  }

  // MARK: Search

  @Test(arguments: [false, true]) func searchFindsNames(hasIndex: Bool) throws {
    let test = try TestStore()
    let ids = try test.store.write { tx throws in
      try (0..<100).map { try tx.insert(Document(title: "t\($0)", text: "word \($0)"), into: Self.notes) }
    }
    let other = try test.store.write {
      try $0.insert(Document(title: "t", text: "x"), into: DocumentCollection("others"))
    }
    if hasIndex { try test.store.write { _ = try $0.setIndexes([.substrings], of: Self.notes) } }
    let found = try test.store.write { tx throws in
      try tx.attach([1], to: other, name: "rechnung.pdf")
      try tx.attach([1], to: ids[5], name: "photo.png")
      let second = try tx.attach([1], to: ids[70], name: "Eine Rechnung Rechnung.pdf")
      return [try tx.attach([2], to: ids[5], name: "Rechnung 2.pdf"), second]
    }
    try test.store.read { reader throws in
      let matches = try reader.search(for: .text("rechnung", ignoring: .case), in: Self.notes)
      #expect(matches.map(\.header.id) == [ids[5], ids[70]])
      #expect(matches.map { $0.attachments.map(\.attachment) } == found.map { [$0.id] })
      #expect(matches.map { $0.attachments[0].ranges } == [[0..<8], [5..<13, 14..<22]])
      #expect(matches.allSatisfy { $0.titleRanges.isEmpty && $0.textRanges.isEmpty })
      #expect(try reader.search(for: .text("Rechnung"), in: Self.notes, limit: 1).map(\.header.id) == [ids[5]])
      #expect(try reader.search(for: .text("Rechnung"), in: Self.notes, fields: [.text, .title]).isEmpty)
      #expect(try reader.search(for: .text("word 70"), in: Self.notes).map(\.attachments) == [[]])
      #expect(try reader.match(of: .text("photo"), in: ids[5])?.attachments.map(\.name) == ["photo.png"])
      #expect(try reader.match(of: .text("photo"), in: ids[6]) == nil)
    }
  }

  @Test(arguments: ["sealed = zeroblob(length(sealed))", "rev = 0", "attachment = 1000"])
  func searchPassesOverDamagedAttachment(_ change: String) throws {
    let test = try TestStore()
    let ids = try test.store.write { tx throws in
      let ids = try (0..<2).map { try tx.insert(Document(title: "t\($0)", text: "word"), into: Self.notes) }
      for (number, id) in [ids[0], ids[0], ids[1]].enumerated() { try tx.attach([1], to: id, name: "photo \(number)") }
      return ids
    }
    try test.raw().execute("UPDATE coffer_attachment SET \(change) WHERE attachment = 1")
    try test.reopened().read { reader throws in
      let matches = try reader.search(for: .text("photo"), in: Self.notes)
      #expect(matches.map { $0.attachments.map(\.name) } == [["photo 1"], ["photo 2"]])
      #expect(try reader.match(of: .text("photo"), in: ids[0])?.attachments.map(\.name) == ["photo 1"])
      #expect(try reader.match(of: .text("word"), in: ids[0])?.textRanges == [0..<4])
    }
  }
}
