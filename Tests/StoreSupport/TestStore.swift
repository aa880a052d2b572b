import Coffer
import CofferDocuments
import CofferRecords
import CofferSQLite
import CofferSealing
import Foundation
import Testing

/// A TEST store in a separate directory, under the published keys.
///
/// ``withTestStore(_:_:)`` verifies the store after a test.
struct TestStore {
  let place: Workplace
  let url: URL
  let store: DocumentStore

  init(
    keys: [StoreKey] = [.published("primary")], recipients: [Recipient] = [],
    _ change: (inout CreateOptions) -> Void = { _ in },
    options: OpenOptions = .testing
  ) throws {
    var creation = CreateOptions()
    creation.isTest = true
    change(&creation)
    place = try Workplace()
    url = place.file("test.coffer")
    store = try DocumentStore.create(
      at: url, keys: keys, recipients: recipients, creation: creation, options: options)
  }

  var notes: DocumentCollection { DocumentCollection("notes") }

  /// Opens another handle, like another process would.
  func reopened(_ key: StoreKey = .published("primary"), _ options: OpenOptions = .testing) throws -> DocumentStore {
    try DocumentStore.open(at: url, key: key, options: options)
  }

  /// Opens a plain SQLite connection, like stock tools.
  func raw() throws -> Database {
    try Database(url.path, mode: .readWrite)
  }

  /// Replaces the indexes in the file by those of another file, like a former key holder.
  func putIndexes(of other: URL) throws {
    let raw = try raw()
    try raw.execute("ATTACH '\(other.path)' AS other")
    for table in ["coffer_x_index", "coffer_x_index_page"] {
      try raw.execute("DELETE FROM main.\(table)")
      try raw.execute("INSERT INTO main.\(table) SELECT * FROM other.\(table)")
    }
    try raw.close()
  }

  /// Returns the contents of all files in the store's directory.
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

/// Creates a store, runs the test, and verifies the store.
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

/// Expects `work` to throw an error with this code.
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

/// An error that a test throws and expects to catch.
struct Interruption: Error, Equatable {
  var number = 0
}

/// The published keys in Keys/.
enum PublishedKeys {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Keys")

  static func url(_ name: String) -> URL { folder.appending(path: "\(name).key") }

  static var passphrase: URL { folder.appending(path: "passphrase.txt") }

  static var recipient: Recipient {
    get throws {
      let text = try String(contentsOf: folder.appending(path: "recipient.txt"), encoding: .utf8)
      return try Recipient(try #require(text.split(separator: "\n").map(String.init).first { $0.hasPrefix("coffer-") }))
    }
  }
}

extension Recipient {
  /// Returns the recipient of a new identity that isn't kept.
  static func stranger() throws -> Recipient {
    try Recipient(try KeyLine.generate(.identity, isTest: true).recipient())
  }
}

extension StoreKey {
  static func published(_ name: String) -> StoreKey { .keyFile(PublishedKeys.url(name)) }
  static func words(_ text: String) -> StoreKey { .passphrase { .text(text) } }

  /// A passphrase from a file, as the command reads it.
  static func passphraseFile(_ url: URL) -> StoreKey {
    .passphrase { Passphrase.droppingLineEnd(try Secret.readAll(path: url.path)) }
  }
}

extension DocumentStore {
  /// Returns all documents in order, by collection.
  func everything() throws -> [String: [SeenDocument]] {
    try read { reader in
      var found: [String: [SeenDocument]] = [:]
      for collection in try reader.collections() {
        var documents: [SeenDocument] = []
        try reader.forEach(in: DocumentCollection(collection.name)) { opened in
          documents.append(SeenDocument(header: opened.header, text: opened.text))
        }
        found[collection.name] = documents
      }
      return found
    }
  }

  /// Returns all documents in order, by collection, without the positions that give them this order.
  func inOrder() throws -> [String: [SeenDocument]] {
    try everything().mapValues { documents in
      try documents.map { document in
        let header = document.header
        return SeenDocument(
          header: DocumentHeader(
            id: header.id, collection: header.collection, position: try #require(DocumentPosition([0])),
            parent: header.parent, title: header.title, key: header.key, attributes: header.attributes,
            created: header.created, modified: header.modified, byteCount: header.byteCount, isJSON: header.isJSON),
          text: document.text)
      }
    }
  }

  func titles(in collection: DocumentCollection) throws -> [String?] {
    try read { try $0.headers(in: collection).map(\.title) }
  }
}

struct SeenDocument: Hashable {
  let header: DocumentHeader
  let text: String

  /// The document without the counts of its attachments.
  var unattached: SeenDocument {
    var header = header
    (header.attachmentCount, header.attachmentByteCount) = (0, 0)
    return SeenDocument(header: header, text: text)
  }
}

extension Database {
  /// Writes changed pages to the file before the commit.
  func spillEarly() throws {
    _ = try liftingRule { try execute("PRAGMA cache_size = 2; PRAGMA cache_spill = 2") }
  }
}
