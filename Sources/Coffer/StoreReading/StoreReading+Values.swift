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
  /// Decrypts texts until the limit is reached. Only returned values are kept in memory. Several threads decode, with
  /// the task-local values of this thread's task. `isWanted` is called on this thread.
  ///
  /// - Parameters:
  ///   - type: The type of the values.
  ///   - collection: The collection. If it's missing, the result is empty.
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
    guard limit > 0, let record = try transaction.collection(named: collection.name) else { return found }
    let values = transaction.values
    var scan = RowScan(withTexts: true)
    scan.countsAttachments = true
    scan.makePreparation = { DecodedValues<Value>(values, skippingOthers: isSkippingOthers) }
    /// The next document's place in the values of its batch, if other threads may have decoded it.
    var place: (batch: any DocumentPreparation, index: Int)?
    scan.notePrepared = { place = ($0, $1) }
    do {
      try transaction.scan(record, after: previous, scan) { header, text in
        let value =
          if let place, let result = (place.batch as? DecodedValues<Value>)?.take(place.index) {
            try result.get()
          } else {
            try values.value(type, OpenedDocument(header: header, utf8: text), skippingOthers: isSkippingOthers)
          }
        place = nil
        guard let value, try isWanted(value) else { return }
        found.append(StoredValue(header: header, value: value))
        if found.count == limit { throw EnoughFound() }
      }
    } catch is EnoughFound {}
    return found
  }
}

/// The values of a batch of documents, decoded by the thread that opened them.
///
/// Values with an older schema version are left to the visiting thread, because a migration can use the header, in which
/// the attachments aren't counted yet.
private final class DecodedValues<Value: Decodable & Sendable>: DocumentPreparation {
  private let values: CodableValues
  private let isSkippingOthers: Bool
  private var results: [Result<Value?, StoreError>?] = []

  init(_ values: CodableValues, skippingOthers isSkippingOthers: Bool) {
    self.values = values
    self.isSkippingOthers = isSkippingOthers
  }

  func prepare(_ count: Int, _ document: (Int) -> OpenedDocument) {
    results.reserveCapacity(count)
    for index in 0..<count {
      let document = document(index)
      guard values.isCurrent(Value.self, document.header) else {
        results.append(nil)
        continue
      }
      do throws(StoreError) {
        results.append(.success(try values.value(Value.self, document, skippingOthers: isSkippingOthers)))
      } catch {
        results.append(.failure(error))
      }
    }
  }

  func removeAll() { results.removeAll(keepingCapacity: true) }

  /// Returns the result for a document, and drops it.
  func take(_ index: Int) -> Result<Value?, StoreError>? { results[index].take() }
}
