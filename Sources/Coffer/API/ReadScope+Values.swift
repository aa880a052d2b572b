internal import CofferRecords

// Values of any Codable type that were stored as documents.

extension ReadScope where Self: ~Copyable {
  /// The value that was stored as a document.
  ///
  /// ```swift
  /// let note = try store.read { try $0.value(Note.self, of: id) }
  /// ```
  ///
  /// - Throws: `noSuchDocument`, `damaged`; `notDecodable` if its text is not the JSON of such a value, with the path
  ///   of the member.
  public func value<Value: Decodable & Sendable>(_ type: Value.Type = Value.self, of id: DocumentID) throws(StoreError)
    -> Value
  {
    try transaction.withOpened(id) { opened throws(StoreError) in try transaction.values.value(type, opened) }
  }

  /// The value of the document with that key; nil if there is none. Opens one text.
  ///
  /// - Throws: `notDecodable` with the id and the path of the member, `damaged`.
  public func value<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, forKey key: ExternalKey, in collection: DocumentCollection
  ) throws(StoreError) -> Value? {
    guard let id = try id(forKey: key, in: collection) else { return nil }
    return try value(type, of: id)
  }

  /// The value of a document together with its header. Opens one text.
  ///
  /// - Throws: `noSuchDocument`, `notDecodable`, `damaged`.
  public func storedValue<Value: Decodable & Sendable>(_ type: Value.Type = Value.self, of id: DocumentID)
    throws(StoreError) -> StoredValue<Value>
  {
    try transaction.withOpened(id) { opened throws(StoreError) in
      StoredValue(header: opened.header, value: try transaction.values.value(type, opened))
    }
  }

  /// The documents of a collection as values, in order.
  ///
  /// ```swift
  /// let open = try store.read { try $0.values(Task.self, in: "tasks") { !$0.isDone } }
  /// ```
  ///
  /// Opens every text, one at a time; memory holds the values that are returned.
  ///
  /// - Parameters:
  ///   - type: the type of the values.
  ///   - collection: the collection; one that doesn't exist yet has none.
  ///   - isPassingOverOthers: leaves out documents that are no such value; otherwise they throw.
  ///   - isWanted: leaves out values for which it returns false.
  /// - Throws: errors of `isWanted`; `damaged`; `notDecodable` at the first document that is no such value.
  public func values<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, in collection: DocumentCollection,
    passingOverOthers isPassingOverOthers: Bool = false,
    where isWanted: (Value) throws -> Bool = { _ in true }
  ) throws -> [Value] {
    try storedValues(type, in: collection, passingOverOthers: isPassingOverOthers, where: isWanted).map(\.value)
  }

  /// The documents of a collection as values with their headers, in order, a page at a time if wanted.
  ///
  /// - Parameters:
  ///   - type: the type of the values.
  ///   - collection: the collection; one that doesn't exist yet has none.
  ///   - previous: the header of the last value of the page before; a later page costs no more than the first.
  ///   - limit: the most values, after `isWanted` left some out.
  ///   - isPassingOverOthers: leaves out documents that are no such value; otherwise they throw.
  ///   - isWanted: leaves out values for which it returns false.
  /// - Throws: errors of `isWanted`; `damaged`; `notDecodable` at the first document that is no such value.
  public func storedValues<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, in collection: DocumentCollection, after previous: DocumentHeader? = nil,
    limit: Int = .max, passingOverOthers isPassingOverOthers: Bool = false,
    where isWanted: (Value) throws -> Bool = { _ in true }
  ) throws -> [StoredValue<Value>] {
    var found: [StoredValue<Value>] = []
    guard limit > 0 else { return found }
    let values = transaction.values
    do {
      try forEach(in: collection, after: previous) { opened in
        if isPassingOverOthers, !opened.header.isJSON { return }
        let value: Value
        do throws(StoreError) {
          value = try values.value(type, opened)
        } catch {
          guard isPassingOverOthers, error.code == .notDecodable else { throw error }
          return
        }
        guard try isWanted(value) else { return }
        found.append(StoredValue(header: opened.header, value: value))
        if found.count == limit { throw EnoughFound() }
      }
    } catch is EnoughFound {}
    return found
  }
}
