import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Merging byte copies of one store by the older file that they were copied from.
struct CloneBaseTests {
  private static let notes = DocumentCollection("notes")

  /// Byte copies of a store with three documents.
  private final class Clones {
    let test: TestStore
    let base: DocumentStore

    init() throws {
      test = try TestStore()
      try test.store.write { tx in
        for number in 1...3 { try tx.insert(Document(text: "text \(number)"), into: CloneBaseTests.notes) }
      }
      base = try Self.backup(of: test.store, test, "base")
    }

    static func backup(of store: DocumentStore, _ test: TestStore, _ name: String) throws -> DocumentStore {
      let url = test.place.file("\(name).coffer")
      try store.backup(to: url)
      return try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    }

    func backup(of store: DocumentStore, _ name: String) throws -> DocumentStore {
      try Self.backup(of: store, test, name)
    }

    func clone(_ name: String) throws -> DocumentStore { try backup(of: base, name) }
  }

  private func texts(_ store: DocumentStore) throws -> Set<String> {
    try store.read { tx in
      var texts: Set<String> = []
      try tx.forEach(in: Self.notes) { texts.insert($0.text) }
      return texts
    }
  }

  private func insert(_ text: String, _ store: DocumentStore) throws {
    try store.write { _ = try $0.insert(Document(text: text), into: Self.notes) }
  }

  /// Commits that leave only the last version of one document.
  private func overwrite(_ count: Int, _ store: DocumentStore, _ key: String) throws {
    for number in 0..<count {
      try store.write { _ = try $0.put(Document(text: "\(key) \(number)"), into: Self.notes, key: DocumentKey(key)) }
    }
  }

  /// A backup from after the copies parted would hide the changes that its counter covers, in whichever file they are.
  @Test(arguments: [false, true], [3, 220])
  func refusesBaseFromAfterFork(_ isOfOther: Bool, _ commits: Int) throws {
    let clones = try Clones()
    let (one, other) = (clones.test.store, try clones.clone("other"))
    try other.write { tx in
      try tx.update(1) { $0.text = "edited there" }
      try tx.delete(2)
    }
    try insert("new there", other)
    if isOfOther { try overwrite(5, other, "there") } else { try overwrite(5, one, "here") }
    let late = try clones.backup(of: isOfOther ? other : one, "late")
    try overwrite(commits, one, "here")
    try overwrite(commits, other, "there")
    let before = try one.everything()
    for verifies in [false, true] {
      var options = MergeOptions()
      options.verifiesOther = verifies
      expect(.anchorMismatch) { try one.merge(other, base: late, options: options) }
    }
    #expect(try one.everything() == before)
    #expect(try one.merge(other, base: clones.base).isMerged)
    let last = commits - 1
    #expect(
      try texts(one) == ["edited there", "new there", "text 3", "here \(last)", "there \(last)"])
    #expect(try one.merge(other, base: clones.base).entries.isEmpty)
    try clones.test.expectSound()
  }

  private func editableCopy(of store: DocumentStore, _ clones: Clones, _ name: String) throws -> DocumentStore {
    let url = clones.test.place.file("\(name).coffer")
    return try DocumentStore.openEditableCopy(
      of: URL(filePath: store.engine.path), at: url, key: .published("primary"), options: .testing)
  }

  /// A base that took another copy's changes after the fork would hide that copy's changes.
  @Test(arguments: [false, true]) func refusesBaseWithMergeFromAfterFork(_ isOfOther: Bool) throws {
    let clones = try Clones()
    let (one, other) = (clones.test.store, try clones.clone("other"))
    let copy = try editableCopy(of: clones.base, clones, "copy")
    try insert("from the copy", copy)
    #expect(try (isOfOther ? other : one).merge(copy).isMerged)
    let late = try clones.backup(of: isOfOther ? other : one, "late")
    for store in [one, other] {
      for number in 0..<220 { try store.write { try $0.update(1) { $0.text = "\(number)" } } }
    }
    try insert("new there", other)
    let before = try one.everything()
    expect(.anchorMismatch) { try one.merge(other, base: late) }
    #expect(try one.everything() == before)
    #expect(try one.merge(other, base: clones.base, policy: .mine).isMerged)
    #expect(try texts(one).isSuperset(of: ["from the copy", "new there"]))
    try clones.test.expectSound()
  }

  /// A merge is a commit of the file that was put back, although its documents have the names of another copy.
  @Test(arguments: [5, 60, 220]) func thirdCopyNoticesMergeIntoReplacedFile(_ commits: Int) throws {
    let clones = try Clones()
    let original = clones.test.store
    let (copy, other) = (
      try editableCopy(of: original, clones, "copy"), try editableCopy(of: original, clones, "other")
    )
    let old = try clones.backup(of: original, "old")
    try overwrite(commits, original, "here")
    #expect(try copy.merge(original).isMerged)
    try insert("from another copy", other)
    #expect(try old.merge(other).isMerged)
    expect(.anchorMismatch) { try copy.merge(old) }
    #expect(try copy.merge(other).entries.map(\.action) == [.added])
  }

  /// A decision from before the fork hides nothing that happened after it.
  @Test func refusesBaseHidingDeletionOfKeptDocument() throws {
    let clones = try Clones()
    let copy = try editableCopy(of: clones.base, clones, "copy")
    try copy.write { try $0.update(2) { $0.text = "edited" } }
    try clones.test.store.write { try $0.delete(2) }
    #expect(try clones.test.store.merge(copy, policy: .theirs).isMerged)
    let fork = try clones.backup(of: clones.test.store, "fork")
    let (one, other) = (clones.test.store, try clones.backup(of: fork, "other"))
    try other.write { try $0.delete(2) }
    let late = try clones.backup(of: other, "late")
    for store in [one, other] {
      for number in 0..<220 { try store.write { try $0.update(1) { $0.text = "\(number)" } } }
    }
    expect(.anchorMismatch) { try one.merge(other, base: late) }
    #expect(try one.merge(other, base: fork, policy: .mine).isMerged)
    #expect(try !texts(one).contains("edited"))
    try clones.test.expectSound()
  }

  /// The limit: rows can't tell that a base is too late if its only surplus is a part that the other file changed since.
  @Test func laterChangeWinsWithUnlistedBase() throws {
    let clones = try Clones()
    let (one, other) = (clones.test.store, try clones.clone("other"))
    try other.write { try $0.update(1) { $0.text = "there" } }
    let late = try clones.backup(of: other, "late")
    for number in 0..<220 { try one.write { try $0.update(1) { $0.text = "here \(number)" } } }
    try overwrite(220, other, "key")
    #expect(try one.merge(other, base: late).conflicts.isEmpty)
    #expect(try texts(one) == ["here 219", "text 2", "text 3", "key 219"])
    try clones.test.expectSound()
  }

  /// A former key holder's file can't choose what counts as known.
  @Test func refusesBaseWithFormerRootKey() throws {
    let clones = try Clones()
    _ = try clones.test.store.rekey { _ in }
    let fork = try clones.backup(of: clones.test.store, "fork")
    let other = try clones.backup(of: fork, "other")
    try insert("new here", clones.test.store)
    try insert("new there", other)
    let error = #expect(throws: StoreError.self) { try clones.test.store.merge(other, base: clones.base) }
    #expect(error?.code == .rolledBack && error?.message.contains("base.coffer") == true)
    var options = MergeOptions()
    options.allowsRekey = true
    #expect(try clones.test.store.merge(other, base: fork, options: options).entries.map(\.action) == [.added])
    try clones.test.expectSound()
  }

  /// Each file's changes have a name of their own, which later merges find again.
  @Test func mergesSeveralFilesOfOneBase() throws {
    let clones = try Clones()
    let one = clones.test.store
    let others = try ["b", "c", "d"].map { try clones.clone($0) }
    try insert("a", one)
    var all: Set<String> = ["text 1", "text 2", "text 3", "a"]
    for round in 0..<3 {
      for (number, other) in others.enumerated() {
        let text = "file \(number), round \(round)"
        try insert(text, other)
        all.insert(text)
        // From the second round on, the first commit since the base isn't listed anymore.
        if round == 1 {
          try overwrite(170, other, "key \(number)")
          all.insert("key \(number) 169")
        }
        #expect(try one.merge(other, base: clones.base).isMerged)
        #expect(try one.merge(other, base: clones.base).entries.isEmpty)
        #expect(try texts(one) == all)
      }
    }
    // A file that takes the merged one has all changes once.
    let last = try #require(others.last)
    expect(.anchorMismatch) { try last.merge(one, base: clones.base) }
    let copy = try DocumentStore.openEditableCopy(
      of: clones.test.url, at: clones.test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    #expect(try texts(copy) == all)
    try clones.test.expectSound()
  }

  @Test func refusesFileOfUncertainBranch() throws {
    let clones = try Clones()
    let other = try clones.clone("other")
    try insert("here", clones.test.store)
    try insert("there", other)
    #expect(try clones.test.store.merge(other, base: clones.base).isMerged)
    try overwrite(220, other, "key")
    let before = try clones.test.store.everything()
    expect(.anchorMismatch) { try clones.test.store.merge(other, base: clones.base) }
    #expect(try clones.test.store.everything() == before)
    // It isn't known before the first merge.
    let fresh = try clones.backup(of: clones.base, "fresh")
    try insert("fresh", fresh)
    #expect(try fresh.merge(other, base: clones.base).isMerged)
    #expect(try texts(fresh) == ["text 1", "text 2", "text 3", "fresh", "there", "key 219"])
  }

  /// A third copy notices an older file that was put back and written to, also if it knows none of that file's commits.
  @Test(arguments: [5, 45, 220]) func thirdCopyNoticesReplacedFile(_ commits: Int) throws {
    let clones = try Clones()
    let original = clones.test.store
    let copy = try DocumentStore.openEditableCopy(
      of: clones.test.url, at: clones.test.place.file("copy.coffer"), key: .published("primary"), options: .testing)
    let old = try clones.backup(of: original, "old")
    try overwrite(commits, original, "here")
    #expect(try copy.merge(original).isMerged)
    #expect(try copy.merge(old).entries.isEmpty)
    try insert("lost", old)
    let before = try copy.everything()
    for verifies in [false, true] {
      var options = MergeOptions()
      options.verifiesOther = verifies
      expect(.anchorMismatch) { try copy.merge(old, options: options) }
    }
    #expect(try copy.everything() == before && copy.verify().isSound)
  }

  /// An attachment that only the file that was put back has contradicts the copy like a document.
  @Test func thirdCopyNoticesAttachmentOfReplacedFile() throws {
    let clones = try Clones()
    let copy = try editableCopy(of: clones.test.store, clones, "copy")
    let old = try clones.backup(of: clones.test.store, "old")
    try overwrite(220, clones.test.store, "here")
    #expect(try copy.merge(clones.test.store).isMerged)
    try old.write { _ = try $0.attach([1], to: 1, name: "lost") }
    expect(.anchorMismatch) { try copy.merge(old) }
    #expect(try copy.read { try $0.attachments(of: 1) } == [])
  }
}
