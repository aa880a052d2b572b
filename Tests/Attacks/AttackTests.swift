import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Stores attacked by an independent implementation, with the expected results.
///
/// `Tools/checks/check-attacks` also runs attacks that plant a folder of files next to a store.
struct AttackTests {
  static let names: [String] = {
    let folder = Vectors.folder.appending(path: "attacks")
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let names = files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    return names.filter { (try? Vectors.json("attacks/\($0)"))?["directory"].value == nil }
  }()

  @Test func findsAttackedStores() {
    #expect(Self.names.count > 400)
  }

  @Test(.slow, arguments: CaseSample.one(in: 3, of: names))
  func rejectsOrReportsAttack(_ name: String) throws {
    let place = try Workplace()
    let url = try place.copy(try Vectors.attackedStore(name))
    let expected = try Vectors.json("attacks/\(name)")
    let accepted = expected["also_acceptable"]
    let (kind, secret) = try #require(expected["opener"].object.first)
    let before = try Data(contentsOf: url)

    let (store, outcome) = open(url, .named(kind, try #require(secret.string)))
    expect(outcome, expected["open"], accepted["open"], "open")
    for (kind, outcome) in expected["open_by"].object {
      let base = try Vectors.json(try #require(expected["base"].string))
      guard let secret = expected["secrets"][kind].string ?? base["open_with"][kind].string else { continue }
      expect(open(url, .named(kind, secret)).outcome, outcome, accepted["open_by"], "open by \(kind)")
    }
    for pin in expected["pins"].array {
      var options = OpenOptions.testing
      options.pin = StorePin(try #require(pin["pin"].string))
      let found = describe {
        _ = try DocumentStore.open(at: url, key: .named(kind, secret.string!), options: options)
      }
      expect(found, pin["open"], JSON(nil), "open with a pin")
    }
    for (line, outcome) in expected["publishers"].object {
      var options = OpenOptions.testing
      options.publisher = try Publisher(line)
      let found = describe {
        _ = try DocumentStore.open(at: url, key: .named(kind, secret.string!), options: options)
      }
      expect(found, outcome, JSON(nil), "open for \(line.prefix(40))")
    }
    guard let store else {
      #expect(try Data(contentsOf: url) == before)
      return
    }
    var damaged: Set<DocumentID> = []
    for (id, outcome) in expected["get"].object {
      let id = DocumentID(try #require(Int64(id)))
      let found = describe { try store.read { _ = try $0.document(id) } }
      var also = id.rawValue <= 0 ? JSON(["missing"]) : accepted["get_of_collection_2"]
      if also.value == nil { also = accepted["get_of_\(id)"] }
      // A document from another store is compared below.
      if outcome.string == "other" { also = JSON("ok") }
      expect(found, outcome, also, "get \(id)")
      if found == "damaged" { damaged.insert(id) }
    }
    for (id, text) in expected["reads"].object where !damaged.contains(DocumentID(Int64(id)!)) {
      #expect(try store.read { try $0.text(of: DocumentID(Int64(id)!)) } == text.string)
    }
    let list = describe {
      try store.read { reader in
        for collection in try reader.collections() { _ = try reader.headers(in: collection.handle) }
      }
    }
    // A list compares the number of rows at the end of each collection.
    let isMismatch = expected["verify"].string != "ok"
    if accepted["list"].value == nil {
      expect(list, expected["list"], isMismatch ? JSON(["mismatch"]) : JSON(nil), "list")
    }
    try expectAttachments(of: store, as: expected)
    expect(verdict(store, .full), expected["verify"], accepted["verify"], "verify")
    expect(verdict(store, .quick), expected["verify_quick"], accepted["verify_quick"], "verify --quick")
    let anchor = describe {
      _ = try store.relation(to: StoreAnchor(parsing: try #require(expected["anchor_line"].string)))
    }
    expect(anchor, expected["anchor"], accepted["anchor"], "anchor")
    for anchor in expected["anchors"].array {
      var options = OpenOptions.testing
      options.pin = anchor["pin"].string.flatMap { StorePin($0) }
      let pinned = try DocumentStore.open(at: url, key: .named(kind, secret.string!), options: options)
      let line = try #require(anchor["anchor"].string)
      expect(
        describe { _ = try pinned.relation(to: StoreAnchor(parsing: line)) }, anchor["verdict"], JSON(nil),
        "anchor \(line)")
      let descent = describe { _ = try pinned.relation(to: StoreAnchor(parsing: line), requiring: .descendant) }
      expect(descent, anchor["descends"], JSON(nil), "descent from \(line)")
    }
    #expect(try Data(contentsOf: url) == before, "reading changed the file")
    if let put = expected["put"].string {
      let found = describe {
        try store.write { writer in
          let name = try writer.collections()[0].name
          try writer.insert(Document(text: "new"), into: DocumentCollection(name))
        }
      }
      #expect(put == "error" ? found != "ok" : found == put)
      if put != "ok" { #expect(try Data(contentsOf: url) == before) }
    }
  }

  /// Expects contents, lists and parts of contents to be read, or refused, as an attack says.
  private func expectAttachments(of store: DocumentStore, as expected: JSON) throws {
    var stored = try AttachmentVectors(Vectors.json(try #require(expected["base"].string))).stored
    for (number, attachment) in expected["attachments"].object {
      stored[StoreAttachment.ID(rawValue: try #require(Int64(number)))] = attachment
    }
    let accepted = expected["also_acceptable"]
    for (number, outcome) in expected["get_attachments"].object {
      let id = StoreAttachment.ID(rawValue: try #require(Int64(number)))
      let found = describe { try store.read { _ = try $0.content(of: id) } }
      expect(found, outcome, accepted["get_attachment_\(number)"], "content of attachment \(number)")
      guard found == "ok" else { continue }
      let attachment = try #require(stored[id])
      try store.read { try AttachmentVectors.expect(id, toBe: attachment, in: $0) }
    }
    for (id, outcome) in expected["list_attachments"].object {
      let found = describe { try store.read { _ = try $0.attachments(of: DocumentID(try #require(Int64(id)))) } }
      expect(found, outcome, accepted["list_attachments_\(id)"], "attachments of document \(id)")
    }
    for part in expected["attachment_parts"].array {
      let id = StoreAttachment.ID(rawValue: try #require(part["attachment"].int))
      let range = Int(try #require(part["start"].int))..<Int(try #require(part["end"].int))
      var count = 0
      let found = describe { count = try store.read { try $0.content(of: id, in: range).count } }
      expect(found, part["outcome"], JSON(nil), "part \(range) of attachment \(id)")
      #expect(found != "ok" || count == range.count)
    }
  }

  /// The set hash shows that rows changed, but not which rows.
  @Test(arguments: ["delete-document", "replay-document"])
  func reportsSetMismatchWithoutDocumentID(_ name: String) throws {
    let place = try Workplace()
    let url = try place.copy(try Vectors.attackedStore(name))
    let expected = try Vectors.json("attacks/\(name)")
    let (kind, secret) = try #require(expected["opener"].object.first)
    let word = try #require(secret.string)
    let store = try #require(open(url, .named(kind, word)).store)
    let verdict = try store.verify()
    #expect(!verdict.isSound && verdict.damaged.isEmpty && verdict.error?.documentID == nil)
  }

  private func open(_ url: URL, _ key: StoreKey) -> (store: DocumentStore?, outcome: String) {
    var store: DocumentStore?
    let outcome = describe { store = try DocumentStore.open(at: url, key: key, options: .testing) }
    return (store, outcome)
  }

  private func verdict(_ store: DocumentStore, _ depth: Verdict.Depth) -> String {
    describe { if let error = try store.verify(depth).error { throw error } }
  }

  private func expect(_ found: String, _ wanted: JSON, _ also: JSON, _ what: String) {
    guard let wanted = wanted.string else { return }
    var good = [wanted] + also.strings
    // A refusal by a schema, limit or TEST rule counts as a damage, parameter or TEST key error.
    if good.contains("refused") { good += ["parameters", "test-key", "damaged"] }
    #expect(good.contains(found), "\(what): \(found), wanted \(wanted)")
  }

  private func describe(_ work: () throws -> Void) -> String {
    do {
      try work()
      return "ok"
    } catch let error as StoreError {
      switch error.code {
      case .cannotUnlock: return "cannot-unlock"
      case .damaged, .unsafeFile: return "damaged"
      case .notAStore: return "not-a-store"
      case .rolledBack: return "rolled-back"
      case .otherFormat: return "newer"
      case .parametersRefused: return "parameters"
      case .testKeyRefused: return "test-key"
      case .noSuchDocument, .noSuchAttachment: return "missing"
      case .setMismatch, .anchorMismatch, .pinMismatch, .notAsReleased: return "mismatch"
      case .pinUnfinished: return "unfinished"
      case .readOnly: return "read-only"
      default: return error.code.rawValue
      }
    } catch {
      return "\(error)"
    }
  }
}
