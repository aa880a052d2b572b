import Coffer
import Foundation

@testable import CofferStoreTestSupport

/// A price list that stores a custom type by article number and queries it with SQL.
struct PriceList {
  struct Price: Codable, Sendable, Equatable {
    var name: String
    var amount: Double
    var currency = "EUR"
  }

  let store: DocumentStore
  let prices: DocumentCollection

  init(at url: URL, key: StoreKey, options: OpenOptions = OpenOptions()) throws {
    store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options)
    prices = DocumentCollection("prices")
  }

  /// Stores all prices in one transaction.
  func set(_ new: [String: Price], from supplier: String) throws {
    try store.write { tx in
      for (article, price) in new {
        try tx.put(price, into: prices, key: DocumentKey(article), attributes: ["supplier": .string(supplier)])
      }
    }
  }

  func price(of article: String) throws -> Price? {
    try store.read { try $0.value(Price.self, forKey: DocumentKey(article), in: prices) }
  }

  func raise(_ article: String, by factor: Double) throws -> Bool {
    try store.write { tx in
      guard let id = try tx.id(forKey: DocumentKey(article), in: prices) else { return false }
      try tx.update(id, as: Price.self) { $0.amount *= factor }
      return true
    }
  }

  /// Reads only the headers, without decrypting prices.
  func articles(from supplier: String) throws -> [String] {
    try store.read { tx in
      try tx.headers(in: prices).filter { $0.attributes["supplier"] == .string(supplier) }.compactMap(\.key?.text)
    }
  }

  func cheaper(than limit: Double) throws -> [(name: String, amount: Double)] {
    try store.read {
      try $0.query(
        """
        SELECT title, text ->> '$.amount' AS amount FROM documents
        WHERE collection = ? AND amount < ? ORDER BY amount
        """, prices.name, limit
      )
    }.rows.map { ($0["title"]?.text ?? "", $0["amount"]?.real ?? 0) }
  }

  /// Passes the new and changed prices of each commit to `tell`, until the store is closed.
  func follow(_ tell: ([Price]) -> Void) async throws {
    for try await change in store.changes(in: prices) {
      let ids = change.inserted.union(change.updated).sorted()
      tell(try await store.read { tx in try ids.map { try tx.value(Price.self, of: $0) } })
    }
  }
}
