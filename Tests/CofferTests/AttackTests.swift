import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferRecords

/// The stores that an independent implementation attacked, each with what must happen.
@Suite(.enabled(if: Corpora.isPresent, "the shared corpora are absent"))
struct AttackTests {
  static let names: [String] = {
    guard let folder = Corpora.format1?.appending(path: "attacks") else { return [] }
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
  }()

  /// The archive, unpacked once.
  private static let unpacked: Result<Workplace, any Error> = Result {
    let place = try Workplace()
    let tar = Process()
    tar.executableURL = URL(filePath: "/usr/bin/env")
    tar.arguments = ["tar", "-xJf", Corpora.format1!.appending(path: "attacks.tar.xz").path, "-C", place.url.path]
    try tar.run()
    tar.waitUntilExit()
    return place
  }

  static func store(_ name: String) throws -> URL {
    let folder = try unpacked.get().url
    let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
      .compactMap { $0 as? URL }.first { $0.lastPathComponent == "\(name).coffer" }
    return try #require(found)
  }

  @Test(arguments: names)
  func attackIsRefusedOrSeen(_ name: String) throws {
    let place = try Workplace()
    let url = try place.copy(try Self.store(name))
    let expected = try JSON(file: try #require(Corpora.format1).appending(path: "attacks/\(name).json"))
    let accepted = expected["also_acceptable"]
    let (kind, secret) = try #require(expected["opener"].object.first)
    let before = try Data(contentsOf: url)

    let (store, outcome) = open(url, .named(kind, try #require(secret.string)))
    expect(outcome, expected["open"], accepted["open"], "open")
    for (kind, outcome) in expected["open_by"].object {
      let base = try JSON(
        file: try #require(Corpora.format1).appending(path: "\(try #require(expected["base"].string)).json"))
      guard let secret = base["open_with"][kind].string else { continue }
      expect(open(url, .named(kind, secret)).outcome, outcome, accepted["open_by"], "open by \(kind)")
    }
    guard let store else {
      #expect(try Data(contentsOf: url) == before)
      return
    }
    for (id, outcome) in expected["get"].object {
      let id = DocumentID(try #require(Int64(id)))
      let found = describe { try store.read { _ = try $0.document(id) } }
      let also = id.rawValue <= 0 ? JSON(["missing"]) : accepted["get_of_collection_2"]
      expect(found, outcome, also, "get \(id)")
    }
    for (id, text) in expected["reads"].object {
      #expect(try store.read { try $0.text(of: DocumentID(Int64(id)!)) } == text.string)
    }
    let list = describe {
      try store.read { reader in
        for collection in try reader.collections() { _ = try reader.headers(in: collection.handle) }
      }
    }
    if accepted["list"].value == nil { expect(list, expected["list"], JSON(nil), "list") }
    expect(try verdict(store, .full), expected["verify"], accepted["verify"], "verify")
    expect(try verdict(store, .quick), expected["verify_quick"], accepted["verify_quick"], "verify --quick")
    let anchor = describe { _ = try store.checkAnchor(try #require(expected["anchor_line"].string)) }
    expect(anchor, expected["anchor"], accepted["anchor"], "anchor")
    #expect(try Data(contentsOf: url) == before, "reading changed the file")
    if let put = expected["put"].string {
      let found = describe {
        try store.write { writer in
          let name = try writer.collections()[0].name
          try writer.insert(Document(text: "new"), into: store.collection(name))
        }
      }
      #expect(found == put)
      #expect(try Data(contentsOf: url) == before)
    }
  }

  private func open(_ url: URL, _ key: StoreKey) -> (store: DocumentStore?, outcome: String) {
    var store: DocumentStore?
    let outcome = describe { store = try DocumentStore.open(at: url, key: key, options: .testing) }
    return (store, outcome)
  }

  private func verdict(_ store: DocumentStore, _ depth: VerifyDepth) throws -> String {
    let verdict = try store.verify(depth)
    return describe { if let error = verdict.error { throw error } }
  }

  private func expect(_ found: String, _ wanted: JSON, _ also: JSON, _ what: String) {
    guard let wanted = wanted.string else { return }
    var good = [wanted] + also.strings
    // A schema, bound or TEST rule that refuses is one of our damaged or parameter errors.
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
      case .rolledBack: return "rolled-back"
      case .otherFormat: return "newer"
      case .parametersRefused: return "parameters"
      case .testKeyRefused: return "test-key"
      case .noSuchDocument: return "missing"
      case .setMismatch, .anchorMismatch: return "mismatch"
      default: return error.code.rawValue
      }
    } catch {
      return "\(error)"
    }
  }
}
