internal import CofferEngine
internal import CofferRecords

// Codable values stored as documents.

extension StoreReading where Self: ~Copyable {
  /// Returns the value stored as a document.
  ///
  /// ```swift
  /// let note = try store.read { try $0.value(Note.self, of: id) }
  /// ```
  ///
  /// - Throws: `noSuchDocument`, `damaged`, or `notDecodable` with the member's path if the text isn't JSON of this
  ///   type.
  public func value<Value: Decodable & Sendable>(_ type: Value.Type = Value.self, of id: DocumentID) throws(StoreError)
    -> Value
  {
    try transaction.withOpened(id) { opened throws(StoreError) in try transaction.values.value(type, opened) }
  }

  /// Returns the value of the document with a key, or `nil` if the document doesn't exist. Decrypts one text.
  ///
  /// - Throws: `damaged`, or `notDecodable` with the ID and the member's path.
  public func value<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, forKey key: DocumentKey, in collection: DocumentCollection
  ) throws(StoreError) -> Value? {
    guard let record = try transaction.collection(named: collection.name) else { return nil }
    return try transaction.withOpened(forKey: key, in: record) { opened throws(StoreError) in
      try transaction.values.value(type, opened)
    }
  }

  /// Returns the documents of a collection as values with their headers, in order.
  ///
  /// ```swift
  /// let open = try store.read { try $0.values(Task.self, in: "tasks") { !$0.isDone } }
  /// for task in open { print(task.id, task.title) }
  /// ```
  ///
  /// Decrypts texts one at a time until the limit is reached. Only the returned values stay in memory.
  ///
  /// - Parameters:
  ///   - type: The type of the values.
  ///   - collection: The collection. A missing collection has no values.
  ///   - previous: The header of the previous page's last value. Its position doesn't affect the cost.
  ///   - limit: The maximum number of returned values.
  ///   - isSkippingOthers: Whether to skip documents that aren't values of this type, instead of throwing.
  ///   - isWanted: Returns `false` for values to omit.
  /// - Throws: Errors of `isWanted`, `damaged`, or `notDecodable` for the first document that isn't such a value.
  public func values<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, in collection: DocumentCollection, after previous: DocumentHeader? = nil,
    limit: Int = .max, skippingOthers isSkippingOthers: Bool = false,
    where isWanted: (Value) throws -> Bool = { _ in true }
  ) throws -> [StoredValue<Value>] {
    var found: [StoredValue<Value>] = []
    guard limit > 0 else { return found }
    let values = transaction.values
    do {
      try forEach(in: collection, after: previous) { opened in
        guard let value = try values.value(type, opened, skippingOthers: isSkippingOthers), try isWanted(value) else {
          return
        }
        found.append(StoredValue(header: opened.header, value: value))
        if found.count == limit { throw EnoughFound() }
      }
    } catch is EnoughFound {}
    return found
  }
}
