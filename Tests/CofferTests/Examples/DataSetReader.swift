import Coffer
import Foundation

@testable import CofferStoreTestSupport

/// A read-only data set that ships with an app, with sections, searches and filters.
struct DataSetReader {
  struct Product: Codable, Sendable, Equatable {
    var name: String
    var price: Double
    var note: String?
  }

  struct Offer: Decodable, Equatable {
    let title: String
    let price: Double
  }

  let store: DocumentStore

  /// - Parameter pin: The store's pin, which ships with the app. Other stores are refused.
  init(at url: URL, passphrase: String, pin: StorePin, options: OpenOptions = OpenOptions()) throws {
    var options = options
    options.isReadOnly = true
    options.pin = pin
    store = try DocumentStore.open(at: url, key: .passphrase { Secret(typed: passphrase) }, options: options)
  }

  func sections() throws -> [CollectionInfo] {
    try store.read { try $0.collections() }
  }

  func products(in section: DocumentCollection, upTo price: Double) throws -> [Product] {
    try store.read { try $0.values(Product.self, in: section) { $0.price <= price }.map(\.value) }
  }

  func titles(in section: DocumentCollection, dearestFirst: Bool) throws -> [String?] {
    try store.read { reader in
      let ids = try reader.ids(in: section, sortedBy: .attribute(named: "price"), descending: dearestFirst)
      return try ids.map { try reader.header(of: $0).title }
    }
  }

  func find(_ words: String, in section: DocumentCollection) throws -> [String?] {
    try store.read { try $0.search(for: .text(words, ignoring: [.case, .diacritics]), in: section) }.map(\.header.title)
  }

  func offers(since date: Date) throws -> [Offer] {
    try store.read {
      try $0.query(
        """
        SELECT title, json ->> '$.price' AS price FROM documents
        WHERE json ->> '$.price' < 10 AND created >= ? ORDER BY price
        """, date
      )
    }.decoded(as: Offer.self)
  }
}
