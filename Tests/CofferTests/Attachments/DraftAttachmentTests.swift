import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Attachments of drafts, in bulk insertion, updates and synchronization.
struct DraftAttachmentTests {
  private struct Source: DraftSource {
    var documents: [(key: String, attachments: [DraftAttachment])]
    private var isDone = false

    init(_ documents: [(key: String, attachments: [DraftAttachment])]) {
      self.documents = documents
    }

    mutating func read(into batch: inout DraftBatch) throws -> Bool {
      if isDone { return false }
      isDone = true
      for (index, document) in documents.enumerated() {
        batch.bytes += document.key.utf8
        let range = batch.bytes.count - document.key.utf8.count..<batch.bytes.count
        var draft = DraftBatch.Draft(text: range, record: index + 1)
        draft.key = range
        draft.attachments = batch.attachments.count..<batch.attachments.count + document.attachments.count
        batch.attachments += document.attachments
        batch.drafts.append(draft)
      }
      return true
    }
  }

  private func names(_ store: DocumentStore, _ key: DocumentKey) throws -> [String: [UInt8]] {
    try store.read { reader in
      guard let id = try reader.id(forKey: key, in: "notes") else { return [:] }
      let list = try reader.attachments(of: id)
      return Dictionary(try list.map { ($0.name, try reader.content(of: $0.id)) }) { $0 + $1 }
    }
  }

  private static var update: BulkOptions {
    var options = BulkOptions()
    options.onConflict = .update
    return options
  }

  @Test func updateReplacesKeepsAndAdds() throws {
    try withTestStore { test in
      try test.store.write { tx in
        try tx.insert(
          contentsOf: Source([
            (
              "a",
              [
                DraftAttachment(name: "changed", bytes: [1]), DraftAttachment(name: "equal", bytes: [2]),
                DraftAttachment(name: "other", bytes: [3]),
              ]
            ), ("b", []),
          ]), into: "notes")
      }
      let before = try test.store.read { try $0.attachments(of: 1) }
      let report = try test.store.write {
        try $0.insert(
          contentsOf: Source([
            (
              "a",
              [
                DraftAttachment(name: "changed", bytes: [9]), DraftAttachment(name: "equal", bytes: [2]),
                DraftAttachment(name: "new.png", bytes: [4]),
              ]
            ), ("b", []),
          ]), into: "notes", options: Self.update)
      }
      #expect(report.updated == 1 && report.unchanged == 1 && report.attachments == 2)
      #expect(try names(test.store, "a") == ["changed": [9], "equal": [2], "other": [3], "new.png": [4]])
      let after = try test.store.read { try $0.attachments(of: 1) }
      #expect(Set(before.map(\.id)).intersection(after.map(\.id)).count == 2)
      #expect(after.first { $0.name == "new.png" }?.mediaType == "image/png")
    }
  }

  @Test func numbersRepeatedNames() throws {
    try withTestStore { test in
      let source = Source([("a", (0..<3).map { DraftAttachment(name: "a.txt", bytes: [UInt8($0)]) })])
      for _ in 0..<2 {
        _ = try test.store.write { try $0.insert(contentsOf: source, into: "notes", options: Self.update) }
        #expect(try names(test.store, "a") == ["a.txt": [0], "a-2.txt": [1], "a-3.txt": [2]])
      }
    }
  }

  @Test func numbersAvoidOtherNames() throws {
    try withTestStore { test throws in
      func update(_ drafts: [(name: String, byte: UInt8)]) throws -> Int {
        let source = Source([("a", drafts.map { DraftAttachment(name: $0.name, bytes: [$0.byte]) })])
        return try test.store.write {
          try $0.insert(contentsOf: source, into: "notes", options: Self.update).attachments
        }
      }
      #expect(try update([("a-2.txt", 9)]) == 1)
      let drafts: [(name: String, byte: UInt8)] = [("a.txt", 0), ("a.txt", 1), ("a-3.txt", 3), ("a.txt", 2)]
      #expect(try update(drafts) == 4)
      let expected: [String: [UInt8]] = ["a-2.txt": [9], "a.txt": [0], "a-4.txt": [1], "a-3.txt": [3], "a-5.txt": [2]]
      #expect(try names(test.store, "a") == expected)
      for order in [drafts, Array(drafts.reversed())] { #expect(try update(order) == 0) }
      #expect(try names(test.store, "a") == expected)
    }
  }

  /// Merged documents can have several attachments of one name.
  @Test func keepsMergedAttachmentsOfOneName() throws {
    try withTestStore { test in
      _ = try test.store.write { try $0.insert(contentsOf: Source([("a", [])]), into: "notes") }
      let copy = try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
      try test.store.write { tx in
        try tx.attach([1], to: 1, name: "a.txt")
        try tx.attach([2], to: 1, name: "a-2.txt")
      }
      _ = try copy.write { try $0.attach([3], to: 1, name: "a.txt") }
      #expect(try test.store.merge(copy).isMerged)
      let merged = try test.store.read { try $0.attachments(of: 1) }
      #expect(merged.map(\.name) == ["a.txt", "a-2.txt", "a.txt"])
      func update(_ drafts: [DraftAttachment]) throws -> BulkReport {
        try test.store.write { try $0.insert(contentsOf: Source([("a", drafts)]), into: "notes", options: Self.update) }
      }
      var drafts = try test.store.read { reader in
        try merged.map { DraftAttachment(name: $0.name, bytes: try reader.content(of: $0.id)) }
      }
      for order in [drafts, Array(drafts.reversed())] {
        let report = try update(order)
        #expect(report.unchanged == 1 && report.attachments == 0)
      }
      #expect(try test.store.read { try $0.attachments(of: 1) } == merged)
      // A draft with other content replaces the attachment of its name that no other draft equals.
      drafts[0] = DraftAttachment(name: "a.txt", bytes: [9])
      #expect(try update(drafts).attachments == 1)
      let changed = try test.store.read { reader in
        try reader.attachments(of: 1).map { try reader.content(of: $0.id) }
      }
      #expect(changed == [[2], [3], [9]])
      try copy.close()
    }
  }

  @Test func synchronizeSkipsRecordWithMissingFile() throws {
    try withTestStore { test in
      let file = test.place.file("photo.png")
      try Data([7, 7]).write(to: file)
      let source = Source([
        ("a", [DraftAttachment(name: "photo", path: file.path)]),
        (
          "b",
          [
            DraftAttachment(name: "sound", bytes: [1]), DraftAttachment(name: "gone", path: file.path + ".missing"),
          ]
        ), ("c", []),
      ])
      let report = try test.store.write { try $0.synchronize("notes", with: source) }
      #expect(report.created.count == 2 && report.attachments == 1)
      #expect(report.invalid.map(\.record) == [2])
      #expect(try names(test.store, "a") == ["photo": [7, 7]])
      #expect(try test.store.read { try $0.id(forKey: "b", in: "notes") } == nil)
      let again = try test.store.write { try $0.synchronize("notes", with: source) }
      #expect(again.unchanged.count == 2 && again.attachments == 0)
    }
  }

  @Test(arguments: [BulkOptions.Conflict.fail, .update])
  func missingFileLeavesStoreUnchanged(_ conflict: BulkOptions.Conflict) throws {
    try withTestStore { test throws in
      var options = BulkOptions()
      options.onConflict = conflict
      let source = Source([
        ("a", [DraftAttachment(name: "a", bytes: [1])]), ("b", [DraftAttachment(name: "b", path: "/missing/file")]),
      ])
      let error = #expect(throws: StoreError.self) {
        try test.store.write { try $0.insert(contentsOf: source, into: "notes", options: options) }
      }
      #expect(error?.code == .noSuchFile && error?.message.hasPrefix("record 2: /missing/file") == true)
      #expect(try names(test.store, "a").isEmpty)
    }
  }
}
