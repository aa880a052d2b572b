import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCopies
@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Merging copies, with conflicts, policies, identities and proofs.
struct CopyMergeTests {
  private static let notes = DocumentCollection("notes")

  /// An original with five documents and its copy.
  private struct Pair {
    let test: TestStore
    let copy: DocumentStore
    var original: DocumentStore { test.store }

    init() throws {
      test = try TestStore()
      try test.store.write { writer in
        for number in 1...5 {
          try writer.insert(Document(title: "Title \(number)", text: "Text \(number)"), into: CopyMergeTests.notes)
        }
      }
      copy = try Self.fork(test, "copy.coffer")
    }

    func fork(_ name: String) throws -> DocumentStore { try Self.fork(test, name) }

    private static func fork(_ test: TestStore, _ name: String) throws -> DocumentStore {
      try DocumentStore.openEditableCopy(
        of: test.url, at: test.place.file(name), key: .published("primary"), options: .testing)
    }
  }

  private func edit(_ store: DocumentStore, _ id: Int64, _ text: String) throws {
    try store.write { try $0.update(DocumentID(id)) { $0.text = text } }
  }

  private func text(_ store: DocumentStore, _ id: Int64) throws -> String {
    try store.read { try $0.text(of: DocumentID(id)) }
  }

  private func texts(_ store: DocumentStore) throws -> [String] {
    try store.read { reader in
      var texts: [String] = []
      try reader.forEach(in: Self.notes) { texts.append($0.text) }
      return texts
    }
  }

  private func reasons(_ report: MergeReport) -> [MergeReport.Reason] { report.entries.map(\.reason) }

  // MARK: One-sided changes

  @Test func mergingCopyWithoutTitlesKeepsThem() throws {
    let pair = try Pair()
    var options = RekeyOptions()
    options.changeTitles(to: .none)
    try pair.copy.rekey(options: options)
    try edit(pair.copy, 1, "theirs")
    try pair.copy.write { try $0.move(DocumentID(2), to: .bottom) }
    try pair.original.write { tx in _ = try tx.update(DocumentID(3)) { $0.title = "New" } }
    _ = try pair.original.merge(pair.copy)
    func titles() throws -> [String?] { try pair.original.read { try $0.headers(in: Self.notes).map(\.title) } }
    #expect(try titles() == ["Title 1", "New", "Title 4", "Title 5", "Title 2"])
    #expect(try text(pair.original, 1) == "theirs")
    _ = try pair.copy.merge(pair.original)
    _ = try pair.original.merge(pair.copy)
    #expect(try titles() == ["Title 1", "New", "Title 4", "Title 5", "Title 2"])
    #expect(try pair.original.verify().isSound && pair.copy.verify().isSound)
  }

  @Test func mergesOneSidedChanges() throws {
    let pair = try Pair()
    try edit(pair.original, 1, "theirs")
    try edit(pair.copy, 2, "mine")
    try pair.original.write { writer in
      try writer.delete(DocumentID(3))
      try writer.insert(Document(text: "new there"), into: Self.notes, at: .top)
    }
    try pair.copy.write { try $0.delete(DocumentID(4)) }
    let report = try pair.copy.merge(pair.original)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(Set(reasons(report)) == [.editedThere, .deletedThere, .addedThere])
    #expect(try texts(pair.copy) == ["new there", "theirs", "mine", "Text 5"])
    let again = try pair.copy.merge(pair.original)
    #expect(again.isMerged && again.entries.isEmpty)
    #expect(try pair.copy.verify().isSound)
    // The original is unchanged.
    #expect(try text(pair.original, 2) == "Text 2")
  }

  /// The copy that deleted the parent shows none, and the other one its former ID, which is no difference.
  @Test func deletedParentIsNoDifference() throws {
    let pair = try Pair()
    try pair.copy.write { writer in
      try writer.delete(1)
      try writer.delete(2)
    }
    try pair.original.write { try $0.setParent(of: 2, to: 1) }
    #expect(try pair.original.merge(pair.copy, policy: .both).isMerged)
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try pair.copy.differences(to: pair.original).changed.isEmpty)
    #expect(try pair.original.differences(to: pair.copy).changed.isEmpty)
  }

  /// A move has no date of its own, so it doesn't set back the date of an edit elsewhere.
  @Test func keepsLaterDateOfChange() throws {
    let pair = try Pair()
    let date = Timestamp(millisecondsSince1970: 4_000_000_000_000)
    try pair.original.write { try $0.update(3) { ($0.text, $0.modified) = ("new", date) } }
    for id: DocumentID in [1, 3] { try pair.copy.write { try $0.move(id, to: .top) } }
    for (mine, theirs) in [(pair.original, pair.copy), (pair.copy, pair.original)] {
      #expect(try mine.merge(theirs).isMerged)
      #expect(try mine.read { try $0.header(of: 3).modified } == date)
    }
  }

  /// Dates come with the stamp, so both stores have the same ones after an exchange in both directions.
  @Test func mergesDatesWithStamp() throws {
    let pair = try Pair()
    func date(_ number: Int64) -> Timestamp { Timestamp(millisecondsSince1970: number) }
    func sort(_ store: DocumentStore) throws {
      try store.write { _ = try $0.sort(Self.notes, by: .title, descending: true) }
    }
    try pair.original.write { try $0.update(3) { ($0.text, $0.modified) = ("new", date(1000)) } }
    // The copy's sort has the greater counter than the edit, and the lesser one than the original's sort.
    try sort(pair.copy)
    try edit(pair.copy, 5, "other")
    #expect(try pair.copy.merge(pair.original).isMerged)
    try edit(pair.original, 4, "other")
    try pair.original.write { try $0.update(2) { ($0.attributes["x"], $0.modified) = (.number(1), date(2000)) } }
    try sort(pair.original)
    #expect(try pair.original.merge(pair.copy, policy: .both).isMerged)
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try texts(pair.copy) == texts(pair.original))
    for id: DocumentID in [1, 2, 3, 4, 5] {
      let headers = try [pair.copy, pair.original].map { try $0.read { try $0.header(of: id) } }
      #expect(headers[0].modified == headers[1].modified && headers[0].created == headers[1].created, "\(id)")
    }
  }

  /// An older version of an app writes another text than a newer one, and either can win.
  @Test(arguments: [(MergePolicy.both, 2), (.mine, 1), (.theirs, 1)])
  func schemaVersionComesWithText(policy: MergePolicy, count: Int) throws {
    let schemas: [String: AttributeValue?] = ["{\"new\":1}": .number(2), "{\"old\":1}": nil, "{\"old\":2}": nil]
    for isOlderLast in [true, false] {
      let pair = try Pair()
      func put(_ value: String, into store: DocumentStore) throws {
        try store.write { tx in
          try tx.update(DocumentID(1)) { document in
            (document.text, document.isJSON) = (value, true)
            document.attributes["schema"] = schemas[value]!
          }
        }
      }
      let (older, newer) = isOlderLast ? (pair.copy, pair.original) : (pair.original, pair.copy)
      try put("{\"new\":1}", into: newer)
      try put("{\"old\":1}", into: older)
      if isOlderLast { try put("{\"old\":2}", into: older) } else { try edit(newer, 2, "later") }
      #expect(try pair.original.merge(pair.copy, policy: policy).isMerged)
      #expect(try pair.copy.merge(pair.original).isMerged)
      for store in [pair.original, pair.copy] {
        let values = try store.read { reader in
          try reader.headers(in: Self.notes).map { try ($0, reader.text(of: $0.id)) }.filter { $0.1.first == "{" }
        }
        #expect(values.count == count)
        for (header, text) in values { #expect(header.attributes["schema"] == schemas[text]!, "\(text)") }
        #expect(try store.verify().isSound)
      }
      #expect(try texts(pair.original) == texts(pair.copy))
    }
  }

  /// The message says which of both stores is damaged, so that nobody replaces the sound one.
  @Test(
    arguments: [false, true],
    ["DELETE FROM coffer_record WHERE id = 4", "UPDATE coffer_record SET head = zeroblob(200) WHERE id = 1"])
  func namesDamagedStore(isMine: Bool, _ damage: String) throws {
    let pair = try Pair()
    for store in [pair.original, pair.copy] {
      try edit(store, 1, "\(store === pair.copy)")
      try store.close()
    }
    let files = [pair.test.url, pair.test.place.file("copy.coffer")]
    let damaged = files[isMine ? 0 : 1]
    let database = try Database(damaged.path, mode: .readWrite)
    try database.execute(damage)
    try database.close()
    let stores = try files.map { try DocumentStore.open(at: $0, key: .published("primary"), options: .testing) }
    var options = MergeOptions()
    options.verifiesOther = true
    for options in [MergeOptions(), options] {
      // A row that no change names isn't looked at.
      guard options.verifiesOther || damage.hasPrefix("UPDATE") else { continue }
      let error = try #require(throws: StoreError.self) {
        try stores[0].merge(stores[1], policy: .both, options: options)
      }
      #expect(error.message.hasPrefix(damaged.path + ": "), "\(error)")
      #expect("\(error)".contains("merge with a sound copy") != isMine, "\(error)")
    }
  }

  @Test func detectsMoveUnderDeletedParent() throws {
    let pair = try Pair()
    try pair.original.write { writer in
      try writer.move(DocumentID(3), to: .after(DocumentID(4)))
      try writer.setParent(of: DocumentID(3), to: DocumentID(1))
    }
    try pair.copy.write { writer in
      try writer.move(DocumentID(3), to: .after(DocumentID(4)))
      try writer.delete(DocumentID(1))
    }
    let refused = try pair.copy.merge(pair.original)
    #expect(!refused.isMerged && refused.conflicts.map(\.reason) == [.movedOnBothSides])
    #expect(try pair.copy.merge(pair.original, policy: .theirs).isMerged)
    #expect(try pair.copy.read { try $0.header(of: DocumentID(3)).parent } == nil)
  }

  @Test func combinesEditAndMove() throws {
    let pair = try Pair()
    try edit(pair.copy, 1, "mine")
    try pair.original.write { try $0.move(DocumentID(1), to: .bottom) }
    try edit(pair.original, 2, "theirs")
    try pair.copy.write { try $0.move(DocumentID(2), to: .bottom) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(Set(try texts(pair.copy).suffix(2)) == ["mine", "theirs"])
  }

  @Test func mergesSuccessiveEditsWithoutConflict() throws {
    let pair = try Pair()
    for round in 1...3 {
      try edit(pair.original, 1, "round \(round)")
      #expect(try pair.copy.merge(pair.original).isMerged)
      #expect(try text(pair.copy, 1) == "round \(round)")
    }
    // Equal edits on both sides don't conflict, and later ones neither, once both know of them.
    try edit(pair.original, 2, "same")
    try edit(pair.copy, 2, "same")
    #expect(try pair.copy.merge(pair.original).conflicts.isEmpty)
    #expect(try pair.original.merge(pair.copy).conflicts.isEmpty)
    try edit(pair.original, 2, "later")
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try text(pair.copy, 2) == "later")
  }

  // MARK: Conflicts

  @Test(arguments: ["fail", "mine", "theirs", "both", "custom"]) func policyResolvesConflictingEdits(_ name: String)
    throws
  {
    let pair = try Pair()
    try edit(pair.original, 1, "theirs")
    try edit(pair.copy, 1, "mine")
    try pair.copy.write { try $0.setKey(of: DocumentID(2), to: "key") }
    let before = try pair.copy.everything()
    let policies: [String: MergePolicy] = [
      "fail": .fail, "mine": .mine, "theirs": .theirs, "both": .both,
      "custom": .custom { conflict in
        #expect(conflict.reason == .editedOnBothSides && conflict.myText == "mine" && conflict.theirText == "theirs")
        #expect(conflict.mine?.title == "Title 1" && conflict.theirs?.id == DocumentID(1))
        return .theirs
      },
    ]
    let report = try pair.copy.merge(pair.original, policy: policies[name]!)
    #expect(report.conflicts.map(\.reason) == [.editedOnBothSides])
    #expect(report.isMerged == (name != "fail"))
    switch name {
    case "fail": #expect(try pair.copy.everything() == before)
    case "mine": #expect(try text(pair.copy, 1) == "mine")
    case "both":
      #expect(try texts(pair.copy).prefix(2) == ["mine", "theirs"])
      #expect(try pair.copy.titles(in: Self.notes).prefix(2) == ["Title 1", "Title 1 (other version)"])
    default: #expect(try text(pair.copy, 1) == "theirs")
    }
    if name != "fail" { #expect(try pair.copy.merge(pair.original).entries.isEmpty) }
  }

  @Test func policyResolvesEditAndDeletion() throws {
    for (policy, stays) in [(MergePolicy.mine, true), (.theirs, false)] {
      let pair = try Pair()
      try edit(pair.copy, 1, "mine")
      try pair.original.write { try $0.delete(DocumentID(1)) }
      #expect(try pair.copy.merge(pair.original).conflicts.map(\.reason) == [.editedHereDeletedThere])
      #expect(try pair.copy.merge(pair.original, policy: policy).isMerged)
      #expect(try texts(pair.copy).contains("mine") == stays)
      // Later merges preserve the decision.
      try edit(pair.original, 2, "more")
      #expect(try pair.copy.merge(pair.original).isMerged)
      #expect(try texts(pair.copy).contains("mine") == stays)
    }
  }

  /// Of two documents with one key, the earlier one holds it in every copy, and the other has it when the key is free.
  @Test func earlierDocumentHoldsEqualKey() throws {
    let pair = try Pair()
    try pair.original.write { try $0.insert(Document(text: "theirs", key: "k"), into: Self.notes) }
    let mine = try pair.copy.write { try $0.insert(Document(text: "mine", key: "k"), into: Self.notes) }
    let report = try pair.copy.merge(pair.original)
    #expect(report.isMerged && report.conflicts.isEmpty && reasons(report) == [.addedThere, .equalKeys])
    #expect(report.entries.last?.id == mine && report.entries.last?.action == .keyHidden)
    #expect(try pair.original.merge(pair.copy).isMerged)
    for store in [pair.copy, pair.original] {
      let found = try #require(try store.read { try $0.id(forKey: "k", in: Self.notes) })
      #expect(try text(store, found.rawValue) == "theirs")
      #expect(try store.read { try $0.header(of: mine).key } == nil)
      #expect(try store.verify().isSound)
      // An edit keeps the key that another document holds.
      try edit(store, mine.rawValue, "edited")
      try store.write { try $0.delete(found) }
      #expect(try store.read { try $0.id(forKey: "k", in: Self.notes) } == mine)
      #expect(try store.verify().isSound)
    }
  }

  @Test func mergesSwappedKeys() throws {
    let pair = try Pair()
    try pair.original.write { writer in
      try writer.setKey(of: DocumentID(1), to: "a")
      try writer.setKey(of: DocumentID(2), to: "b")
    }
    #expect(try pair.copy.merge(pair.original).isMerged)
    try pair.original.write { writer in
      try writer.setKey(of: DocumentID(1), to: nil)
      try writer.setKey(of: DocumentID(2), to: "a")
      try writer.setKey(of: DocumentID(1), to: "b")
    }
    let report = try pair.copy.merge(pair.original)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(try pair.copy.read { try $0.id(forKey: "a", in: Self.notes) } == DocumentID(2))
    #expect(try pair.copy.read { try $0.id(forKey: "b", in: Self.notes) } == DocumentID(1))
  }

  @Test func keepsMissingParentsAndCutsCycles() throws {
    let pair = try Pair()
    try pair.copy.write { try $0.insert(Document(text: "child", parent: DocumentID(1)), into: Self.notes) }
    try pair.original.write { try $0.delete(DocumentID(1)) }
    try pair.copy.write { try $0.setParent(of: DocumentID(2), to: DocumentID(3)) }
    try pair.original.write { try $0.setParent(of: DocumentID(3), to: DocumentID(2)) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try pair.original.merge(pair.copy).isMerged)
    for store in [pair.copy, pair.original] {
      try store.read { reader throws in
        // The later one of the two moves makes no child.
        #expect(try reader.header(of: DocumentID(2)).parent == nil)
        #expect(try reader.header(of: DocumentID(3)).parent == DocumentID(2))
        #expect(try reader.exists(DocumentID(1)) == false)
      }
      #expect(try store.verify().isSound)
    }
  }

  /// Makes a cycle of a document, document 3 and document 2 in both stores, which is cut at the first one.
  private func makeCycle(above child: DocumentID, in pair: Pair) throws {
    try pair.copy.write { try $0.setParent(of: DocumentID(2), to: child) }
    // The copy's last move is the latest one.
    for text in ["a", "b", "c"] { try pair.copy.write { writer in try writer.update(child) { $0.text = text } } }
    try pair.copy.write { try $0.setParent(of: child, to: DocumentID(3)) }
    try pair.original.write { try $0.setParent(of: DocumentID(3), to: DocumentID(2)) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try pair.original.merge(pair.copy).isMerged)
  }

  @Test(arguments: [false, true]) func documentGetsItsParentAfterTheCycle(_ isDeleted: Bool) throws {
    let pair = try Pair()
    let child = try pair.copy.write { try $0.insert(Document(text: "child"), into: Self.notes) }
    #expect(try pair.original.merge(pair.copy).isMerged)
    try makeCycle(above: child, in: pair)
    for store in [pair.copy, pair.original] { #expect(try store.read { try $0.header(of: child).parent } == nil) }
    try pair.original.write { writer in
      if isDeleted { try writer.delete(DocumentID(2)) } else { try writer.setParent(of: DocumentID(3), to: nil) }
    }
    #expect(try pair.copy.merge(pair.original).isMerged)
    for store in [pair.copy, pair.original] {
      #expect(try store.read { try $0.header(of: child).parent } == DocumentID(3))
      #expect(try store.verify().isSound)
    }
  }

  /// The merge deletes a document of the cycle before it changes the text of another one below the cut.
  @Test func documentGetsItsParentBesideOtherChanges() throws {
    let pair = try Pair()
    let child = try pair.copy.write { try $0.insert(Document(text: "child"), into: Self.notes) }
    let other = try pair.copy.write { try $0.insert(Document(text: "other", parent: child), into: Self.notes) }
    #expect(try pair.original.merge(pair.copy).isMerged)
    try makeCycle(above: child, in: pair)
    try pair.original.write { writer in
      try writer.delete(DocumentID(2))
      try writer.update(other) { $0.text = "changed" }
    }
    #expect(try pair.copy.merge(pair.original).isMerged)
    for store in [pair.copy, pair.original] {
      #expect(try store.read { try $0.header(of: child).parent } == DocumentID(3))
    }
  }

  // MARK: Collections

  @Test func combinesEqualNewCollections() throws {
    let pair = try Pair()
    for store in [pair.original, pair.copy] {
      try store.write { try $0.insert(Document(text: "x"), into: DocumentCollection("new")) }
      try store.write { try $0.create(DocumentCollection("other"), foldsKeys: store === pair.copy) }
    }
    #expect(try pair.copy.merge(pair.original).conflicts.map(\.reason) == [.editedOnBothSides])
    #expect(try pair.copy.merge(pair.original, policy: .mine).isMerged)
    let collections = try pair.copy.read { try $0.collections() }
    #expect(Set(collections.map(\.name)) == ["notes", "new", "other"])
    #expect(collections.first { $0.name == "new" }?.count == 2)
    #expect(collections.first { $0.name == "other" }?.foldsKeys == true)
    #expect(try pair.original.merge(pair.copy).isMerged)
    try pair.original.write { try $0.rename(DocumentCollection("new"), to: "renamed") }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try pair.copy.read { try $0.collections().map(\.name) }.contains("renamed"))
  }

  /// A dropped collection is listed as long as it has documents that were added elsewhere.
  @Test(arguments: [false, true]) func keepsDocumentsOfDroppedCollection(_ isDroppedHere: Bool) throws {
    let pair = try Pair()
    let (dropping, using) = isDroppedHere ? (pair.copy, pair.original) : (pair.original, pair.copy)
    try dropping.write { try $0.drop(Self.notes) }
    let id = try using.write { try $0.insert(Document(text: "used"), into: Self.notes) }
    let report = try pair.copy.merge(pair.original)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(try texts(pair.copy) == ["used"])
    #expect(try pair.copy.merge(pair.original).entries.isEmpty)
    try pair.copy.write { try $0.delete(id) }
    #expect(try pair.copy.read { try $0.collections().isEmpty })
    // Made again, it's the collection of both stores.
    try pair.copy.write { try $0.insert(Document(text: "again"), into: Self.notes) }
    #expect(try pair.original.merge(pair.copy).isMerged)
    #expect(try texts(pair.original) == ["again"])
    #expect(try pair.original.read { try $0.collections().map(\.name) } == ["notes"])
    for store in [pair.copy, pair.original] { #expect(try store.verify().isSound) }
  }

  @Test func mergesKeyFolding() throws {
    let pair = try Pair()
    try pair.original.write { try $0.setKey(of: DocumentID(1), to: "KEY") }
    try pair.original.write { try $0.update(Self.notes, foldsKeys: true) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try pair.copy.read { try $0.id(forKey: "key", in: Self.notes) } == DocumentID(1))
    #expect(try pair.copy.verify().isSound)
  }

  /// The document that holds the folded key still has its former index when the other one is decided.
  @Test func mergesEndOfKeyFolding() throws {
    let pair = try Pair()
    try pair.original.write { try $0.update(Self.notes, foldsKeys: true) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    try pair.copy.write { try $0.insert(Document(text: "of the copy", key: "Foo"), into: Self.notes) }
    try pair.original.write { writer in
      for number in 0..<5 { try writer.insert(Document(text: "\(number)"), into: Self.notes) }
      try writer.insert(Document(text: "of the original", key: "foo"), into: Self.notes)
    }
    #expect(try pair.original.merge(pair.copy).isMerged)
    try pair.copy.write { try $0.update(Self.notes, foldsKeys: false) }
    #expect(try pair.original.merge(pair.copy).isMerged)
    for (key, text) in [("Foo", "of the copy"), ("foo", "of the original")] {
      let id = try #require(try pair.original.read { try $0.id(forKey: DocumentKey(key), in: Self.notes) })
      #expect(try self.text(pair.original, id.rawValue) == text)
    }
    #expect(try pair.original.verify().isSound)
  }

  // MARK: Identities

  @Test func givesNewIDWhereItIsTaken() throws {
    let pair = try Pair()
    try pair.copy.write { writer in
      try writer.insert(Document(text: "mine"), into: Self.notes, id: DocumentID(6))
      try writer.insert(Document(text: "child", parent: DocumentID(6)), into: Self.notes)
    }
    try pair.original.write { try $0.insert(Document(text: "theirs"), into: Self.notes) }
    let report = try pair.copy.merge(pair.original)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(try text(pair.copy, 6) == "mine")
    let theirs = try #require(report.entries.first { $0.action == .added })
    #expect(theirs.otherID == DocumentID(6))
    #expect(try text(pair.copy, #require(theirs.id).rawValue) == "theirs")
    #expect(try pair.copy.read { try $0.children(of: DocumentID(6)).count } == 1)
    // The original finds its document again under the other ID.
    try edit(pair.original, 6, "later")
    #expect(try pair.copy.merge(pair.original).conflicts.isEmpty)
    #expect(try text(pair.copy, #require(theirs.id).rawValue) == "later")
  }

  @Test func mergesSiblingsInBothDirections() throws {
    func pairOfCopies() throws -> (Pair, DocumentStore) {
      let pair = try Pair()
      let other = try pair.fork("other.coffer")
      for (store, name) in [(pair.copy, "a"), (other, "b")] {
        try edit(store, 1, name)
        try edit(store, name == "a" ? 2 : 3, name)
        try store.write {
          try $0.insert(Document(text: "new \(name)", key: DocumentKey("k-\(name)")), into: Self.notes)
        }
      }
      return (pair, other)
    }
    let (one, other) = try pairOfCopies()
    #expect(try one.copy.merge(other).conflicts.map(\.reason) == [.editedOnBothSides])
    #expect(try one.copy.merge(other, policy: .mine).isMerged)
    let (two, another) = try pairOfCopies()
    #expect(try another.merge(two.copy, policy: .theirs).isMerged)
    #expect(try Set(texts(one.copy)) == Set(texts(another)))
    #expect(try texts(one.copy).prefix(5) == texts(another).prefix(5))
    // The merged document gets an ID from this copy and is recognized by later merges.
    let taken = try one.copy.read { try $0.id(forKey: "k-b", in: Self.notes) }
    #expect(taken != nil)
    try other.write { try $0.insert(Document(text: "more b"), into: Self.notes) }
    let report = try one.copy.merge(other, policy: .mine)
    #expect(report.entries.filter { $0.action == .added }.count == 1)
    #expect(try one.copy.verify().isSound)
  }

  @Test func mergesCopyIntoOriginal() throws {
    let pair = try Pair()
    try edit(pair.copy, 1, "from the copy")
    try pair.copy.write { try $0.insert(Document(text: "new"), into: Self.notes) }
    let report = try pair.original.merge(pair.copy)
    #expect(report.isMerged)
    #expect(try texts(pair.original).prefix(1) == ["from the copy"])
    // New documents keep their IDs.
    let ids = { (store: DocumentStore) in try store.read { try $0.headers(in: Self.notes).map(\.id.rawValue) } }
    #expect(try ids(pair.original) == ids(pair.copy))
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try texts(pair.copy) == texts(pair.original))
    try edit(pair.original, 1, "later")
    #expect(try pair.copy.merge(pair.original).isMerged)
  }

  /// Two byte copies of one store that were both written to have one name for different changes.
  @Test func mergesClonesByBase() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...3 { try writer.insert(Document(text: "\(number)"), into: Self.notes) }
    }
    let (base, other) = (test.place.file("base.coffer"), test.place.file("other.coffer"))
    try DocumentStore.backup(at: test.url, to: base)
    try DocumentStore.backup(at: test.url, to: other)
    let right = try DocumentStore.open(at: other, key: .published("primary"), options: .testing)
    try edit(right, 1, "there")
    try right.write { try $0.insert(Document(text: "new there"), into: Self.notes) }
    expect(.anchorMismatch) { try test.store.merge(right) }
    try edit(test.store, 2, "here")
    try test.store.write { try $0.insert(Document(text: "new here"), into: Self.notes) }
    let before = try test.store.everything()
    expect(.anchorMismatch) { try test.store.merge(right) }
    #expect(try test.store.everything() == before)
    let older = try DocumentStore.open(at: base, key: .published("primary"), options: .testing)
    let report = try test.store.merge(right, base: older)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(try texts(test.store).prefix(3) == ["there", "here", "3"])
    #expect(try Set(texts(test.store).dropFirst(3)) == ["new there", "new here"])
    try test.expectSound()
    // The other file's later changes have the same new name.
    try edit(right, 3, "later")
    #expect(try test.store.merge(right, base: older).entries.map(\.action) == [.changed])
    #expect(try test.store.merge(right, base: older).entries.isEmpty)
    try test.expectSound()
    // The other file can't take its own changes back under that name.
    let unchanged = try right.everything()
    expect(.anchorMismatch) { try right.merge(test.store, base: older) }
    #expect(try right.everything() == unchanged && right.verify().isSound)
    let stranger = try TestStore()
    expect(.invalidArgument) { try test.store.merge(right, base: stranger.store) }
  }

  /// The first transaction after a restore takes a new identity, whatever else it does.
  @Test(arguments: [
    "merge", "merge into", "rekey", "keys only", "editable copy", "index", "slot", "restore document", "replace",
    "merge original",
  ])
  func firstChangeOfRestoredFileIsReadable(_ change: String) throws {
    let pair = try Pair()
    let (backup, target) = (pair.test.place.file("backup.coffer"), pair.test.place.file("copy.coffer"))
    let third = try pair.fork("third.coffer")
    try edit(third, 3, "third")
    #expect(try pair.original.merge(third).isMerged)
    try edit(pair.copy, 1, "mine")
    try pair.copy.backup(to: backup)
    try edit(pair.copy, 2, "lost")
    try edit(pair.original, 4, "theirs")
    try pair.copy.close()
    _ = try DocumentStore.restore(at: target, from: backup, replacing: true)
    let store = try DocumentStore.open(at: target, key: .published("primary"), options: .testing)
    switch change {
    case "merge": #expect(try store.merge(pair.original).isMerged)
    case "merge into":
      #expect(try pair.original.merge(store).isMerged)
      #expect(try store.merge(pair.original).isMerged)
    case "rekey": #expect(try store.rekey { _ in }.isFinished)
    case "keys only":
      var options = RekeyOptions()
      options.isKeysOnly = true
      try store.rekey(options: options)
      try store.rekey(options: .resuming)
    case "editable copy":
      try store.makeEditableCopy(at: pair.test.place.file("fourth.coffer"), keys: [.published("next")])
    case "index": try store.index(Self.notes, .words())
    case "slot": try store.keys.add(.published("next"))
    case "restore document": try store.restore([4], from: pair.original)
    default:
      try store.close()
      try DocumentStore.openEditableCopy(
        of: pair.test.url, at: target, key: .published("primary"),
        onNewerOriginal: change == "replace" ? .replace : .merge(.both), options: .testing
      ).close()
    }
    try store.close()
    let again = try DocumentStore.open(at: target, key: .published("primary"), options: .testing)
    #expect(try again.verify().isSound)
    for other in [pair.original, third] {
      #expect(try again.merge(other, policy: .both).isMerged)
      #expect(try other.merge(again).isMerged)
    }
    #expect(try texts(again) == texts(pair.original))
    #expect(try again.verify().isSound)
  }

  /// Two files of one store were written to, and one of them far more often.
  @Test(arguments: [1, 31, 33, 100, 500])
  func rejectsClonesAfterManyCommits(count: Int) throws {
    let pair = try Pair()
    let (older, file) = (pair.test.place.file("older.coffer"), pair.test.place.file("clone.coffer"))
    try pair.copy.close()
    try pair.original.close()
    for target in [older, file] { try FileManager.default.copyItem(at: pair.test.url, to: target) }
    let stores = try [pair.test.url, file, older].map {
      try DocumentStore.open(at: $0, key: .published("primary"), options: .testing)
    }
    try edit(stores[1], 2, "clone")
    for number in 0..<count { try edit(stores[0], 1, "\(number)") }
    for (mine, theirs) in [(0, 1), (1, 0)] {
      let before = try stores[mine].everything()
      let error = try #require(throws: StoreError.self) {
        try stores[mine].merge(stores[theirs], policy: .both)
      }
      #expect(error.code == .anchorMismatch && !error.message.contains("later time"), "\(error)")
      #expect(try stores[mine].everything() == before)
    }
    #expect(try stores[0].merge(stores[1], base: stores[2], policy: .both).isMerged)
    #expect(try text(stores[0], 2) == "clone" && text(stores[0], 1) == "\(count - 1)")
  }

  /// A file was put back by a program that leaves no trace, and went on under its name.
  @Test(arguments: [1, 40, 100])
  func rejectsFileThatWasPutBack(count: Int) throws {
    let pair = try Pair()
    let older = pair.test.place.file("older.coffer")
    try pair.original.close()
    try FileManager.default.copyItem(at: pair.test.url, to: older)
    var original = try pair.test.reopened()
    for number in 0..<10 { try edit(original, 1, "lost \(number)") }
    #expect(try pair.copy.merge(original).isMerged)
    try original.close()
    try FileManager.default.removeItem(at: pair.test.url)
    try FileManager.default.copyItem(at: older, to: pair.test.url)
    original = try pair.test.reopened()
    for number in 0..<count { try edit(original, 2, "\(number)") }
    expect(.anchorMismatch) { try pair.copy.merge(original, policy: .both) }
    expect(.anchorMismatch) { try original.merge(pair.copy, policy: .both) }
  }

  /// A restored file takes a new identity with its next change, so it merges with the file that it replaced.
  @Test func mergesRestoredFile() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "1"), into: Self.notes) }
    let (backup, restored) = (test.place.file("backup.coffer"), test.place.file("restored.coffer"))
    try DocumentStore.backup(at: test.url, to: backup)
    try edit(test.store, 1, "later")
    try DocumentStore.restore(at: restored, from: backup)
    let store = try DocumentStore.open(at: restored, key: .published("primary"), options: .testing)
    try store.write { try $0.insert(Document(text: "restored"), into: Self.notes) }
    // Its first change under the new identity comes, too.
    let third = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("third.coffer"), key: .published("primary"), options: .testing)
    #expect(try third.merge(store).entries.map(\.action) == [.added])
    #expect(try Set(texts(third)) == ["later", "restored"])
    #expect(try store.merge(test.store).isMerged)
    #expect(try Set(texts(store)) == ["later", "restored"])
    #expect(try test.store.merge(store).isMerged)
    #expect(try texts(test.store) == texts(store))
    try test.expectSound()
  }

  @Test func restoredFileTakesIdentityAfterUndoneChange() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "1"), into: Self.notes) }
    let (backup, restored) = (test.place.file("backup.coffer"), test.place.file("restored.coffer"))
    try DocumentStore.backup(at: test.url, to: backup)
    try edit(test.store, 1, "later")
    try DocumentStore.restore(at: restored, from: backup)
    let store = try DocumentStore.open(at: restored, key: .published("primary"), options: .testing)
    try store.write { writer in
      expect(.noSuchDocument) { try writer.delete([99]) }
      try writer.insert(Document(text: "restored"), into: Self.notes)
    }
    #expect(try store.merge(test.store).isMerged)
    #expect(try Set(texts(store)) == ["later", "restored"])
  }

  /// A merge brings a document into a collection that was dropped here, so the collection is listed again.
  @Test func changesDocumentOfDroppedCollection() throws {
    let pair = try Pair()
    try pair.copy.write { try $0.drop(Self.notes) }
    let id = try pair.original.write { try $0.insert(Document(text: "used"), into: Self.notes) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    try pair.copy.write { writer in
      #expect(try writer.exists(Self.notes))
      try writer.update(id) { $0.text = "changed" }
      try writer.delete(id)
      #expect(try !writer.exists(Self.notes))
    }
    #expect(try !pair.copy.read { try $0.exists(Self.notes) })
  }

  @Test func observesDroppedCollectionAfterMerge() async throws {
    let pair = try Pair()
    try await pair.copy.write { try $0.drop(Self.notes) }
    let id = try await pair.original.write { try $0.insert(Document(text: "used"), into: Self.notes) }
    var lists = pair.copy.observe(Self.notes).makeAsyncIterator()
    var counts = pair.copy.observe { try $0.count(in: Self.notes) }.makeAsyncIterator()
    #expect(try await lists.next()?.count == 0)
    #expect(try await counts.next() == 0)
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try await lists.next()?.count == 1)
    #expect(try await counts.next() == 1)
    try await pair.copy.write { try $0.delete(id) }
    #expect(try await lists.next()?.count == 0)
    #expect(try await counts.next() == 0)
  }

  @Test func putOfValueLeavesDerivedTitleUnchanged() throws {
    struct Item: Codable, Sendable {
      var name: String
      var number: Int
    }
    let test = try TestStore()
    let id = try test.store.write { try $0.insert(Item(name: "a", number: 1), into: Self.notes, key: "k") }
    let copy = try DocumentStore.openEditableCopy(
      of: test.url, at: test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    try copy.write { writer in _ = try writer.update(id) { $0.title = "Own" } }
    try test.store.write { writer in _ = try writer.put(Item(name: "a", number: 2), into: Self.notes, key: "k") }
    let report = try copy.merge(test.store)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(try copy.read { try $0.header(of: id).title } == "Own")
  }

  @Test func restoringDocumentFreesKeyForOtherDocument() throws {
    let pair = try Pair()
    let file = pair.test.place.file("backup.coffer")
    try pair.original.backup(to: file)
    try pair.original.write { try $0.setKey(of: 1, to: "k") }
    try pair.copy.write { try $0.setKey(of: 2, to: "k") }
    #expect(try pair.original.merge(pair.copy).isMerged)
    let holder = try #require(try pair.original.read { try $0.id(forKey: "k", in: Self.notes) })
    let backup = try DocumentStore.open(at: file, key: .published("primary"), options: .testing)
    _ = try pair.original.restore([holder], from: backup)
    #expect(try pair.original.read { try $0.id(forKey: "k", in: Self.notes) } == (holder == 1 ? 2 : 1))
    try pair.test.expectSound()
  }

  @Test func rejectsUnrelatedStores() throws {
    let pair = try Pair()
    let stranger = try TestStore()
    expect(.invalidArgument) { try pair.copy.merge(stranger.store) }
    expect(.invalidArgument) { try pair.copy.merge(pair.copy) }
  }

  // MARK: Proof

  /// Reads the original's changes from its ring or from a walk.
  @Test(arguments: [0, 80]) func rejectsReplayedOriginal(_ noise: Int) throws {
    let pair = try Pair()
    try edit(pair.original, 1, "secret plan")
    let raw = try pair.test.raw()
    try raw.execute("CREATE TEMP TABLE old AS SELECT * FROM coffer_record WHERE id=1")
    try edit(pair.original, 1, "later plan")
    for number in 0..<noise { try edit(pair.original, 2, "noise \(number)") }
    // Restore an older version of the row.
    try raw.execute("DELETE FROM coffer_record WHERE id=1")
    try raw.execute("INSERT INTO coffer_record SELECT * FROM old")
    let before = try pair.copy.everything()
    expect(.setMismatch) { try pair.copy.merge(pair.original) }
    var options = MergeOptions()
    options.skipsDamaged = true
    expect(.setMismatch) { try pair.copy.merge(pair.original, options: options) }
    #expect(try pair.copy.everything() == before)
    // An attacker without a key deletes the row.
    try raw.execute("DELETE FROM coffer_record WHERE id=1")
    expect(.setMismatch) { try pair.copy.merge(pair.original) }
    #expect(try pair.copy.everything() == before)
  }

  @Test(arguments: [0, 80]) func stopsAtOrSkipsDamagedText(_ noise: Int) throws {
    let pair = try Pair()
    let long = String(repeating: "long ", count: 2000)
    try edit(pair.original, 1, long)
    try edit(pair.original, 3, "sound")
    for number in 0..<noise { try edit(pair.original, 2, "noise \(number)") }
    try pair.test.raw().execute("UPDATE coffer_body SET ct=zeroblob(length(ct)) WHERE id=1")
    let before = try pair.copy.everything()
    expect(.damaged) { try pair.copy.merge(pair.original) }
    var options = MergeOptions()
    options.isDryRun = true
    expect(.damaged) { try pair.copy.merge(pair.original, options: options) }
    #expect(try pair.copy.everything() == before)
    options.isDryRun = false
    options.skipsDamaged = true
    let report = try pair.copy.merge(pair.original, options: options)
    #expect(report.isMerged)
    #expect(report.entries.first { $0.action == .skipped }?.otherID == DocumentID(1))
    #expect(try text(pair.copy, 3) == "sound")
    #expect(try text(pair.copy, 1) == "Text 1")
  }

  /// Returns the path of a changed copy of the original's file.
  private func branch(_ pair: Pair, _ change: (DocumentStore) throws -> Void) throws -> String {
    let url = pair.test.place.file("branch.coffer")
    try DocumentStore.backup(at: pair.test.url, to: url)
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    try change(store)
    try store.close()
    return url.path
  }

  private func take(_ id: Int64, from branch: String, into pair: Pair) throws {
    let raw = try pair.test.raw()
    try raw.execute("ATTACH '\(branch)' AS branch")
    try raw.execute("DELETE FROM main.coffer_record WHERE id=\(id)")
    try raw.execute("INSERT INTO main.coffer_record SELECT * FROM branch.coffer_record WHERE id=\(id)")
  }

  @Test func rejectsRowsOfAnotherBranch() throws {
    let pair = try Pair()
    let branch = try branch(pair) { store in
      try edit(store, 4, "x")
      try edit(store, 1, "evil")
    }
    try edit(pair.original, 1, "good")
    try edit(pair.original, 3, "good")
    try take(1, from: branch, into: pair)
    let before = try pair.copy.everything()
    expect(.setMismatch) { try pair.copy.merge(pair.original) }
    #expect(try pair.copy.everything() == before)
  }

  /// Demonstrates the limit of proof by the ring.
  @Test func fullVerificationDistinguishesEqualGenerations() throws {
    let pair = try Pair()
    let branch = try branch(pair) { try edit($0, 1, "evil") }
    try edit(pair.original, 1, "good")
    try take(1, from: branch, into: pair)
    var options = MergeOptions()
    options.verifiesOther = true
    expect(.setMismatch) { try pair.copy.merge(pair.original, options: options) }
    #expect(try text(pair.copy, 1) == "Text 1")
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try text(pair.copy, 1) == "evil")
  }

  @Test func rejectsReplayedOrDeletedCollection() throws {
    let pair = try Pair()
    try pair.original.write { try $0.rename(Self.notes, to: "first") }
    let raw = try pair.test.raw()
    try raw.execute("CREATE TEMP TABLE old AS SELECT * FROM coffer_collection")
    try pair.original.write { try $0.rename(DocumentCollection("first"), to: "second") }
    try raw.execute("DELETE FROM coffer_collection")
    try raw.execute("INSERT INTO coffer_collection SELECT * FROM old")
    expect(.setMismatch) { try pair.copy.merge(pair.original) }
    // A changed collection's row is missing.
    try raw.execute("DELETE FROM coffer_collection")
    expect(.setMismatch) { try pair.copy.merge(pair.original) }
    #expect(try pair.copy.read { try $0.exists(Self.notes) })
  }

  /// Somebody without a key who removes rows deletes nothing in other copies.
  @Test(arguments: [false, true]) func missingRowDeletesNothing(_ isDeletion: Bool) throws {
    let pair = try Pair()
    try edit(pair.original, 2, "edited")
    if isDeletion { try pair.original.write { try $0.delete(DocumentID(1)) } }
    try pair.test.raw().execute(isDeletion ? "DELETE FROM coffer_gone" : "DELETE FROM coffer_record WHERE id=1")
    let before = try pair.copy.everything()
    if isDeletion {
      expect(.setMismatch) { try pair.copy.merge(pair.original) }
      #expect(try pair.copy.everything() == before)
    } else {
      #expect(try pair.copy.merge(pair.original).isMerged)
    }
    #expect(try text(pair.copy, 1) == "Text 1")
  }

  @Test func rejectsChangeThatOtherStoreDoesNotInclude() throws {
    let pair = try Pair()
    try pair.original.write { writer in
      let rows = try writer.transaction.writer
      let ahead = Dot(replica: rows.dot.replica, counter: rows.dot.counter + 1000)
      try rows.rewrite(DocumentID(1), changing: [], .title, as: .head) { content, _ throws(StoreError) in
        content.history.change { $0.text = ahead }
      }
    }
    #expect(try pair.original.verify().damaged.map(\.id) == [1])
    let before = try pair.copy.everything()
    expect(.setMismatch) { try pair.copy.merge(pair.original) }
    #expect(try pair.copy.everything() == before)
  }

  /// Marks tell clones apart for 32 commits, and equal dots with different values after that.
  @Test func rejectsCloneWithoutCommonMarks() throws {
    let pair = try Pair()
    let url = pair.test.place.file("clone.coffer")
    try DocumentStore.backup(at: pair.test.url, to: url)
    let clone = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    try edit(pair.original, 1, "here")
    #expect(try pair.copy.merge(pair.original).isMerged)
    try edit(clone, 1, "there")
    for number in 0..<40 { try edit(clone, 2, "noise \(number)") }
    try clone.write { try $0.update(DocumentID(1)) { $0.title = "Later" } }
    let before = try pair.copy.everything()
    expect(.anchorMismatch) { try pair.copy.merge(clone) }
    #expect(try pair.copy.everything() == before)
  }

  @Test func findsParentThatCameBackUnderAnotherID() throws {
    let pair = try Pair()
    try pair.original.write { try $0.setParent(of: DocumentID(4), to: DocumentID(2)) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    try pair.copy.write { try $0.delete(DocumentID(2)) }
    try edit(pair.original, 2, "theirs")
    // A child still names the old ID, so the document gets another.
    let report = try pair.copy.merge(pair.original, policy: .theirs)
    let id = try #require(report.entries.first { $0.action == .added }?.id)
    #expect(id != DocumentID(2))
    #expect(try pair.copy.read { try $0.header(of: DocumentID(4)).parent } == id)
    // The decision renewed the birth, which the original doesn't include.
    #expect(try pair.original.merge(pair.copy).isMerged)
    #expect(try texts(pair.original).filter { $0 == "theirs" }.count == 1)
    for store in [pair.copy, pair.original] { #expect(try store.verify().isSound) }
  }

  // MARK: Round trips and chains

  @Test func preservesIDsThroughRoundTrips() throws {
    let pair = try Pair()
    let mine = try pair.copy.write { try $0.insert(Document(text: "n"), into: Self.notes) }
    for _ in 0..<3 {
      #expect(try pair.original.merge(pair.copy).isMerged)
      #expect(try pair.copy.merge(pair.original).isMerged)
    }
    #expect(try text(pair.original, mine.rawValue) == "n" && text(pair.copy, mine.rawValue) == "n")
    #expect(try pair.original.merge(pair.copy).entries.isEmpty)
    try edit(pair.original, mine.rawValue, "edited there")
    #expect(try pair.original.merge(pair.copy).isMerged)
    let report = try pair.copy.merge(pair.original)
    #expect(report.conflicts.isEmpty)
    #expect(try text(pair.copy, mine.rawValue) == "edited there")
    try pair.original.write { try $0.delete(mine) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try texts(pair.copy).count == 5)
    #expect(try pair.original.merge(pair.copy).isMerged)
    #expect(try texts(pair.original).count == 5)
  }

  /// A reverted change leaves a stamp on the other side but doesn't count as a change.
  @Test func ignoresRevertedEdit() throws {
    let pair = try Pair()
    let other = try pair.fork("other.coffer")
    try edit(pair.copy, 1, "edited")
    try edit(pair.copy, 1, "Text 1")
    #expect(try pair.original.merge(pair.copy).isMerged)
    try edit(pair.original, 5, "later")
    try pair.original.write { try $0.insert(Document(text: "behind"), into: Self.notes, at: .after(DocumentID(1))) }
    #expect(try other.merge(pair.original).isMerged)
    #expect(try texts(other).prefix(2) == ["Text 1", "behind"])
  }

  @Test func roundTripKeepsSingleDocument() throws {
    let pair = try Pair()
    try edit(pair.copy, 2, "mine")
    try pair.original.write { try $0.delete(DocumentID(2)) }
    #expect(try pair.copy.merge(pair.original, policy: .mine).isMerged)
    #expect(try pair.original.merge(pair.copy).isMerged)
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try texts(pair.copy).filter { $0 == "mine" }.count == 1)
    #expect(try Set(texts(pair.copy)) == Set(texts(pair.original)))
  }

  @Test func propagatesChangesThroughCopies() throws {
    let pair = try Pair()
    let second = try DocumentStore.openEditableCopy(
      of: pair.test.place.file("copy.coffer"), at: pair.test.place.file("second.coffer"), key: .published("primary"),
      options: .testing)
    try pair.original.write { writer in
      try writer.insert(Document(text: "new"), into: Self.notes)
      try writer.move(DocumentID(3), to: .top)
      try writer.update(DocumentID(4)) { $0.text = "edited" }
      try writer.rename(Self.notes, to: "renamed")
      try writer.create(DocumentCollection("empty"))
    }
    #expect(try pair.copy.merge(pair.original).isMerged)
    let report = try second.merge(pair.copy)
    #expect(report.isMerged && report.conflicts.isEmpty)
    #expect(try second.differences(to: pair.copy).isEmpty)
    #expect(try second.read { try $0.collections().map(\.name) } == ["renamed", "empty"])
    #expect(try second.verify().isSound)
  }

  @Test func repeatedMergeKeepsResult() throws {
    for policy in [MergePolicy.mine, .theirs, .both] {
      let pair = try Pair()
      let early = try pair.fork("early.coffer")
      try pair.original.write { try $0.move(DocumentID(3), to: .after(DocumentID(1))) }
      let late = try pair.fork("late.coffer")
      for (store, name) in [(early, "early"), (late, "late")] {
        try edit(store, 4, name)
        try store.write { try $0.insert(Document(text: name), into: Self.notes, at: .after(DocumentID(1))) }
      }
      #expect(try early.merge(late, policy: policy).isMerged)
      let first = try texts(early)
      #expect(try early.merge(late, policy: policy).isMerged)
      #expect(try texts(early) == first)
      #expect(try early.verify().isSound)
    }
  }

  @Test func keepsParentAfterMove() throws {
    let pair = try Pair()
    try pair.original.write { try $0.setParent(of: DocumentID(4), to: DocumentID(2)) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    try edit(pair.copy, 2, "mine")
    try pair.original.write { try $0.delete(DocumentID(2)) }
    #expect(try pair.copy.merge(pair.original, policy: .mine).isMerged)
    try pair.original.write { try $0.move(DocumentID(4), to: .top) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try pair.copy.read { try $0.header(of: DocumentID(4)).parent } == DocumentID(2))
  }

  @Test func mergesSkippedDocumentFromSoundOriginal() throws {
    let pair = try Pair()
    let long = String(repeating: "long ", count: 2000)
    try edit(pair.original, 2, long)
    try edit(pair.original, 3, "sound")
    let sound = pair.test.place.file("sound.coffer")
    try DocumentStore.backup(at: pair.test.url, to: sound)
    // Damage the parent of a new document and the body of a changed document.
    try pair.original.write { try $0.insert(Document(text: "new", parent: DocumentID(5)), into: Self.notes) }
    try pair.test.raw().execute("UPDATE coffer_body SET ct=zeroblob(length(ct)) WHERE id=2")
    try pair.test.raw().execute("UPDATE coffer_record SET head=zeroblob(80) WHERE id=5")
    var options = MergeOptions()
    options.skipsDamaged = true
    let report = try pair.copy.merge(pair.original, options: options)
    #expect(report.isMerged && report.entries.filter { $0.action == .skipped }.map(\.otherID) == [DocumentID(2)])
    // The new document can precede or follow the fifth, whose position in the original is unreadable.
    #expect(try texts(pair.copy).prefix(4) == ["Text 1", "Text 2", "sound", "Text 4"])
    #expect(try Set(texts(pair.copy).dropFirst(4)) == ["Text 5", "new"])
    let repaired = try DocumentStore.open(at: sound, key: .published("primary"), options: .testing)
    options.verifiesOther = true
    #expect(try pair.copy.merge(repaired, options: options).isMerged)
    #expect(try text(pair.copy, 2) == long)
  }

  @Test func damageInTargetStopsMerge() throws {
    let pair = try Pair()
    try edit(pair.original, 1, "theirs")
    try Database(pair.test.place.file("copy.coffer").path, mode: .readWrite).execute(
      "UPDATE coffer_record SET head=zeroblob(80) WHERE id=1")
    var options = MergeOptions()
    options.skipsDamaged = true
    expect(.damaged) { try pair.copy.merge(pair.original, options: options) }
  }

  @Test func rejectsSameFileUnderTwoNames() throws {
    let pair = try Pair()
    let link = pair.test.place.file("link.coffer")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: pair.test.place.file("copy.coffer"))
    let other = try DocumentStore.open(at: link, key: .published("primary"), options: .testing)
    expect(.invalidArgument) { try pair.copy.merge(other) }
    expect(.invalidArgument) { try pair.copy.restore([DocumentID(1)], from: other) }
  }

  /// Beyond the ring, a reader can't distinguish merged documents from older documents.
  @Test func reportsEverythingChangedBeyondRing() throws {
    let pair = try Pair()
    let earlier = try pair.copy.engine.reading { transaction throws(StoreError) in transaction.state }
    try pair.original.write { try $0.insert(Document(text: "new"), into: Self.notes) }
    #expect(try pair.copy.merge(pair.original).isMerged)
    try pair.copy.write { try $0.delete(DocumentID(1)) }
    func changes() throws -> [RingChanges] {
      try pair.copy.engine.reading { transaction throws(StoreError) in try transaction.changes(since: earlier).changes }
    }
    #expect(try !changes().contains(.everything))
    for number in 0..<400 { try edit(pair.copy, 2, "\(number)") }
    #expect(try changes() == [.everything])
  }

  @Test func dryRunLeavesStoreUnchanged() throws {
    let pair = try Pair()
    try edit(pair.original, 1, "theirs")
    let before = pair.test.place.names
    let file = try Data(contentsOf: pair.test.place.file("copy.coffer"))
    var options = MergeOptions()
    options.isDryRun = true
    let report = try pair.copy.merge(pair.original, options: options)
    #expect(!report.isMerged && report.entries.map(\.action) == [.changed])
    #expect(try Data(contentsOf: pair.test.place.file("copy.coffer")) == file)
    #expect(pair.test.place.names == before)
  }

  @Test func throwingClosureStopsMerge() throws {
    let pair = try Pair()
    try edit(pair.original, 1, "theirs")
    try edit(pair.copy, 1, "mine")
    let before = try pair.copy.everything()
    #expect(throws: Interruption()) {
      try pair.copy.merge(pair.original, policy: .custom { _ in throw Interruption() })
    }
    #expect(try pair.copy.everything() == before)
  }

  // MARK: Bundles

  @Test func mergesThreeUpgradesWithEdits() throws {
    let pair = try Pair()
    try pair.copy.close()
    let bundle = pair.test.place.file("bundle")
    for version in 1...3 {
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      let shipped = bundle.appending(path: "data.coffer")
      try pair.original.write { writer in
        try writer.update(DocumentID(5)) { $0.text = "version \(version)" }
        try writer.insert(Document(text: "entry \(version)"), into: Self.notes)
      }
      try DocumentStore.backup(at: pair.test.url, to: shipped)
      try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: shipped.path)
      try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: bundle.path)
      let bytes = try Data(contentsOf: shipped)
      let store = try DocumentStore.openEditableCopy(
        of: shipped, at: pair.test.place.file("copy.coffer"), key: .published("primary"),
        onNewerOriginal: .merge(.mine), options: .testing)
      guard case .merged(let report) = store.original else {
        Issue.record("version \(version): \(String(describing: store.original))")
        return
      }
      #expect(report.conflicts.isEmpty)
      #expect(try text(store, 5) == "version \(version)")
      try store.write { writer in
        try writer.insert(Document(text: "mine \(version)"), into: Self.notes)
        try writer.update(DocumentID(1)) { $0.text = "edited \(version)" }
      }
      try store.close()
      #expect(try Data(contentsOf: shipped) == bytes)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: bundle.path)
      try FileManager.default.removeItem(at: bundle)
    }
    let store = try DocumentStore.open(
      at: pair.test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    #expect(try texts(store).filter { $0.hasPrefix("mine") }.count == 3)
    #expect(try texts(store).filter { $0.hasPrefix("entry") }.count == 3)
    #expect(try text(store, 1) == "edited 3")
    #expect(try store.verify().isSound)
  }

  // MARK: Single documents

  /// A damaged text is replaced by the backup's, and the document keeps its place and family.
  @Test func restoresDamagedText() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...3 {
        let parent = number == 3 ? DocumentID(2) : nil
        let document = Document(title: "T\(number)", text: "\(number)", key: DocumentKey("k\(number)"), parent: parent)
        try writer.insert(document, into: Self.notes)
      }
    }
    let backup = test.place.file("backup.coffer")
    try DocumentStore.backup(at: test.url, to: backup)
    let source = try DocumentStore.open(at: backup, key: .published("primary"), options: .testing)
    try test.store.close()
    try test.raw().execute("UPDATE coffer_record SET body=zeroblob(length(body)) WHERE id=2")
    let store = try test.reopened()
    #expect(try store.verify().damaged.map(\.id) == [2])
    #expect(try store.restore([DocumentID(2), DocumentID(3)], from: source) == [.changed, .unchanged])
    #expect(try store.differences(to: source).isEmpty && store.verify().isSound)
  }

  @Test func restoresDocumentsAndPositions() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...6 {
        let parent = number == 3 ? DocumentID(2) : nil
        let document = Document(title: "T\(number)", text: "\(number)", key: DocumentKey("k\(number)"), parent: parent)
        try writer.insert(document, into: Self.notes)
      }
    }
    let backup = test.place.file("backup.coffer")
    try DocumentStore.backup(at: test.url, to: backup)
    let source = try DocumentStore.open(at: backup, key: .published("primary"), options: .testing)
    try test.store.write { writer in
      for id: Int64 in [3, 4] { try writer.delete(DocumentID(id)) }
      try writer.update(DocumentID(5)) { $0.text = "edited" }
      try writer.move(DocumentID(1), to: .bottom)
    }
    let outcomes = try test.store.restore([4, 5, 6, 3, 1].map { DocumentID($0) }, from: source)
    #expect(outcomes == [.added, .changed, .unchanged, .added, .changed])
    #expect(try test.store.differences(to: source).isEmpty)
    try test.expectSound()
    // The restore is atomic, so a key conflict restores neither document.
    try test.store.write { writer in
      try writer.delete(DocumentID(2))
      try writer.insert(Document(text: "other", key: "k2"), into: Self.notes)
      try writer.delete(DocumentID(4))
    }
    expect(.duplicateKey) { try test.store.restore([DocumentID(4), DocumentID(2)], from: source) }
    #expect(try !test.store.read { try $0.exists(DocumentID(4)) })
    expect(.noSuchDocument) { try test.store.restore([DocumentID(99)], from: source) }
    let stranger = try TestStore()
    expect(.invalidArgument) { try test.store.restore([DocumentID(1)], from: stranger.store) }
    // Restoring recreates the dropped collection.
    try test.store.write { try $0.drop(Self.notes) }
    #expect(try test.store.restore([DocumentID(2)], from: source) == [.added])
    #expect(try texts(test.store) == ["2"])
  }

  @Test func restoresParentsAndSwappedKeys() throws {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.insert(Document(text: "1", key: "a"), into: Self.notes)
      try writer.insert(Document(text: "2", key: "b", parent: DocumentID(1)), into: Self.notes)
      try writer.insert(Document(text: "3"), into: Self.notes)
      try writer.setParent(of: DocumentID(1), to: DocumentID(3))
    }
    let backup = test.place.file("backup.coffer")
    try DocumentStore.backup(at: test.url, to: backup)
    let source = try DocumentStore.open(at: backup, key: .published("primary"), options: .testing)
    try test.store.write { writer in
      try writer.setParent(of: DocumentID(2), to: nil)
      try writer.setParent(of: DocumentID(1), to: DocumentID(2))
      try writer.setKey(of: DocumentID(1), to: nil)
      try writer.setKey(of: DocumentID(2), to: "a")
      try writer.setKey(of: DocumentID(1), to: "b")
      try writer.delete(DocumentID(3))
    }
    #expect(try test.store.restore([1, 2, 3].map { DocumentID($0) }, from: source) == [.changed, .changed, .added])
    #expect(try test.store.differences(to: source).isEmpty)
    try test.expectSound()
  }

  @Test func restoresFromDamagedBackupIfAllowed() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...3 { try writer.insert(Document(text: "\(number)"), into: Self.notes) }
    }
    let backup = test.place.file("backup.coffer")
    try DocumentStore.backup(at: test.url, to: backup)
    try test.store.write { try $0.delete(DocumentID(1)) }
    try Database(backup.path, mode: .readWrite).execute("UPDATE coffer_record SET head=zeroblob(200) WHERE id=2")
    let source = try DocumentStore.open(at: backup, key: .published("primary"), options: .testing)
    expect(.setMismatch) { try test.store.restore([DocumentID(1)], from: source) }
    #expect(try texts(test.store) == ["2", "3"])
    #expect(try test.store.restore([DocumentID(1)], from: source, allowingDamage: true) == [.added])
    // The document precedes the next readable document in the backup.
    #expect(try texts(test.store) == ["2", "1", "3"])
    expect(.damaged) { try test.store.restore([DocumentID(2)], from: source, allowingDamage: true) }
  }

  @Test func undoneDeletionPreservesIdentity() throws {
    let pair = try Pair()
    let deleted = try pair.copy.write { try $0.deleteUndoably([DocumentID(2)]) }
    try pair.copy.write { try $0.restore(deleted) }
    try edit(pair.original, 1, "theirs")
    #expect(try pair.copy.merge(pair.original).isMerged)
    #expect(try texts(pair.copy).count == 5)
    try pair.original.write { try $0.move(DocumentID(2), to: .top) }
    let report = try pair.copy.merge(pair.original, policy: .theirs)
    #expect(report.isMerged)
    #expect(try texts(pair.copy).first == "Text 2")
    #expect(try texts(pair.copy).count == 5)
  }

  // MARK: Lost texts

  /// A text loses a conflict in a merge that also receives the deletion of the document that it became before.
  @Test func lostTextReplacesItsDeletion() throws {
    let pair = try Pair()
    let (x, y, mine) = (pair.original, pair.copy, try pair.fork("mine.coffer"))
    try edit(x, 1, "lost")
    for number in 1...3 { try edit(y, 1, "winner \(number)") }
    for number in 1...40 { try edit(mine, 1, "mine \(number)") }
    let first = try y.merge(x, policy: .both)
    let copied = try #require(first.entries.first { $0.action == .copied }?.id)
    #expect(try y.read { try $0.text(of: copied) } == "lost")
    try y.write { try $0.delete([copied, DocumentID(1)]) }
    // The edit, which the deletion didn't know, brings the document back with the text that lost.
    try x.write { try $0.update(DocumentID(1)) { $0.attributes["read"] = .bool(true) } }
    #expect(try y.merge(x, policy: .both).isMerged)
    #expect(try text(y, 1) == "lost")

    let report = try mine.merge(y, policy: .both)
    let returned = try #require(report.entries.first { $0.action == .copied }?.id)
    #expect(try mine.read { try $0.text(of: returned) } == "lost")
    #expect(try text(mine, 1) == "mine 40")
    #expect(try mine.verify().isSound)
    for store in [y, x] {
      #expect(try store.merge(mine, policy: .both).isMerged)
      #expect(try texts(store) == texts(mine))
      #expect(try store.merge(mine).entries.isEmpty && mine.merge(store).conflicts.isEmpty)
    }
    // A text that lost once more is the document that the store has.
    #expect(try Set(texts(mine)).count == texts(mine).count)
  }

  /// Both stores know both texts, and kept one of them each; the document of the text that loses was deleted there.
  @Test func lostTextReplacesDeletedDocument() throws {
    let pair = try Pair()
    let (x, y, mine) = (pair.original, pair.copy, try pair.fork("mine.coffer"))
    let w = try pair.fork("w.coffer")
    let id = DocumentID(1)
    func markAsRead(_ store: DocumentStore) throws {
      try store.write { try $0.update(id) { $0.attributes["read"] = .bool(true) } }
    }
    try edit(x, 1, "lost")
    for number in 1...3 { try edit(y, 1, "winner \(number)") }
    let copied = try #require(y.merge(x, policy: .both).entries.first { $0.action == .copied }?.id)
    for store in [mine, w] { #expect(try store.merge(y).isMerged) }
    try y.write { try $0.delete([copied, id]) }
    try markAsRead(x)
    #expect(try y.merge(x, policy: .both).isMerged)
    #expect(try text(y, 1) == "lost")
    try w.write { try $0.delete(id) }
    for number in 1...40 { try edit(mine, 2, "\(number)") }
    try markAsRead(mine)
    #expect(try mine.merge(w, policy: .both).isMerged)

    let report = try mine.merge(y, policy: .both)
    let returned = try #require(report.entries.first { $0.action == .copied }?.id)
    #expect(try mine.read { try $0.text(of: returned) } == "lost")
    #expect(try text(mine, 1) == "winner 3")
    #expect(try mine.verify().isSound)
    #expect(try y.merge(mine, policy: .both).isMerged)
    #expect(try texts(y) == texts(mine))
  }

  /// Two stores restore the deleted document of one text, each at its own commit.
  @Test func lostTextReturnsInTwoStores() throws {
    let pair = try Pair()
    let (x, y) = (pair.original, pair.copy)
    let stores = [try pair.fork("one.coffer"), try pair.fork("two.coffer")]
    try edit(x, 1, "lost")
    for number in 1...3 { try edit(y, 1, "winner \(number)") }
    for (number, store) in stores.enumerated() {
      for edit in 1...40 { try self.edit(store, 1, "store \(number), edit \(edit)") }
    }
    let copied = try #require(y.merge(x, policy: .both).entries.first { $0.action == .copied }?.id)
    try y.write { try $0.delete([copied, DocumentID(1)]) }
    try x.write { try $0.update(DocumentID(1)) { $0.attributes["read"] = .bool(true) } }
    #expect(try y.merge(x, policy: .both).isMerged)
    for store in stores { #expect(try store.merge(y, policy: .both).isMerged) }

    for (mine, other) in [(stores[0], stores[1]), (stores[1], stores[0])] {
      #expect(try mine.merge(other, policy: .both).isMerged)
      #expect(try Set(texts(mine)).count == texts(mine).count)
      #expect(try mine.verify().isSound)
    }
    #expect(try texts(stores[0]) == texts(stores[1]))
  }
}
