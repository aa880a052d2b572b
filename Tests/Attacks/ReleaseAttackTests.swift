import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Forgeries by a slot holder with full control of the file, who has every key but the signing key.
@Suite struct ReleaseAttackTests {
  private func released(attaching content: [UInt8] = []) throws -> TestStore {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...3 {
        try writer.insert(Document(title: "title \(number)", text: "text \(number)"), into: test.notes)
      }
      if !content.isEmpty { try writer.attach(.bytes(content), to: 1, name: "file") }
    }
    try test.store.makeRelease(signedBy: Publishing.key)
    return test
  }

  /// Edits a copy of the file with the store's key, and returns it.
  private func forged(_ test: TestStore, _ change: (inout WriteTransaction) throws -> Void) throws -> URL {
    let url = test.place.file("\(UUID().uuidString).coffer")
    try test.store.backup(to: url)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    try store.write { try change(&$0) }
    try store.close()
    return url
  }

  private func run(_ sql: String, in test: TestStore, with other: URL? = nil) throws {
    let raw = try test.raw()
    if let other { try raw.execute("ATTACH '\(other.path)' AS other") }
    try raw.execute(sql)
    try raw.close()
  }

  /// A row with every seal right takes the place of the released row while the store is open, and the state stays.
  @Test(arguments: [true, false]) func rejectsRowReplacedDuringSession(_ isRead: Bool) throws {
    let test = try released()
    let forged = try forged(test) { try $0.update(2) { $0.text = "forged" } }
    // A later generation, so the forged row isn't newer than the state.
    try test.store.write { try $0.move(3, to: .top) }
    let store = try test.asReleased()
    if isRead { #expect(try store.read { try $0.text(of: 2) } == "text 2") }
    try run(
      "INSERT OR REPLACE INTO main.coffer_record SELECT * FROM other.coffer_record WHERE id = 2", in: test, with: forged
    )
    if !isRead { expect(.notAsReleased) { try store.read { try $0.text(of: 2) } } }
    expect(.notAsReleased) { try store.read { try $0.header(of: 2) } }
    expect(.notAsReleased) { try store.read { try $0.headers(in: test.notes) } }
    expect(.notAsReleased) { try store.read { try $0.query("SELECT * FROM documents").rows.count } }
    #expect(try store.read { try $0.text(of: 1) } == "text 1")
    #expect(try test.reopened().read { try $0.text(of: 2) } == "forged")
    expect(.notAsReleased) { try test.asReleased() }
  }

  @Test func rejectsCollectionReplacedDuringSession() throws {
    let test = try released()
    let forged = try forged(test) { try $0.rename(test.notes, to: "forged") }
    try test.store.write { try $0.move(3, to: .top) }
    let store = try test.asReleased()
    try run(
      "INSERT OR REPLACE INTO main.coffer_collection SELECT * FROM other.coffer_collection", in: test, with: forged)
    try test.store.write { try $0.move(3, to: .bottom) }
    expect(.notAsReleased) { try store.read { try $0.collections() } }
  }

  /// The chunks and the row of an attachment are the attacker's, with the name of the released one.
  @Test func rejectsAttachmentReplacedDuringSession() throws {
    let test = try released(attaching: Array("released".utf8))
    let forged = try forged(test) { writer in
      try writer.detach(try writer.attachments(of: 1)[0].id)
      try writer.attach(.bytes(Array("forged!!".utf8)), to: 1, name: "file")
    }
    try test.store.write { try $0.move(3, to: .top) }
    try test.store.write { try $0.attach(.bytes([1]), to: 3, name: "other") }
    try test.store.makeRelease(signedBy: Publishing.key)
    let store = try test.asReleased()
    let id = try store.read { try $0.attachments(of: 1)[0].id }
    try run(
      """
      INSERT OR REPLACE INTO main.coffer_attachment SELECT 2,id,rev,sealed FROM other.coffer_attachment;
      """, in: test, with: forged)
    #expect(try store.read { try $0.content(of: id) } == Array("released".utf8))
    expect(.notAsReleased) { try store.read { try $0.attachments(of: 1) } }
    expect(.notAsReleased) { try test.asReleased() }
  }

  /// A slot holder knows the chunks' key from the row, and seals another chunk with it.
  @Test(arguments: [1, 3 << 16]) func rejectsChunkOfReleasedAttachment(_ count: Int) throws {
    let content = [UInt8](repeating: 7, count: count)
    let test = try released(attaching: content)
    let store = try test.asReleased()
    let id = try store.read { try $0.attachments(of: 1)[0].id }
    #expect(try store.read { try $0.content(of: id, in: 0..<1) } == [7])
    let sealed = try test.store.engine.read { transaction in
      let keys = transaction.keys
      let record = try transaction.attachmentRecord(id)
      let length = record.chunks.length(of: 0)
      var chunk = content[..<min(length, count)] + [UInt8](repeating: 0, count: max(0, length - count))
      chunk[0] = 8
      var sealed = [UInt8](repeating: 0, count: length + XAESKey.overhead)
      let cipher = try ChunkCipher(record.number, record.keys[0].key, keys)
      try Array(chunk).withUnsafeBytes { chunk in
        try sealed.withUnsafeMutableBytes {
          try cipher.seal(chunk, 0, isLast: record.chunks.isLast(0), into: $0)
        }
      }
      return sealed
    }
    let hex = Hexadecimal.text(sealed)
    try run(
      "UPDATE coffer_chunk SET ct = x'\(hex)' WHERE chunk = \(AttachmentChunks.row(of: 0, in: id.rawValue))", in: test)
    // Anyone without a publisher believes it.
    #expect(try test.reopened().read { try $0.content(of: id, in: 0..<1) } == [8])
    expect(.damaged) { try store.read { try $0.content(of: id, in: 0..<1) } }
    expect(.damaged) { try store.read { try $0.content(of: id) } }
    #expect(try store.verify().damagedAttachments.count == 1)
  }

  /// The forged text has the nonce and the tag of the released one, so the head and the seal fit.
  @Test func rejectsForgedTextWithReleasedTag() throws {
    let place = try Workplace()
    let url = try place.copy(try Vectors.attackedStore("same-tag-body-active"))
    let (kind, secret) = try #require(try Vectors.json("attacks/same-tag-body-active")["opener"].object.first)
    let key = StoreKey.named(kind, try #require(secret.string))
    let store = try DocumentStore.open(at: url, key: key, options: .testing)
    // The publisher released the true text; the heads are those of then.
    try store.engine.addRelease(
      of: try store.anchor(), signedBy: Publishing.key, at: Timestamp(Date()), expires: nil, next: nil, progress: nil)
    #expect(try store.read { try $0.exists(2) && !$0.text(of: 2).isEmpty })
    let released = try DocumentStore.open(at: url, key: key, options: Publishing.options(Publishing.publisher))
    expect(.damaged) { try released.read { try $0.text(of: 2) } }
    #expect(try !released.verify().isSound)
  }

  // MARK: Notes

  private func note(of test: TestStore, _ number: Int = 1) throws -> String {
    let raw = try test.raw()
    let rows = try raw.query("SELECT note FROM coffer_x_release WHERE number = \(number)").rows
    try raw.close()
    guard case .text(let note) = rows[0][0] else { throw Interruption() }
    return note
  }

  private func setNote(_ note: String, _ number: Int = 1, of test: TestStore) throws {
    try run(
      "INSERT OR REPLACE INTO coffer_x_release(number,note) VALUES(\(number), '\(note.replacing("'", with: "''"))')",
      in: test)
  }

  /// The text claims the hash of the forged rows, under the signature of another text.
  @Test func rejectsNoteOfOtherContents() throws {
    let test = try released()
    try test.store.write { try $0.update(2) { $0.text = "forged" } }
    let hash = Hexadecimal.text(try test.store.engine.read { try $0.contentHash() })
    let lines = try note(of: test).split(separator: "\n", omittingEmptySubsequences: false)
    let forged = lines.map { $0.hasPrefix("content ") ? "content \(hash)" : String($0) }.joined(separator: "\n")
    try setNote(forged, of: test)
    expect(.notAsReleased) { try test.asReleased() }
  }

  @Test func rejectsNoteSignedByAttacker() throws {
    let test = try released()
    try test.store.write { try $0.update(2) { $0.text = "forged" } }
    let attacker = try Publishing.newKey(in: test.place)
    try run("DELETE FROM coffer_x_release", in: test)
    try test.store.makeRelease(signedBy: attacker)
    expect(.notAsReleased) { try test.asReleased() }
    #expect(try test.asReleased(by: attacker.publisher).release?.number == 1)
  }

  /// The attacker's release follows a true one, which doesn't name the attacker.
  @Test func rejectsNoteAfterReleasedNote() throws {
    let test = try released()
    let released = try note(of: test)
    let attacker = try Publishing.newKey(in: test.place)
    try run("DELETE FROM coffer_x_release", in: test)
    try test.store.write { try $0.update(2) { $0.text = "forged" } }
    try test.store.makeRelease(signedBy: attacker)
    try test.store.makeRelease(signedBy: attacker)
    try setNote(released, of: test)
    expect(.notAsReleased) { try test.asReleased() }
  }

  /// The note of another release, another number or another data set of the same publisher.
  @Test func rejectsNoteOfOtherRelease() throws {
    let test = try released()
    let first = try note(of: test)
    try test.store.write { try $0.update(2) { $0.text = "second" } }
    try test.store.makeRelease(signedBy: Publishing.key)
    let second = try note(of: test, 2)
    try setNote(first, 2, of: test)
    expect(.damaged) { try test.asReleased() }
    try setNote(second, 2, of: test)
    #expect(try test.asReleased().release?.number == 2)
    try run("DELETE FROM coffer_x_release WHERE number = 2", in: test)
    expect(.notAsReleased) { try test.asReleased() }

    let other = try released()
    let foreign = try note(of: other)
    try setNote(foreign, of: test)
    expect(.notAsReleased) { try test.asReleased() }
  }

  @Test func rejectsBrokenChain() throws {
    let test = try released()
    let next = try Publishing.newKey(in: test.place)
    try test.store.makeRelease(signedBy: Publishing.key, next: next.publisher)
    try test.store.makeRelease(signedBy: next)
    #expect(try test.asReleased().release?.number == 3)
    let second = try note(of: test, 2)
    try run("DELETE FROM coffer_x_release WHERE number = 2", in: test)
    expect(.notAsReleased) { try test.asReleased() }
    #expect(try test.asReleased(by: next.publisher).release?.number == 3)
    // Another release with the same number, by the same publisher, isn't the predecessor.
    let other = try released()
    try other.store.makeRelease(signedBy: Publishing.key, next: next.publisher)
    try setNote(try note(of: other, 2), 2, of: test)
    expect(.notAsReleased) { try test.asReleased() }
    try setNote(second, 2, of: test)
    #expect(try test.asReleased().release?.number == 3)
  }

  /// The texts in between name the attacker, and no true publisher signed them.
  @Test func rejectsUnsignedChangeOfSigner() throws {
    let test = try released()
    let attacker = try Publishing.newKey(in: test.place)
    let first = try note(of: test)
    try test.store.makeRelease(signedBy: Publishing.key, next: attacker.publisher)
    try test.store.write { try $0.update(2) { $0.text = "forged" } }
    try test.store.makeRelease(signedBy: attacker)
    let second = try #require(SignedNote(try note(of: test, 2)))
    try setNote(try attacker.sign(second.text).description, 2, of: test)
    try setNote(first, of: test)
    expect(.notAsReleased) { try test.asReleased() }
  }

  /// A signing key that its publisher replaced, and that was stolen, before or after.
  @Test func rejectsNoteByFormerKey() throws {
    let test = try released()
    let next = try Publishing.newKey(in: test.place)
    try test.store.makeRelease(signedBy: Publishing.key, next: next.publisher)
    try test.store.makeRelease(signedBy: next)
    try test.store.write { try $0.update(2) { $0.text = "forged" } }
    try test.store.makeRelease(signedBy: next)
    #expect(try test.asReleased().release?.number == 4)
    let newest = try #require(SignedNote(try note(of: test, 4)))
    try setNote(try Publishing.key.sign(newest.text).description, 4, of: test)
    expect(.notAsReleased) { try test.asReleased() }
    expect(.notAsReleased) { try test.asReleased(by: next.publisher) }
    // The release that follows is the new key's again, but what the former key signed would be its base.
    let third = try #require(SignedNote(try note(of: test, 3)))
    let back = third.text + "next \(try Publishing.publisher)\n"
    try setNote(try Publishing.key.sign(back).description, 3, of: test)
    let last = newest.text.replacing(
      Hexadecimal.text(try sha256(Array(third.text.utf8))), with: Hexadecimal.text(try sha256(Array(back.utf8))))
    try setNote(try Publishing.key.sign(last).description, 4, of: test)
    expect(.notAsReleased) { try test.asReleased() }
  }

  @Test(arguments: [
    "", "text", "coffer-release-1\n\n\u{2014} coffer-test-release AAAAAAA=\n",
  ])
  func rejectsOtherTextInPlaceOfNote(_ text: String) throws {
    let test = try released()
    try setNote(text, of: test)
    expect(.damaged) { try test.asReleased() }
    expect(.damaged) { try DocumentStore.releases(at: test.url) }
    #expect(try test.reopened().read { try $0.text(of: 2) } == "text 2")
  }

  @Test func rejectsEveryChangedByteOfNote() throws {
    let test = try released()
    let original = Array(try note(of: test).utf8)
    for index in original.indices where original[index] < 0x80 {
      var changed = original
      changed[index] ^= 1
      guard let text = String(validating: changed, as: UTF8.self), let note = SignedNote(text) else { continue }
      let publisher = try KeyLine(publisher: Publishing.publisher.line).publisherBytes()
      #expect(try !note.isSigned(as: "coffer-test-release", by: publisher), "byte \(index)")
    }
  }

  /// Two states that the content hash doesn't tell apart would read differently.
  @Test func rejectsHiddenParentAndKey() throws {
    let test = try TestStore()
    try test.store.write { writer in
      let parent = try writer.insert(Document(title: "parent", text: ""), into: test.notes)
      try writer.insert(Document(title: "other", text: ""), into: test.notes)
      try writer.insert(Document(title: "child", text: "", key: "key", parent: parent), into: test.notes)
    }
    try test.store.makeRelease(signedBy: Publishing.key)
    for change in ["parent = NULL", "parent = 2", "flags = 2"] {
      let url = try reseal(test, document: 3, change)
      let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      #expect(try store.read { try $0.header(of: 3).title } == "child")
      try store.close()
      expect(.notAsReleased) { try test.asReleased(at: url) }
    }
  }

  /// Changes columns of a row, and seals its head again.
  private func reseal(_ test: TestStore, document id: Int64, _ change: String) throws -> URL {
    let url = test.place.file("\(UUID().uuidString).coffer")
    try test.store.backup(to: url)
    let head: [UInt8] = try test.store.engine.read { transaction in
      let reader = transaction.connection.takeReader()
      defer { transaction.connection.giveBack(reader) }
      let row = try reader.row(DocumentID(id), withBody: false, within: transaction.limits)
      var fields = row.fields
      switch change {
      case "parent = NULL": fields.parent = nil
      case "parent = 2": fields.parent = 2
      default: fields.flags |= 2
      }
      let keys = transaction.keys
      let old = Array(
        keys.binding.head(
          row.fields, position: row.position, blindIndex: row.blindIndex, bodyTag: row.bodyTag, title: row.title))
      let frame = try keys.active.head.open(Array(row.head), authenticating: old)
      let new = Array(
        keys.binding.head(
          fields, position: row.position, blindIndex: row.blindIndex, bodyTag: row.bodyTag, title: row.title))
      return try keys.active.head.seal(frame, authenticating: new)
    }
    let raw = try Database(url.path, mode: .readWrite)
    try raw.execute("UPDATE coffer_record SET \(change), head = x'\(Hexadecimal.text(head))' WHERE id = \(id)")
    try raw.close()
    return url
  }
}
