import Coffer
import CofferDocuments
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Stores created by an independent implementation of FORMAT.md.
struct SoundStoresTests {
  @Test(arguments: Vectors.storeNames)
  func readsStoresAsDescribed(_ name: String) throws {
    let place = try Workplace()
    let original = Vectors.folder
    let expected = try JSON(file: original.appending(path: "\(name).json"))
    let url = try place.copy(original.appending(path: "\(name).coffer"))
    for (line, outcome) in expected["publishers"].object {
      var options = OpenOptions.testing
      options.publisher = try Publisher(line)
      let store = try? DocumentStore.open(at: url, key: .published("primary"), options: options)
      #expect((store != nil) == (outcome.string == "ok"), "\(line.prefix(40))")
    }
    let secrets = expected["open_with"].object
    for (kind, secret) in secrets where !kind.hasPrefix("wrong") {
      let key = StoreKey.named(kind, try #require(secret.string))
      let store = try DocumentStore.open(at: url, key: key, options: .testing)
      #expect(store.pin.description == expected["pin"].string)
      #expect(try store.anchor().description == expected["anchor"].string)
      #expect(try store.relation(to: StoreAnchor(parsing: try #require(expected["anchor"].string))) == .same)
      try expectDocuments(of: store, as: expected)
      let ids = try expected["documents"].object.keys.map { DocumentID(try #require(Int64($0))) }
      try AttachmentVectors(expected).expectAll(in: store, ofDocuments: ids)
      try expectContentHash(expected["content_hash"].string, of: store)
      for depth in [Verdict.Depth.quick, .full] {
        let verdict = try store.verify(depth)
        #expect(verdict.isSound, "\(String(describing: verdict.error)) \(verdict.problems)")
      }
      try store.close()
    }
    for (kind, secret) in secrets where kind.hasPrefix("wrong") {
      #expect(throws: StoreError(.cannotUnlock, "")) {
        try DocumentStore.open(at: url, key: .named(kind, try #require(secret.string)), options: .testing)
      }
    }
    #expect(try DocumentStore.check(at: url).problems == [])
  }

  /// - Parameter hash: The content hash, or `nil` if a row of a later version is in the store.
  private func expectContentHash(_ hash: String?, of store: DocumentStore) throws {
    do {
      let found = try store.engine.read { try $0.contentHash() }
      #expect(Hexadecimal.text(found) == hash)
    } catch {
      #expect(hash == nil, "\(error)")
    }
  }

  private func expectDocuments(of store: DocumentStore, as expected: JSON) throws {
    let newer = Set(expected["newer"].array.compactMap(\.int))
    try store.read { reader in
      for id in newer {
        #expect(throws: StoreError(.otherFormat, "")) { try reader.header(of: DocumentID(id)) }
      }
      #expect(reader.generation == expected["generation"].int.map { UInt64($0) })
      let collections = try reader.collections()
      #expect(
        Dictionary(uniqueKeysWithValues: collections.map { (String($0.id.rawValue), $0.name) })
          == expected["collections"].object.compactMapValues(\.string))
      for collection in collections {
        let handle = collection.handle
        let listed = expected["order"][String(collection.id.rawValue)].array.compactMap(\.int)
        if !newer.isDisjoint(with: listed) {
          #expect(throws: StoreError(.otherFormat, "")) { try reader.headers(in: handle) }
          continue
        }
        let headers = try reader.headers(in: handle)
        #expect(headers.map(\.id.rawValue) == listed)
        // Paging returns the same headers.
        var paged: [DocumentHeader] = []
        while true {
          let page = try reader.headers(in: handle, after: paged.last, limit: 2)
          if page.isEmpty { break }
          paged += page
        }
        #expect(paged == headers)
        for lookup in expected["lookups"].array where lookup["coll"].int == Int64(collection.id.rawValue) {
          var key = DocumentKey(try #require(lookup["key"].string))
          // Foundation drops U+FEFF at the beginning of a string in JSON.
          let marked = [0xEF, 0xBB, 0xBF] + key.bytes
          let stored = expected["documents"]["\(lookup["id"].int ?? 0)"]["key"].string
          if stored == Hexadecimal.text(marked) { key = DocumentKey(bytes: marked) }
          #expect(try reader.id(forKey: key, in: handle)?.rawValue == lookup["id"].int)
        }
      }
      for (id, document) in expected["documents"].object {
        let id = DocumentID(try #require(Int64(id)))
        let header = try reader.header(of: id)
        #expect(Int64(header.collection.rawValue) == document["coll"].int)
        #expect(header.position.description == document["pos"].string)
        #expect(header.parent?.rawValue == document["parent"].int)
        #expect(header.title == document["title"].string)
        #expect(header.key.map { Hexadecimal.text($0.bytes) } == document["key"].string)
        #expect(header.created.millisecondsSince1970 == document["created"].int)
        #expect(header.modified.millisecondsSince1970 == document["modified"].int)
        #expect(Int64(header.byteCount) == document["length"].int)
        #expect(String(decoding: header.attributes.canonicalJSON, as: UTF8.self) == document["attributes"].string)
        if let text = document["text"].string {
          // Foundation's JSON reader drops a U+FEFF at the beginning of a string.
          let found = try reader.text(of: id)
          let bare = found.unicodeScalars.first == "\u{FEFF}" ? String(found.unicodeScalars.dropFirst()) : found
          #expect(Array(bare.utf8) == Array(text.utf8) || Array(found.utf8) == Array(text.utf8))
        }
      }
    }
  }
}
