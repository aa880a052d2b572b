import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferRecords

/// A TEST store in a separate directory, under the published keys.
///
/// ``withTestStore(_:_:)`` verifies what a test leaves behind.
struct TestStore {
  let place: Workplace
  let url: URL
  let store: DocumentStore

  init(
    keys: [NewKey] = [.published("primary")], _ change: (inout CreateOptions) -> Void = { _ in },
    options: OpenOptions = .testing
  ) throws {
    var creation = CreateOptions()
    creation.isTest = true
    change(&creation)
    place = try Workplace()
    url = place.file("test.coffer")
    store = try DocumentStore.create(at: url, keys: keys, creation: creation, options: options)
  }

  var notes: DocumentCollection { DocumentCollection("notes") }

  /// Another handle, as another process would have.
  func reopened(_ key: StoreKey = .published("primary"), _ options: OpenOptions = .testing) throws -> DocumentStore {
    try DocumentStore.open(at: url, key: key, options: options)
  }

  /// The file as stock tools see it; one connection with nothing of ours around it.
  func raw() throws -> Database {
    try Database(url.path, mode: .readWrite)
  }

  /// All files of the store.
  func bytesOnDisk() throws -> Data {
    var data = Data()
    for name in try FileManager.default.contentsOfDirectory(atPath: place.url.path).sorted() {
      data += try Data(contentsOf: place.file(name))
    }
    return data
  }

  func expectSound(_ location: SourceLocation = #_sourceLocation) throws {
    let verdict = try store.verify()
    #expect(
      verdict.isSound, "\(String(describing: verdict.error)) \(verdict.problems) \(verdict.damaged)",
      sourceLocation: location)
  }
}

/// Makes a store, runs the test, and verifies what it left.
func withTestStore(
  _ change: (inout CreateOptions) -> Void = { _ in }, location: SourceLocation = #_sourceLocation,
  _ body: (TestStore) throws -> Void
) throws {
  let test = try TestStore(change)
  try body(test)
  try test.expectSound(location)
  let reopened = try test.reopened()
  #expect(try reopened.verify().isSound, sourceLocation: location)
  try reopened.close()
}

/// That `work` throws this code, and nothing else.
func expect<T>(
  _ code: StoreError.Code, location: SourceLocation = #_sourceLocation, _ work: () throws -> T
) {
  do {
    _ = try work()
    Issue.record("nothing was thrown, wanted \(code)", sourceLocation: location)
  } catch let error as StoreError {
    #expect(error.code == code, "\(error)", sourceLocation: location)
  } catch {
    Issue.record("\(error), wanted \(code)", sourceLocation: location)
  }
}

/// An error that a test throws, and expects to catch.
struct Interruption: Error, Equatable {
  var number = 0
}

/// The published keys, in Keys/.
enum PublishedKeys {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Keys")

  static func url(_ name: String) -> URL { folder.appending(path: "\(name).key") }

  static var passphrase: URL { folder.appending(path: "passphrase.txt") }

  static var recipient: String {
    get throws {
      let text = try String(contentsOf: folder.appending(path: "recipient.txt"), encoding: .utf8)
      return try #require(text.split(separator: "\n").map(String.init).first { $0.hasPrefix("coffer-") })
    }
  }
}

extension NewKey {
  static func published(_ name: String) -> NewKey { .keyFile(PublishedKeys.url(name)) }
  static func words(_ text: String) -> NewKey { .passphrase { .text(text) } }
  /// A recipient of a new identity that is not kept.
  static func stranger() throws -> NewKey { .recipient(try KeyLine.generate(.identity, isTest: true).recipient()) }
}

extension StoreKey {
  static func published(_ name: String) -> StoreKey { .keyFile(PublishedKeys.url(name)) }
  static func words(_ text: String) -> StoreKey { .passphrase { .text(text) } }
}

extension DocumentStore {
  /// Every document by collection and order, as an app reads them.
  func everything() throws -> [String: [StoredDocument]] {
    try read { reader in
      var found: [String: [StoredDocument]] = [:]
      for collection in try reader.collections() {
        var documents: [StoredDocument] = []
        try reader.forEach(in: DocumentCollection(collection.name)) { opened in
          documents.append(StoredDocument(header: opened.header, text: opened.text))
        }
        found[collection.name] = documents
      }
      return found
    }
  }

  func titles(in collection: DocumentCollection) throws -> [String?] {
    try read { try $0.headers(in: collection).map(\.title) }
  }
}

struct StoredDocument: Hashable {
  let header: DocumentHeader
  let text: String
}
