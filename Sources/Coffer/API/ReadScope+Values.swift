internal import CofferRecords

extension ReadScope where Self: ~Copyable {
  /// The value that was stored as a document.
  ///
  /// ```swift
  /// let note = try store.read { try $0.value(Note.self, of: id) }
  /// ```
  ///
  /// - Throws: `noSuchDocument`, `damaged`; `notDecodable` if its text is not the JSON of such a value.
  public func value<Value: Decodable & Sendable>(_ type: Value.Type = Value.self, of id: DocumentID) throws(StoreError)
    -> Value
  {
    try transaction.withOpened(id) { opened throws(StoreError) in try CodableValues.value(type, opened) }
  }

  /// The value of the document with that key; nil if there is none.
  ///
  /// - Throws: `notDecodable`, `damaged`.
  public func value<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, forKey key: ExternalKey, in collection: DocumentCollection
  ) throws(StoreError) -> Value? {
    guard let id = try id(forKey: key, in: collection) else { return nil }
    return try value(type, of: id)
  }

  /// Every document of a collection as a value, in order.
  ///
  /// - Throws: `damaged`; `notDecodable` at the first document that is no such value.
  public func values<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, in collection: DocumentCollection
  ) throws(StoreError) -> [Value] {
    var values: [Value] = []
    do {
      try forEach(in: collection) { values.append(try CodableValues.value(type, $0)) }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a list threw \(Swift.type(of: error))")
    }
    return values
  }
}
