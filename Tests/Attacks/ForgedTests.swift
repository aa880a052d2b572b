import Coffer
import CofferEngine
import CofferSQLite
import CofferSealing
import Foundation
import Testing

@testable import CofferRecords
@testable import CofferStoreTestSupport

/// Correctly sealed and summed rows with one format violation, which only a key holder can write.
/// `Tools/checks/check-attacks` has many more.
struct ForgedTests {
  private func verdict(after change: (inout WriteTransaction, TestStore) throws -> Void) throws -> (TestStore, Verdict)
  {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.create(DocumentCollection("other"))
      for number in 1...3 {
        try writer.insert(
          Document(title: "t\(number)", text: "\(number)", key: DocumentKey("k\(number)")), into: test.notes)
      }
    }
    #expect(try test.store.verify().isSound)
    try test.store.write { try change(&$0, test) }
    return (test, try test.store.verify())
  }

  @Test func verifyReportsWrongBlindIndex() throws {
    let (test, verdict) = try verdict { writer, _ in
      try writer.transaction.writer.rewrite(2, changing: .blindIndex, [], as: []) { content, _ throws(StoreError) in
        content.blindIndex = [UInt8](repeating: 7, count: StoreFormat.blindIndexCount)
      }
    }
    #expect(verdict.setMatches)
    #expect(verdict.damaged.map(\.id) == [2])
    #expect(verdict.error == StoreError(.damaged, ""))
    #expect(try test.store.read { try $0.text(of: 2) } == "2")
  }

  @Test func verifyReportsWrongCount() throws {
    let (_, verdict) = try verdict { writer, _ in
      let rows = try writer.transaction.writer
      try rows.willWrite()
      rows.state.count += 1
    }
    #expect(verdict.setMatches)
    #expect(!verdict.countMatches)
    #expect(verdict.error == StoreError(.setMismatch, ""))
  }

  @Test func reportsPlaintextTitleAsDamage() throws {
    let test = try TestStore { $0.titles = .clear }
    let id = try test.store.write { try $0.insert(Document(title: "in clear", text: "text"), into: test.notes) }
    try test.store.write { writer in
      let transaction = writer.transaction
      let keys = transaction.keys.session
      var (header, slots) = try transaction.connection.file.readHeader()
      header.titles = CreateOptions.Titles.sealed.rawValue
      header.mac = try HMACKey(keys.headerMACKey).authenticate(header.authenticatedBytes(slots: slots))
      let rows = try transaction.writer
      try rows.willWrite()
      try header.update(transaction.database, slots: slots)
      rows.state.headerMAC = header.mac
    }
    let reopened = try test.reopened()
    expect(.damaged) { try reopened.read { try $0.header(of: id) } }
    expect(.damaged) { try reopened.read { try $0.text(of: id) } }
    #expect(try reopened.verify().damaged.map(\.id) == [id])
  }

  @Test func verifyReportsDuplicateCollectionIdentities() throws {
    let (_, verdict) = try verdict { writer, _ in try giveCollectionsOneIdentity(writer.transaction) }
    #expect(verdict.setMatches)
    #expect(verdict.problems == ["two collections have one identity"])
  }

  private func giveCollectionsOneIdentity(_ transaction: StoreTransaction) throws {
    let old = try transaction.requireCollection(DocumentCollection("other"))
    let notes = try transaction.requireCollection(DocumentCollection("notes"))
    let new = CollectionRecord(
      id: old.id, revision: try transaction.writer.revision, name: "other", settings: old.settings,
      uid: notes.uid, dots: old.dots)
    try transaction.writer.replaceCollection(with: new)
  }

  /// Returns a store with a document, and a copy in which the document was changed.
  private func storeAndCopy() throws -> (TestStore, DocumentStore) {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.create(DocumentCollection("other"))
      try writer.insert(Document(text: "text"), into: test.notes)
    }
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    try copy.write { writer in _ = try writer.update(1) { $0.text = "changed" } }
    return (test, copy)
  }

  @Test func mergeRefusesDuplicateCollectionIdentities() throws {
    let (test, copy) = try storeAndCopy()
    try test.store.write { try giveCollectionsOneIdentity($0.transaction) }
    expect(.setMismatch) { try test.store.merge(copy) }
    #expect(try test.store.read { try $0.text(of: 1) } == "text")
  }

  /// The state lists changed documents by ranges of IDs.
  @Test func mergesStoreThatListsDocumentsWithoutEnd() throws {
    let (test, copy) = try storeAndCopy()
    try copy.engine.writing { transaction throws(StoreError) in
      let (last, writer) = (transaction.start.generation, try transaction.writer)
      try writer.willWrite()
      var ring = ChangeRing(after: last - 1)
      let entry = RingChanges.Entry(.deleted, in: 1, [1...StoreFormat.documentIDs.upperBound])
      _ = transaction.start.ring.mark(of: last - 1)!.withUnsafeBytes {
        ring.append(last, markBefore: $0, .entries([entry]))
      }
      writer.state.ring = ring
      try transaction.commit()
    }
    #expect(try test.store.merge(copy).isMerged)
    #expect(try test.store.read { try $0.text(of: 1) } == "changed")
    try test.expectSound()
  }

  @Test(arguments: [#"{"b":1,"a":2}"#, #"{"a": 1}"#, #"{"a":1.0}"#, #"{"a":1,"a":1}"#, "{}", "[1]", #"{"a":"\u0041"}"#])
  func rejectsNoncanonicalAttributes(_ attributes: String) throws {
    let head = HeadData.isObjectOf(attributes)
    #expect(!head)
  }

  @Test(arguments: [#"{"a":1,"b":[null,true,{"c":"é"}]}"#, #"{"n":1152921504606847000}"#, #"{"n":1e+21,"s":"\n"}"#])
  func acceptsCanonicalAttributes(_ attributes: String) throws {
    #expect(HeadData.isObjectOf(attributes))
    // Doubles keep their written form.
    #expect(try Attributes(json: attributes).canonicalJSON == Array(attributes.utf8))
  }

  /// Rows on pages can be in any order.
  @Test func pagesOfIDsRise() throws {
    #expect(try RecordWriter.end(ofPage: [8, 3, 9], after: 7) == 9)
    for page: [DocumentID] in [[8, 7], [8, 3], []] {
      expect(.damaged) { try RecordWriter.end(ofPage: page, after: 7) }
    }
  }

  @Test func rejectsStateWithOutOfRangeFields() {
    var state = StoreState(headerMAC: [UInt8](repeating: 1, count: StoreFormat.macCount), replicas: .zeros)
    #expect(StoreState(bytes: state.bytes) != nil)
    state.target = 1 << 31
    #expect(StoreState(bytes: state.bytes) == nil)
    state.target = 0
    state.unwiped = 1 << 63
    #expect(StoreState(bytes: state.bytes) == nil)
    state.unwiped = 0
    // The number of the next attachment, the count of attachments, and the length of the ring.
    for (offset, byte) in [(2180, UInt8(1)), (2187, 0), (2188, 0xFF), (2236, 1), (2238, 0x15), (2239, 0x77)] {
      var bytes = state.bytes
      bytes[offset] = byte
      #expect(StoreState(bytes: bytes) == nil, "\(offset)")
    }
    #expect(StoreState(bytes: state.bytes.dropLast()) == nil && StoreState(bytes: state.bytes + [0]) == nil)
  }

  @Test func rejectsStateWithWrongStorageClass() throws {
    let test = try TestStore()
    try test.store.close()
    let database = try test.raw()
    try database.execute(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), 'sealed BLOB', 'sealed')
        WHERE name = 'coffer_state'
      """)
    try database.close()
    let loose = try test.raw()
    try loose.execute(
      """
      UPDATE coffer_state SET sealed = CAST(sealed AS TEXT);
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'sealed NOT NULL)', 'sealed BLOB NOT NULL) STRICT')
        WHERE name = 'coffer_state'
      """)
    try loose.close()
    expect(.damaged) { try test.reopened() }
  }
}

extension HeadData {
  fileprivate static func isObjectOf(_ text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { isObject($0) }
  }
}
