extension ModelStore {
  /// Inserts documents, which stay together, and returns their identities.
  ///
  /// - Parameters:
  ///   - texts: The text of each document.
  ///   - collection: The collection that the documents belong to.
  ///   - index: The place among the documents of the collection.
  ///   - title: The title of each document.
  ///   - key: The key of the document. Use it with a single text.
  ///   - parent: The parent of each document.
  ///   - attributes: The attributes of each document.
  @discardableResult
  public mutating func insert(
    _ texts: [String], into collection: RecordID, at index: Int, title: String? = nil, key: String? = nil,
    parent: RecordID? = nil, attributes: [String: String] = [:]
  ) throws(ModelError) -> [RecordID] {
    if texts.isEmpty { return [] }
    if let key, keys[KeySlot(collection: collection, key: key)] != nil {
      throw .refused(.keyTaken)
    }
    let positions = newPositions(in: collection, at: index, count: texts.count)
    let dot = commit()
    var inserted: [RecordID] = []
    for (text, position) in zip(texts, positions) {
      let place = Place(collection: collection, position: position, parent: parent)
      var values: [PartName: PartValue] = [
        .text: .string(text), .title: PartValue(title), .key: PartValue(key), .place: .place(place),
      ]
      for (name, value) in attributes {
        values[.attribute(name)] = .string(value)
      }
      let document = RecordID(using: generator)
      documents[document] = Self.record(documents[document], setting: values, at: dot)
      inserted.append(document)
    }
    return inserted
  }

  /// Writes the text, title, key or one attribute of a document.
  ///
  /// An empty value removes a key or an attribute. The part itself remains, with the dot of its removal.
  public mutating func edit(
    _ document: RecordID, _ part: PartName, _ value: PartValue
  ) throws(ModelError) {
    let record = try existing(document)
    if part == .key, let key = value.string {
      try requireKey(key, in: record.place.collection, freeFor: document)
    }
    let dot = commit()
    documents[document] = Self.record(record, setting: [part: value], at: dot)
  }

  /// Moves a document to a place among the documents of a collection.
  public mutating func move(
    _ document: RecordID, to collection: RecordID, at index: Int, parent: RecordID? = nil
  ) throws(ModelError) {
    let record = try existing(document)
    if let key = record.key {
      try requireKey(key, in: collection, freeFor: document)
    }
    let parents = parents
    var ancestor = parent
    while let current = ancestor {
      if current == document {
        throw .refused(.cycle)
      }
      ancestor = parents[current]
    }
    let precedes = order(of: collection).prefix(index).contains(document)
    // The neighbours of the new place are the other documents.
    documents[document] = nil
    let position = newPositions(in: collection, at: precedes ? index - 1 : index, count: 1)[0]
    let place = Place(collection: collection, position: position, parent: parent)
    let dot = commit()
    documents[document] = Self.record(record, setting: [.place: .place(place)], at: dot)
  }

  /// Deletes a document.
  public mutating func delete(_ document: RecordID) throws(ModelError) {
    _ = try existing(document)
    forget(document, at: commit())
  }

  /// Replaces a document by the entry of its deletion.
  mutating func forget(_ document: RecordID, at dot: Dot) {
    documents[document] = nil
    gone[document] = Entry(deletions: [dot], stamp: dot)
  }

  /// Returns a record, or a new one, with values written by a commit.
  static func record(
    _ old: ModelRecord?, setting values: [PartName: PartValue], at dot: Dot
  ) -> ModelRecord {
    var record = old ?? ModelRecord(parts: [.born: Part(.empty, dot)], stamp: dot)
    for (name, value) in values {
      record.parts[name] = Part(value, dot)
    }
    record.stamp = dot
    return record
  }

  private func existing(_ document: RecordID) throws(ModelError) -> ModelRecord {
    guard let record = documents[document] else {
      throw .refused(.unknownRecord)
    }
    return record
  }

  private func requireKey(
    _ key: String, in collection: RecordID, freeFor document: RecordID
  ) throws(ModelError) {
    if let holder = keys[KeySlot(collection: collection, key: key)], holder != document {
      throw .refused(.keyTaken)
    }
  }

  private mutating func newPositions(in collection: RecordID, at index: Int, count: Int) -> [Position] {
    let row = order(of: collection)
    func position(at index: Int) -> Position? {
      row.indices.contains(index) ? documents[row[index]]?.place.position : nil
    }
    let left = position(at: index - 1)
    let positions = Position.between(
      left, position(at: index), count: count, continuesRun: left == latestPosition, using: generator)
    latestPosition = positions.last
    return positions
  }
}
