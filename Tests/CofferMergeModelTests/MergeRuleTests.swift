import Testing

@testable import CofferMergeModel

/// Small histories, each for one rule.
@Suite struct MergeRuleTests {
  private func storeWithDocument() throws -> (store: ModelStore, document: RecordID) {
    var store = ModelStore(generator: SeededGenerator(seed: 1))
    let collection = try store.createCollection(named: "collection")
    let document = try store.insert(["old"], into: collection, at: 0)[0]
    return (store, document)
  }

  private func texts(_ store: ModelStore) -> [String] {
    store.documents.values.map(\.text).sorted()
  }

  @Test func mergedCopiesAgree() throws {
    var (one, document) = try storeWithDocument()
    var two = one.fork()
    try one.edit(document, .text, .string("one"))
    try two.edit(document, .text, .string("two"))
    try two.edit(document, .text, .string("later"))
    try one.merge(two)
    try two.merge(one)
    #expect(one.documents[document]?.text == "later")
    #expect(texts(one) == ["later", "one"])
    #expect(one.documents == two.documents)
  }

  @Test func deletionsReachEveryCopy() throws {
    var (one, document) = try storeWithDocument()
    var two = one.fork()
    var three = one.fork()
    try one.delete(document)
    try two.merge(one)
    try three.merge(two)
    #expect(three.documents.isEmpty)
    #expect(three.gone == one.gone)
  }

  @Test func absenceKeepsDocument() throws {
    var (one, document) = try storeWithDocument()
    var two = one.fork()
    try two.edit(document, .title, .string("title"))
    two.documents[document] = nil
    try one.merge(two)
    try two.merge(one)
    #expect(one.documents[document] != nil)
    #expect(two.documents[document] != nil)
  }

  @Test func editOutlivesDeletion() throws {
    var (one, document) = try storeWithDocument()
    var two = one.fork()
    var three = one.fork()
    try one.delete(document)
    try two.edit(document, .text, .string("new"))
    try three.merge(one)
    try three.merge(two)
    try one.merge(two)
    #expect(one.documents[document]?.text == "new")
    #expect(three.documents[document]?.text == "new")
    #expect(try one.merge(three, policy: .fail).conflicts.isEmpty)
  }

  @Test func laterEditHasGreaterDot() throws {
    var (one, document) = try storeWithDocument()
    var two = one.fork()
    var three = one.fork()
    // The edits descend from equally many commits of their own replicas.
    one.replica = ReplicaID(rawValue: 3)
    two.replica = ReplicaID(rawValue: 2)
    three.replica = ReplicaID(rawValue: 1)
    try one.edit(document, .text, .string("replaced"))
    try two.edit(document, .text, .string("other"))
    try three.merge(one)
    try three.edit(document, .text, .string("replacement"))

    var conflictFirst = one.fork()
    try conflictFirst.merge(two)
    try conflictFirst.merge(three)
    var replacementFirst = three.fork()
    try replacementFirst.merge(two)
    #expect(conflictFirst.documents[document]?.parts[.text] == replacementFirst.documents[document]?.parts[.text])
  }

  @Test func acceptedContentFollowsItsAuthor() throws {
    var (vendor, document) = try storeWithDocument()
    var user = vendor.fork()
    try user.edit(document, .text, .string("mine"))
    try vendor.edit(document, .text, .string("version 1"))
    #expect(try user.merge(vendor, policy: .theirs).conflicts.count == 1)
    #expect(user.documents[document]?.text == "version 1")

    try user.edit(document, .attribute("favourite"), .yes)
    try vendor.edit(document, .text, .string("version 2"))
    #expect(try user.merge(vendor, policy: .fail).conflicts.isEmpty)
    #expect(user.documents[document]?.text == "version 2")
    #expect(user.documents[document]?[.attribute("favourite")] == .yes)
  }

  /// A person's decision makes a text the document's own while a copy of it exists. The copy is deleted, and the text
  /// then loses to a third version.
  @Test func textRemainsAfterItsCopyIsDeleted() throws {
    var (one, document) = try storeWithDocument()
    var two = one.fork()
    var three = one.fork()
    var other = one.fork()
    try two.edit(document, .text, .string("chosen"))
    try other.edit(document, .text, .string("rejected 1"))
    try other.edit(document, .text, .string("rejected 2"))
    one = other.fork()
    try one.merge(two)
    var decided = two.fork()
    try decided.merge(other, policy: .mine)
    try decided.merge(one)
    #expect(texts(decided) == ["chosen", "chosen"])

    var later = decided.fork()
    let copy = try #require(decided.documents.keys.first { $0 != document })
    try decided.delete(copy)
    for version in 0..<9 {
      try three.edit(document, .text, .string("third \(version)"))
    }
    try later.merge(three)
    try later.merge(decided)
    #expect(texts(later).contains("chosen"))
  }
}
