import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Bulk insertion from sequences of documents and of values.
struct BulkSequenceTests {
  private struct Note: Codable, Sendable, Equatable {
    var title: String
    var number: Int
  }

  /// Returns a document whose parts vary with `number`.
  private func document(_ number: Int) throws -> Document {
    try Document(
      title: number % 3 == 0 ? nil : "title \(number) \u{E4}", text: number % 5 == 0 ? "" : "text \(number) \u{1F600}",
      key: number % 2 == 0 ? DocumentKey("key \(number)") : nil,
      attributes: number % 7 == 0 ? Attributes(json: #"{"n":\#(number)}"#) : Attributes(),
      created: Timestamp(millisecondsSince1970: Int64(number)), modified: Timestamp(millisecondsSince1970: 9),
      isJSON: number % 11 == 0)
  }

  @Test func storesSameDocumentsAsSingleInserts() throws {
    try withTestStore { test in
      let documents = try (1...1300).map(document)
      let report = try test.store.write { writer in
        try writer.create(DocumentCollection("alone"), titleRule: .derived)
        try writer.create(test.notes, titleRule: .derived)
        for document in documents { try writer.insert(document, into: DocumentCollection("alone")) }
        return try writer.insert(contentsOf: documents, into: test.notes)
      }
      #expect(report.created == 1300 && report.firstID == 1301 && report.lastID == 2600)
      #expect(report.collections == ["notes": 1300])
      try test.store.read { reader throws in
        for number in 1...1300 {
          let alone = try reader.document(DocumentID(Int64(number)))
          #expect(try reader.document(DocumentID(Int64(1300 + number))) == alone)
        }
        #expect(try reader.headers(in: test.notes).map(\.id.rawValue) == Array(1301...2600))
      }
    }
  }

  @Test(.slow) func readsSequenceInBatchesOnCallingThread() throws {
    try withTestStore { test in
      let caller = pthread_self()
      var read = 0
      var ahead = 0
      var written = 0
      var options = BulkOptions()
      options.progress = {
        ahead = max(ahead, read - written)
        written = $0.done
      }
      let lazily = AnySequence {
        AnyIterator { () -> Document? in
          #expect(pthread_equal(pthread_self(), caller) != 0)
          guard read < 20_000 else { return nil }
          read += 1
          return Document(text: "\(read)")
        }
      }
      try test.store.write { try $0.insert(contentsOf: lazily, into: test.notes, options: options) }
      #expect(written == 20_000)
      #expect(ahead <= 4 * 512)
    }
  }

  @Test func keepsParentsAndRejectsMissingParent() throws {
    try withTestStore { test in
      let parent = try test.store.write { try $0.insert(Document(text: "parent"), into: test.notes) }
      try test.store.write {
        try $0.insert(contentsOf: [Document(text: "child", parent: parent)], into: test.notes)
      }
      #expect(try test.store.read { try $0.header(of: 2) }.parent == parent)
      let before = try test.bytesOnDisk()
      let error = #expect(throws: StoreError.self) {
        try test.store.write {
          try $0.insert(contentsOf: [Document(text: "a"), Document(text: "b", parent: 77)], into: test.notes)
        }
      }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message == "record 2: the parent 77 is no other document of the same collection")
      #expect(error?.documentID == nil)
      #expect(try test.bytesOnDisk() == before)
    }
  }

  @Test func reportsFailedRecordAndLeavesStoreUnchanged() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "taken", key: "k700"), into: test.notes) }
      let before = try test.bytesOnDisk()
      let documents = (1...1000).map { Document(text: "t", key: DocumentKey("k\($0)")) }
      let error = #expect(throws: StoreError.self) {
        try test.store.write { try $0.insert(contentsOf: documents, into: test.notes) }
      }
      #expect(error?.code == .duplicateKey)
      #expect(error?.message.hasPrefix("record 700: ") == true)
      struct Stop: Error {}
      #expect(throws: Stop.self) {
        try test.store.write {
          try $0.insert(contentsOf: 1...2000, into: test.notes, key: { if $0 == 1999 { throw Stop() } else { nil } })
        }
      }
      #expect(try test.bytesOnDisk() == before)
    }
  }

  /// As for a single document, one date says nothing about the other one.
  @Test(arguments: [BulkOptions.Conflict.fail, .update, .skip])
  func missingDateIsCurrentDate(_ mode: BulkOptions.Conflict) throws {
    try withTestStore { test in
      let past = Timestamp(millisecondsSince1970: 9)
      let documents = [Document(text: "a", created: past), Document(text: "b", modified: past)]
      var options = BulkOptions()
      options.onConflict = mode
      try test.store.write { try $0.insert(contentsOf: documents, into: test.notes, options: options) }
      try test.store.read { reader throws in
        let (first, second) = (try reader.header(of: 1), try reader.header(of: 2))
        #expect(first.created == past && first.modified > past)
        #expect(second.created > past && second.modified == past)
      }
    }
  }

  @Test func rejectsAdditionsDuringInsertion() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        let transaction = writer.transaction
        var options = BulkOptions()
        options.onInsert = { id in
          guard id == 1 else { return }
          let inner = WriteTransaction(transaction)
          expect(.misuse) { try inner.insert(Document(text: "added"), into: test.notes) }
          expect(.misuse) { try inner.insert(contentsOf: [Document(text: "added")], into: test.notes) }
          expect(.misuse) { try inner.create(DocumentCollection("added")) }
        }
        try writer.insert(
          contentsOf: 1...1300, into: test.notes, options: options,
          key: { number in
            if number == 1 { expect(.misuse) { try writer.insert(Document(text: "added"), into: test.notes) } }
            return nil
          })
        try writer.insert(Document(text: "last"), into: DocumentCollection("others"))
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id.rawValue) } == Array(1...1300))
      #expect(try test.store.read { try $0.text(of: 1301) } == "last")
    }
  }

  @Test func updatesExistingKeyOnRequest() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "old", key: "k"), into: test.notes) }
      var options = BulkOptions()
      options.onConflict = .update
      let documents = [Document(text: "new", key: "k"), Document(text: "other")]
      let report = try test.store.write { try $0.insert(contentsOf: documents, into: test.notes, options: options) }
      #expect(report.updated == 1 && report.created == 1)
      #expect(try test.store.read { try $0.text(of: 1) } == "new")
    }
  }

  @Test func insertsSequenceOfValues() throws {
    try withTestStore { test in
      let notes = (1...600).map { Note(title: "note \($0)", number: $0) }
      let report = try test.store.write {
        try $0.insert(
          contentsOf: notes.lazy.filter { $0.number != 3 }, into: test.notes, key: { DocumentKey("n\($0.number)") },
          title: { $0.number == 2 ? "given" : nil }, attributes: { try Attributes(json: #"{"number":\#($0.number)}"#) })
      }
      #expect(report.created == 599)
      try test.store.read { reader throws in
        #expect(try reader.values(Note.self, in: test.notes).map(\.value) == notes.filter { $0.number != 3 })
        #expect(try reader.value(Note.self, forKey: "n600", in: test.notes) == notes[599])
        #expect(try reader.header(of: 1).title == "note 1")
        #expect(try reader.header(of: 2).title == "given")
        #expect(try reader.header(of: 2).attributes == Attributes(json: #"{"number":2}"#))
        #expect(try reader.header(of: 2).isJSON)
      }
    }
  }

  @Test func emptySequenceInsertsZeroDocuments() throws {
    try withTestStore { test in
      let report = try test.store.write { try $0.insert(contentsOf: [Document](), into: test.notes) }
      #expect(report.created == 0 && report.collections.isEmpty)
      #expect(try test.store.read { try $0.count(in: test.notes) } == 0)
    }
  }
}
