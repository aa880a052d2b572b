import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Salvaging stores attacked by an independent implementation. The new store is sound, and losses are reported.
struct SalvageAttackTests {
  /// Only a set hash mismatch in the report reveals an authentic older row.
  @Test(.slow, arguments: CaseSample.one(in: 6, of: AttackTests.names))
  func salvagesSoundStoreAndReportsLosses(_ name: String) throws {
    let place = try Workplace()
    let url = try place.copy(try Vectors.attackedStore(name))
    let expected = try Vectors.json("attacks/\(name)")
    let (kind, secret) = try #require(expected["opener"].object.first)
    let key = StoreKey.named(kind, try #require(secret.string))
    let originals = try documents(of: Vectors.folder.appending(path: try #require(expected["base"].string)), in: place)
    let before = try Data(contentsOf: url)
    let target = place.file("saved.coffer")
    let report: CopyReport
    do {
      report = try DocumentStore.salvage(
        at: url, key: key, to: target, keys: [.published("next")], options: .testing)
    } catch let error as StoreError {
      let codes: [StoreError.Code] = [
        .damaged, .cannotUnlock, .otherFormat, .parametersRefused, .testKeyRefused, .notAStore,
      ]
      #expect(codes.contains(error.code) && (error.hint != nil || error.code == .notAStore), "\(error)")
      #expect(expected["open"].string != "ok", "\(error)")
      #expect(!FileManager.default.fileExists(atPath: target.path))
      return
    }
    #expect(try Data(contentsOf: url) == before)
    let saved = try DocumentStore.open(at: target, key: .published("next"), options: .testing)
    #expect(try saved.verify().isSound)
    // A newer document is kept as it is, and can't be read.
    if expected["list"].string == "newer" { return }
    let found = try saved.everything().values.flatMap { $0 }
    // Rows sealed by a key holder are authentic, and an older file is sound, so only an anchor reveals them.
    let isWhole = name.hasPrefix("fork") || name.hasPrefix("rollback-file") || name == "transplant-everything"
    if expected["by"].string == "key holder" || isWhole { return }
    // An attachment that was left out changes its document's header only.
    for document in found where document.unattached != originals[document.header.id]?.unattached {
      // An authentic but outdated document requires a set hash mismatch.
      #expect(report.setMatches != true, "document \(document.header.id)")
      let get = expected["get"][document.header.id.description].string
      #expect(get != "damaged", "document \(document.header.id)")
    }
    let listed = Set(report.leftOut.map(\.id) + found.map(\.header.id))
    for id in originals.keys where !listed.contains(id) {
      #expect(report.setMatches != true, "document \(id) is gone in silence")
    }
    if report.isComplete {
      #expect(Dictionary(uniqueKeysWithValues: found.map { ($0.header.id, $0) }) == originals)
    }
  }

  /// Salvage copies and lists rows of closed epochs (FORMAT, "Closed epochs").
  @Test(
    arguments: AttackTests.names.filter {
      $0.hasSuffix("behind-cursor") || $0.hasSuffix("rev-closed") || $0.hasSuffix("below-floor")
    })
  func listsRowsWithOldKeys(_ name: String) throws {
    let place = try Workplace()
    let (kind, secret) = try #require(try Vectors.json("attacks/\(name)")["opener"].object.first)
    let report = try DocumentStore.salvage(
      at: place.copy(try Vectors.attackedStore(name)), key: .named(kind, try #require(secret.string)),
      to: place.file("saved.coffer"), keys: [.published("next")], options: .testing)
    #expect(report.problems.contains { $0.contains("was written with old keys after these were replaced") })
  }

  private func documents(of base: URL, in place: Workplace) throws -> [DocumentID: SeenDocument] {
    let secrets = try JSON(file: base.appendingPathExtension("json"))["open_with"].object
    let (kind, secret) = try #require(secrets.first { !$0.key.hasPrefix("wrong") })
    let store = try DocumentStore.open(
      at: place.copy(base.appendingPathExtension("coffer"), as: "base.coffer"),
      key: .named(kind, try #require(secret.string)), options: .testing)
    let documents = try store.everything().values.flatMap { $0 }
    return Dictionary(uniqueKeysWithValues: documents.map { ($0.header.id, $0) })
  }
}
