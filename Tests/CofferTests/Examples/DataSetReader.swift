import Coffer
import Foundation

/// The reader of a data set that comes with an app: opened read-only, listed by sections, searched, filtered.
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

  /// - Parameter pin: the store's pin, which the app carries: another store is refused.
  init(at url: URL, passphrase: String, pin: String, options: OpenOptions = OpenOptions()) throws {
    var options = options
    options.isReadOnly = true
    options.expectedPin = pin
    store = try DocumentStore.open(at: url, key: .passphrase { Secret(typed: passphrase) }, options: options)
  }

  func sections() throws -> [CollectionInfo] {
    try store.read { try $0.collections() }
  }

  func products(in section: DocumentCollection, upTo price: Double) throws -> [Product] {
    try store.read { try $0.values(in: section) { $0.price <= price } }
  }

  func titles(in section: DocumentCollection, dearestFirst: Bool) throws -> [String?] {
    try store.read { reader in
      let ids = try reader.ids(in: section, sortedBy: .attribute(named: "price"), descending: dearestFirst)
      return try ids.map { try reader.header(of: $0).title }
    }
  }

  func find(_ words: String, in section: DocumentCollection) throws -> [String?] {
    try store.search(for: .text(words, ignoring: [.case, .diacritics]), in: section).map(\.header.title)
  }

  func offers(since date: Date) throws -> [Offer] {
    try store.query(
      """
      SELECT title, json ->> '$.price' AS price FROM documents
      WHERE json ->> '$.price' < 10 AND created >= ? ORDER BY price
      """, date
    ).decoded(as: Offer.self)
  }
}
